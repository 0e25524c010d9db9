#!/bin/bash
# t0910-embed.sh - contrib/examples/order.c builds against libdurable alone, runs, survives a kill.
#
# Owns: the embedder's view: one header, one library, nothing else of the tree.
. "$abs_top_srcdir/tests/lib/tap.sh"
cd "$TMPDIR" || exit 1
library=$abs_top_builddir/.libs/libdurable.so
ok "the library is built" test -e "$library"
mkdir include && cp "$abs_top_srcdir/include/durable.h" include/

# shellcheck disable=SC2086 # flags are lists
build() {
    ${CC:-cc} -std=c99 -Wall -Wextra ${SANITIZE_CFLAGS:-} -Iinclude \
        "$abs_top_srcdir/contrib/examples/order.c" -o order \
        -L"$abs_top_builddir/.libs" -Wl,-rpath,"$abs_top_builddir/.libs" -ldurable
}
ok "the example is C99 and links with -ldurable alone" build
out=$(./order a.db order-1 4200 2>&1)
is "an order runs to its end" "$?" 0
like "it was charged, then shipped, then told" "$out" \
    'charge 4200 cents, key [^ ]+, attempt 1.ship .*order-1: "parcel-1"$'
is "it was charged once" "$(grep -c charge <<<"$out")" 1

out=$(./order a.db order-2 99999999 2>&1)
is "a declined card fails the run" "$?" 1
like "and the reason is told" "$out" 'order-2: .*DUR_FAILED'
out=$(./order 2>&1)
is "no arguments: usage" "$?" 2
out=$(./order /nonexistent/a.db order-1 1 2>&1)
is "a path that cannot be made is an error" "$?" 1

# Killed at any moment, then run again: it goes on.
for delay in 0.01 0.02 0.04 0.08; do
    timeout -s KILL "$delay" ./order "k$delay.db" order-9 100 >/dev/null 2>&1
    out=$(./order "k$delay.db" order-9 100 2>&1)
    like "killed after $delay s: the next run ends it" "$out" 'order-9: "parcel-1"$'
done
if command -v sqlite3 >/dev/null; then
    is "the file is sound" "$(sqlite3 k0.04.db 'PRAGMA integrity_check')" ok
else
    skip "the file is sound" "install sqlite3"
fi
done_testing
