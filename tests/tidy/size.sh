#!/bin/bash
# size.sh - no function over 70 lines, no file over 800, no line over 100 columns.
#
# Owns: the budget. Older offenders are listed in build-aux/size-exceptions.txt with their exact
# size, so that the list can only shrink: an entry that is too generous or not needed fails.
. "$abs_top_srcdir/tests/lib/tap.sh"
. "$abs_top_srcdir/tests/tidy/tidy.sh"

# Prints "function FILE NAME LINES", "file FILE LINES" and "line FILE:LINE COLUMNS" over budget.
measure() {
    # shellcheck disable=SC2046 # our file names have no blanks
    LC_ALL=C awk '
        FNR == 1 {
            if (lines > 800) print "file", file, lines
            file = FILENAME
            body = 0
            name = "?"
        }
        {
            lines = FNR
            text = $0
            gsub(/[\200-\277]/, "", text)
            gsub(/\t/, "        ", text)
            if (length(text) > 100) print "line " FILENAME ":" FNR " " length(text)
        }
        FILENAME !~ /\.[ch]$/ { next }
        !body && /^[A-Za-z_].*\(/ {
            name = $0
            test = name ~ /^[A-Za-z]*Test\(/
            if (test) gsub(/^[A-Za-z]*Test\(|,? *\..*|\).*| /, "", name)
            else sub(/\(.*/, "", name)
            sub(/.*[^A-Za-z0-9_,]/, "", name)
        }
        !body && /^\{/ { body = FNR }
        body && /^\}/ {
            if (FNR - body + 1 > 70) print "function", FILENAME, name, FNR - body + 1
            body = 0
        }
        END { if (lines > 800) print "file", file, lines }
    ' /dev/null $(files '-name *.[chS] -o -name *.sh -o -name *.sql -o -name *.awk' \
        src include tests contrib migrations) $(files '-name embed-sql -o -name run-*' build-aux)
}

found=$(measure) || exit 1
listed=$(sed 's/#.*//; s/ *$//; /^$/d' build-aux/size-exceptions.txt)
over() {
    grep "^$1 " <<<"$found" | grep -vxF -e "$listed" -e ''
}
none "functions have at most 70 lines" "$(over function)"
none "files have at most 800 lines" "$(over file)"
none "lines have at most 100 columns" "$(grep '^line ' <<<"$found")"
none "every exception is still needed, at exactly its size" \
    "$(grep -vxF -e "$found" -e '' <<<"$listed")"
done_testing
