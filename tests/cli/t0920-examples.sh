#!/bin/bash
# t0920-examples.sh - every program of contrib/examples/durable builds as an embedder builds it
# (C99, header and library alone) and runs to the end of its own checks. Timeout: 300 s
#
# Owns: the check that the examples work, are short and stand in the index. A new example is a file
# there and a line in its README.
. "$abs_top_srcdir/tests/lib/tap.sh"
examples=$abs_top_srcdir/contrib/examples/durable
library=$abs_top_builddir/.libs/libdurable.so
[ -e "$library" ] || skip_all "this tree builds no libdurable.so"
cd "$TMPDIR" || exit 1
cp -R "$abs_top_srcdir/include" include

# shellcheck disable=SC2086 # flags are lists
build() {
    ${CC:-cc} -std=c99 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror ${SANITIZE_CFLAGS:-} \
        -Iinclude "$examples/$1.c" -o "$1" -L"$abs_top_builddir/.libs" \
        -Wl,-rpath,"$abs_top_builddir/.libs" -ldurable
}
for file in "$examples"/*.c; do
    name=$(basename "$file" .c)
    ok "$name builds" build "$name"
    out=$("./$name" 2>&1)
    is "$name runs" "$?" 0
    like "$name says so" "$out" "$name: [^"$'\n'"]*$"
    ok "$name is at most 100 lines" test "$(wc -l <"$file")" -le 100
    ok "$name is in the index" grep -qF "[$name.c]($name.c)" "$examples/README.md"
done
is "nothing is left behind" "$(find . -name 'example-*')" ""
done_testing
