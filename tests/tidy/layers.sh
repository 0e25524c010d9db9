#!/bin/bash
# layers.sh - the walls of build-aux/layers.txt hold: rooms and foreign headers.
#
# Owns: the reading of layers.txt. Must not: know any room by name.
. "$abs_top_srcdir/tests/lib/tap.sh"
. "$abs_top_srcdir/tests/tidy/tidy.sh"

# Prints offenders as "KIND FILE:LINE: TEXT".
offenders() {
    # shellcheck disable=SC2046 # our file names have no blanks
    awk '
        FILENAME ~ /layers\.txt$/ {
            sub(/#.*/, "")
            if (NF == 0) next
            if ($1 == "foreign:") {
                foreign[++foreigns] = $2
                for (i = 3; i <= NF; i++) place[foreigns] = place[foreigns] " " $i
            } else if ($1 == "system:") {
                for (i = 2; i <= NF; i++) outside[++outsides] = $i
            } else if ($1 == "pure:") {
                pure[$2] = 1
                for (i = 3; i <= NF; i++) never[$2, $i] = 1
            } else {
                room = substr($1, 1, length($1) - 1)
                known[room] = 1
                may[room, room] = 1
                for (i = 2; i <= NF; i++) may[room, $i] = 1
            }
            next
        }
        function starts(text, list, n, at) {
            for (at = 1; at <= n; at++)
                if (list[at] == text || (list[at] ~ /\/$/ && index(text, list[at]) == 1)) return at
            return 0
        }
        function bad(kind, text) { print kind " " FILENAME ":" FNR ": " text }
        FNR == 1 {
            split(FILENAME, parts, "/")
            room = parts[1] == "src" ? parts[2] : ""
            inside = substr(FILENAME, 5)
            if (room != "" && !(room in known)) bad("room", room " is not in layers.txt")
        }
        /^[ \t]*#[ \t]*include[ \t]/ {
            text = $0
            sub(/^[ \t]*#[ \t]*include[ \t]*/, "", text)
            quoted = substr(text, 1, 1) == "\""
            header = substr(text, 2)
            sub(/[">].*/, "", header)
            if (header == "durable.h") quoted = 1
            if (!quoted) {
                at = starts(header, foreign, foreigns)
                if (at) {
                    allowed = 0
                    n = split(place[at], places, " ")
                    for (i = 1; i <= n; i++)
                        if (index(room == "" ? "../" FILENAME : inside, places[i]) == 1)
                            allowed = 1
                    if (!allowed) bad("foreign", "<" header "> belongs in" place[at])
                } else if (!starts(header, outside, outsides)) {
                    bad("unknown", "<" header "> is not in layers.txt")
                }
                next
            }
            if (room == "") next
            if ((room, header) in never) bad("pure", room " is pure: no " header)
            target = header
            sub(/\/.*/, "", target)
            if (index(header, "/") == 0 && header != "durable.h")
                bad("wall", "\"" header "\" does not name its room")
            else if (!((room, target) in may) && !((room, header) in may))
                bad("wall", room " may not include \"" header "\"")
        }
    ' build-aux/layers.txt \
        $(files '-name *.c -o -name *.h -o -name *.S' src include contrib/examples)
}
found=$(offenders) || exit 1
none "every room is in layers.txt" "$(grep '^room' <<<"$found")"
none "rooms include only what their walls allow" "$(grep '^wall' <<<"$found")"
none "foreign headers stay in their one place" "$(grep '^foreign' <<<"$found")"
none "every outside header is declared in layers.txt" "$(grep '^unknown' <<<"$found")"
none "pure rooms have no chance, files or processes" "$(grep '^pure' <<<"$found")"
done_testing
