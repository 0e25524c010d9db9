#!/bin/bash
# heads.sh - every source file says what it owns, and the files its head comment names exist.
#
# Owns: the form "NAME - what it is" and the "Tests:" line of a .c file.
. "$abs_top_srcdir/tests/lib/tap.sh"
. "$abs_top_srcdir/tests/tidy/tidy.sh"

# rooms: "base|journal|..."
rooms=$(cd src && printf '%s\n' */ | tr -d / | paste -sd '|')
file_chars='[A-Za-z0-9_.-]+'
path_form="(src|tests|docs|include|migrations|build-aux|contrib)(/$file_chars)+"
path_form="($path_form|($rooms)/[a-z0-9_]+\\.[chS])"

# Prints "missing FILE", "nameless FILE", "untested FILE" and "path FILE PATH" of all head comments.
read_heads() {
    # shellcheck disable=SC2046 # our file names have no blanks
    LC_ALL=C awk -v form="$path_form" '
        function end_file(   name, text) {
            if (file == "") return
            name = file
            sub(/.*\//, "", name)
            if (head == "") print "missing", file
            else if (index(head, name " - ") == 0) print "nameless", file
            if (file ~ /^src\/.*\.c$/ && head != "" && index(head, "Tests:") == 0)
                print "untested", file
            text = head
            while (match(text, form)) {
                name = substr(text, RSTART, RLENGTH)
                if (RSTART == 1 || substr(text, RSTART - 1, 1) !~ /[A-Za-z0-9_.\/-]/) {
                    sub(/[.]+$/, "", name)
                    print "path", file, name
                }
                text = substr(text, RSTART + RLENGTH)
            }
        }
        FNR == 1 { end_file(); file = FILENAME; head = ""; over = 0; c = file ~ /\.[chS]$/ }
        over { next }
        !c && (/^#!/ || /^# shellcheck/) { next }
        c ? !/^(\/\*| \*)/ : !/^#/ { over = 1; next }
        { head = head $0 "\n" }
        c && / \*\/$/ { over = 1 }
        END { end_file() }
    ' $(files '-name *.c -o -name *.h -o -name *.S' src include tests contrib/examples) \
        $(files '-name *.sh -o -name *.awk' tests contrib)
}

# exists PATH: as it is, in src, as the beginning of a name (docs/decisions/0001, test_repo_*), or
# with something for NAME.
exists() {
    [ -e "$1" ] || [ -e "src/$1" ] || compgen -G "${1//NAME/*}[-.]*" >/dev/null ||
        { [[ $1 == *[-_] ]] && compgen -G "$1*" >/dev/null; }
}

heads=$(read_heads) || exit 1
missing=$(sed -n 's/^missing //p' <<<"$heads")
nameless=$(sed -n 's/^nameless //p' <<<"$heads")
untested=$(sed -n 's/^untested //p' <<<"$heads")
dead=$(sed -n 's/^path //p' <<<"$heads" | while read -r file path; do
    exists "$path" || echo "$file: there is no $path"
done)
none "every source file has a head comment" "$missing"
none "the head comment starts with the file's name" "$nameless"
none "every .c file in src names its tests" "$untested"
none "files that head comments name exist" "$dead"
done_testing
