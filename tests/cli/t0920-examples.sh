#!/bin/bash
# t0920-examples.sh - every program of contrib/examples/durable builds as an embedder builds it
# (C99, header and library alone) and runs to the end of its own checks. Timeout: 300 s
#
# Owns: the check that the examples work, are short and stand in the index. A new example is a file
# there and a line in its README.
. "$abs_top_srcdir/tests/lib/embedder.sh"
examples=$abs_top_srcdir/contrib/examples/durable

for file in "$examples"/*.c; do
    name=$(basename "$file" .c)
    ok "$name builds" embedder "$file" "$name" -D_GNU_SOURCE -Wpedantic
    out=$("./$name" 2>&1)
    is "$name runs" "$?" 0
    like "$name says so" "$out" "$name: [^"$'\n'"]*$"
    ok "$name is at most 100 lines" test "$(wc -l <"$file")" -le 100
    ok "$name is in the index" grep -qF "[$name.c]($name.c)" "$examples/README.md"
done
is "nothing is left behind" "$(find . -name 'example-*')" ""
done_testing
