#!/bin/bash
# symbols.sh - libdurable exports exactly the functions that durable.h declares.
#
# Owns: the comparison of the public header with the built library.
. "$abs_top_srcdir/tests/lib/tap.sh"
. "$abs_top_srcdir/tests/tidy/tidy.sh"

library=$abs_top_builddir/.libs/libdurable.so
[ -e "$library" ] || skip_all "this tree builds no libdurable.so"
needs nm binutils

# DUR_API starts a declaration; the name is the last word before the first parenthesis.
declared=$(code $(files '-name *.h' include) | cut -d: -f3- | grep -v '^ *#' | tr '\n' ' ' |
    grep -oE 'DUR_API[^();]*\(' | sed -E 's/ *\($//; s/.*[ *]//' | sort -u)
exported=$(nm -D --defined-only "$library" |
    awk '$2 ~ /[A-Z]/ && $2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u)
ok "the header declares functions" test "$(grep -c . <<<"$declared")" -ge 20
if [ -n "$(files '-name *.c' src/engine)" ]; then
    none "declared and not exported" "$(comm -23 <(echo "$declared") <(echo "$exported"))"
else
    skip "declared and not exported" "this tree has no src/engine/*.c"
fi
none "exported and not declared" "$(comm -13 <(echo "$declared") <(echo "$exported"))"
ok "the library has its SONAME" grep -q 'SONAME.*libdurable\.so\.[0-9]' <(objdump -p "$library")
done_testing
