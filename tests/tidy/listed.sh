#!/bin/bash
# listed.sh - every file is named in a Makefile.inc, so that it is built, run and shipped.
#
# Owns: the check that nothing lies around unbuilt. make itself notices the opposite.
. "$abs_top_srcdir/tests/lib/tap.sh"
. "$abs_top_srcdir/tests/tidy/tidy.sh"

lists=$(cat Makefile.am src/*/Makefile.inc tests/scenario/Makefile.inc \
    {tests,docs,migrations,contrib}/Makefile.inc |
    grep -v '^ *#' | tr -s ' \t' '\n' | sort -u)

# unlisted FILE...: those that no list names, itself or a directory above it.
unlisted() {
    local file above
    [ $# = 0 ] || printf '%s\n' "$@" | grep -vxF -f <(echo "$lists") | while IFS= read -r file; do
        above=$file
        while [[ $above == */* ]]; do
            above=${above%/*}
            if grep -qxF "$above" <<<"$lists"; then continue 2; fi
        done
        echo "$file"
    done
}
# Man pages are listed without their suffix.
lists+=$'\n'$(grep -E '^docs/man/' <<<"$lists" | sed 's/$/.scd/')
# shellcheck disable=SC2046 # our file names have no blanks
{
    none "sources" "$(unlisted $(files '-name *.c -o -name *.h -o -name *.S' src include))"
    none "sources are listed by their own room" "$(for room in src/*/; do
        files '-name *.c -o -name *.h -o -name *.S' "$room" |
            grep -vxF -f <(tr -s ' \t' '\n' <"${room}Makefile.inc")
    done)"
    none "tests" "$(unlisted $(files '-name *' tests | grep -v /Makefile.inc))"
    none "migrations" "$(unlisted $(files '-name *.sql' migrations))"
    none "documents" "$(unlisted $(files '-name *.md -o -name *.scd' docs))"
    none "contributed files" "$(unlisted $(files '-name *' contrib | grep -v /Makefile.inc))"
}
# libtool would copy the other's objects, and libdurable would have them twice.
none "no room's library contains another's" \
    "$(grep -nE '^lib[a-z0-9_]*_la_LIBADD.*[ =]lib[a-z]+\.la' src/*/Makefile.inc |
        grep -vE ':libdurable(_temporal)?_la_LIBADD')"
done_testing
