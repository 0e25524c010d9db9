#!/bin/bash
# listed.sh - every file is named in a Makefile.inc, so that it is built, run and shipped.
#
# Owns: the check that nothing lies around unbuilt. make itself notices the opposite.
. "$abs_top_srcdir/tests/lib/tap.sh"
. "$abs_top_srcdir/tests/tidy/tidy.sh"

lists=$(cat Makefile.am src/*/Makefile.inc {tests,docs,migrations,contrib}/Makefile.inc |
    grep -v '^ *#' | tr -s ' \t' '\n' | sort -u)

# unlisted FILE...: those that no list names.
unlisted() {
    local file
    for file in "$@"; do
        grep -qxF "$file" <<<"$lists" || echo "$file"
    done
}
# shellcheck disable=SC2046 # our file names have no blanks
{
    none "sources" "$(unlisted $(files '-name *.c -o -name *.h -o -name *.S' src include))"
    none "sources are listed by their own room" "$(for room in src/*/; do
        for file in $(files '-name *.c -o -name *.h -o -name *.S' "$room"); do
            grep -q "$file" "${room}Makefile.inc" || echo "$file"
        done
    done)"
    none "tests" "$(unlisted $(files '-name *.c -o -name *.h -o -name *.sh -o -name *.awk' tests))"
    none "migrations" "$(unlisted $(files '-name *.sql' migrations))"
    none "documents" "$(unlisted $(files '-name *.md -o -name *.scd' docs))"
    none "contributed files" "$(unlisted $(files '-name *' contrib | grep -v /Makefile.inc))"
}
done_testing
