#!/bin/bash
# docs.sh - what README, CONTRIBUTING and docs/ point at exists.
#
# Owns: the check of links, and of the paths in the "I want to ..." table. In that table NAME, NNNN
# and ROOM stand for any text: at least one file must fit.
. "$abs_top_srcdir/tests/lib/tap.sh"
. "$abs_top_srcdir/tests/tidy/tidy.sh"

documents="README.md CONTRIBUTING.md $(files '-name *.md' docs)"

dead_links() {
    local file target
    for file in $documents; do
        grep -oE '\]\([^)]+\)' "$file" | sed 's/^](//; s/)$//; s/#.*//' |
            while IFS= read -r target; do
                case $target in
                '' | http://* | https://*) ;;
                *) [ -e "$(dirname "$file")/$target" ] || echo "$file: $target" ;;
                esac
            done
    done
}
none "links lead somewhere" "$(dead_links)"

# fits PATTERN: some file has that name.
fits() {
    local pattern=$1
    pattern=${pattern//NNNN/*}
    pattern=${pattern//NAME/*}
    pattern=${pattern//ROOM/*}
    [ -e "$pattern" ] || { [ "$pattern" != "$1" ] && compgen -G "$pattern" >/dev/null; }
}
table=$(awk '/^\| *I want to/ { inside = 1; next } inside && !/^\|/ { exit } inside' \
    CONTRIBUTING.md)
paths=$(grep -oE '`[^`]+`' <<<"$table" | tr -d '`' | grep / | sort -u)
ok "CONTRIBUTING has its \"I want to ...\" table" test "$(grep -c . <<<"$paths")" -ge 8
none "paths in the \"I want to ...\" table exist" "$(while IFS= read -r path; do
    fits "$path" || echo "$path"
done <<<"$paths")"
none "paths in the other texts exist" "$(for file in $documents; do
    grep -oE '`(src|tests|docs|include|migrations|build-aux|contrib)/[^` ]+`' "$file" | tr -d '`' |
        while IFS= read -r path; do fits "$path" || echo "$file: $path"; done
done)"
done_testing
