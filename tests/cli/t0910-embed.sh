#!/bin/bash
# t0910-embed.sh - programs outside of the tree build against what `make install` leaves, with
# nothing but pkg-config, and do what they say. Timeout: 300 s
#
# Owns: the embedder's view: a header, a library, a durable.pc, manual pages, examples.
. "$abs_top_srcdir/tests/lib/tap.sh"
needs pkg-config pkg-config
needs make make
cd "$TMPDIR" || exit 1
[ -e "$abs_top_builddir/.libs/libdurable.so" ] || skip_all "this tree builds no libdurable.so"

ok "make install" make -s -C "$abs_top_builddir" install DESTDIR="$TMPDIR/dest"
pc=$(find "$PWD/dest" -name durable.pc)
prefix=$(sed -n 's/^prefix=//p' "$pc")
library_path=$TMPDIR/dest$(sed -n 's/^libdir=//p' "$pc" |
    sed "s|\${exec_prefix}|$prefix|;s|\${prefix}|$prefix|")
export PKG_CONFIG_PATH=${pc%/*} PKG_CONFIG_SYSROOT_DIR=$TMPDIR/dest
export LD_LIBRARY_PATH=$library_path
installed=$(find dest -type f -o -type l | sed "s|^dest$prefix/||")
is "pkg-config knows the version" "$(pkg-config --modversion durable)" \
    "$("$FACTORY" version | sed 's/^[^0-9]*\([0-9.]*\).*/\1/;q')"
is "nothing but the library is asked for" "$(pkg-config --libs durable | sed "s/ *$//")" \
    "-L$library_path -ldurable"
like "the library has a versioned name" "$installed" 'libdurable\.so\.[0-9]'
like "the manual is there" "$installed" 'man/man3/durable\.3'
is "and under the name of every function" \
    "$(find dest -name 'dur_*.3' | sed 's|.*/||; s|\.3$||' | sort)" \
    "$(awk -v names=1 -f "$abs_top_srcdir/build-aux/durable-man.awk" \
        "$abs_top_srcdir"/include/durable.h "$abs_top_srcdir"/include/durable/*.h | sort)"
is "which lead to it" "$(cat "$(find dest -name dur_run.3)")" ".so man3/durable.3"
example=$(find dest -path '*/examples/order.c')
is "the examples are there" "$(ls "${example%/*}/durable")" \
    "$(ls "$abs_top_srcdir/contrib/examples/durable")"

# Without libdurable's own directory in the way: each program in a place of its own.
for name in order-saga cron-cleaner human-approval; do
    mkdir "$name" && cp "$abs_top_srcdir/contrib/embed/$name"/{main.c,Makefile} "$name/"
    ok "$name builds with pkg-config alone" \
        make -s -C "$name" CFLAGS="-O1 -Wall -Wextra -Werror ${SANITIZE_CFLAGS:-}"
done
# shellcheck disable=SC2086,SC2046 # flags are lists
ok "order.c builds as its comment says" ${CC:-cc} -std=c99 ${SANITIZE_CFLAGS:-} \
    "$abs_top_srcdir/contrib/examples/order.c" -o order $(pkg-config --cflags --libs durable)

cat >plus.cc <<'EOF'
#include <cstdio>
#include <durable.h>
int main()
{
    dur_engine *engine;
    dur_test_options options = {};
    char *result = nullptr;
    dur_test_open(&engine, &options);
    auto flow = [](dur_ctx *ctx, const char *input, const char **out, void *) {
        dur_activity_options once = {};
        once.max_attempts = 1;
        int rc = dur_sleep(ctx, 14 * DUR_DAYS);
        return rc != DUR_OK ? rc : dur_run(ctx, "Echo", input, out, &once);
    };
    dur_register_workflow(engine, "Flow", flow, nullptr);
    dur_test_mock(engine, "Echo", [](dur_activity *, const char *in, const char **out, void *) {
        *out = in;
        return DUR_OK;
    }, nullptr);
    dur_start(engine, "Flow", "f", "[1,2]", nullptr);
    dur_test_run(engine);
    int rc = dur_result(engine, "f", 0, &result);
    std::printf("%s %s\n", dur_code_name(rc), result);
    dur_free(result);
    dur_close(engine);
}
EOF
if command -v g++ >/dev/null; then
    # shellcheck disable=SC2086,SC2046 # flags are lists
    ok "a C++ program builds" g++ -std=c++11 -Wall -Wextra -Werror ${SANITIZE_CFLAGS:-} plus.cc \
        -o plus $(pkg-config --cflags --libs durable)
    is "and runs, with lambdas as workflow and mock" "$(./plus)" "DUR_OK [1,2]"
else
    skip "a C++ program" "install g++"
fi

out=$(./order a.db order-1 4200 2>&1)
is "an order runs to its end" "$?" 0
like "it was charged, then shipped, then told" "$out" \
    'charge 4200 cents, key [^ ]+, attempt 1.ship .*order-1: "parcel-1"$'
is "it was charged once" "$(grep -c charge <<<"$out")" 1
out=$(./order a.db order-2 99999999 2>&1)
is "a declined card fails the run" "$?" 1
like "and the reason is told" "$out" 'order-2: .*CardDeclined.*DUR_FAILED'
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

# await FILE TEXT: until the file has such a line.
await() {
    for _ in {1..400}; do
        grep -qs "$2" "$1" && return
        sleep 0.05
    done
    echo "never came: $2"
    return 1
}
saga=order-saga/order-saga
$saga s.db run o1 4200 here >o1.log 2>&1 &
ok "saga: the card is charged" await o1.log '^charge o1'
ok "saga: packed" $saga s.db packed o1
wait $!
is "saga: an order is shipped" "$(tr '\n' ' ' <o1.log)" 'reserve o1 charge o1 ship o1 o1 "shipped" '
out=$($saga s.db run o2 999999 here 2>&1)
like "saga: a declined card undoes the reservation" "$out" \
    '^reserve o2.release o2.o2: .*CardDeclined.*DUR_FAILED.$'
$saga s.db run o3 100 nowhere >o3.log 2>&1 &
await o3.log '^charge o3' && $saga s.db packed o3
wait $!
like "saga: a parcel that cannot be sent undoes all, newest first" "$(<o3.log)" \
    'charge o3.refund o3.release o3.o3: .*NoSuchAddress'
$saga s.db run o4 100 here >o4.log 2>&1 &
await o4.log '^charge o4' && $saga s.db cancel o4
wait $!
like "saga: so does cancelling" "$(<o4.log)" 'charge o4.refund o4.release o4.o4: .*DUR_CANCELLED'
$saga s.db run o5 100 here >o5.log 2>&1 &
pid=$!
await o5.log '^charge o5' && kill -KILL $pid
wait $pid 2>/dev/null
$saga s.db cancel o5
out=$($saga s.db run o5 100 here 2>&1)
like "saga: killed and cancelled, the next process undoes" "$out" '^refund o5.release o5.o5: '

mkdir old && touch -d '2 hours ago' old/a old/b && touch old/c
out=$(timeout 60 cron-cleaner/cron-cleaner c.db old 3600 '@every 1s' 2 2>&1)
is "cleaner: it ends after its runs" "$?" 0
like "cleaner: it tells when it will run" "$out" '^next [0-9-]+ [0-9:]+ UTC'
like "cleaner: the old goes, once" "$out" 'removed 2, kept 1.removed 0, kept 1$'
is "cleaner: the new stays" "$(ls old)" c
out=$(cron-cleaner/cron-cleaner c.db old 3600 '61 * * * *' 2>&1)
is "cleaner: a bad cron text is refused" "$?" 1
like "cleaner: and the place is shown" "$out" 'column'
timeout -s TERM 2 cron-cleaner/cron-cleaner c3.db old 3600 '0 3 1 1 *' >/dev/null 2>&1
is "cleaner: SIGTERM ends it well" "$?" 124 # timeout's own status: it was told and went

approve="human-approval/human-approval h.db"
ok "approval: ask" $approve ask r1 5000
ok "approval: ask one who has no time" $approve ask r2 5000 200
$approve serve >serve.log 2>&1 &
server=$!
ok "approval: the first approver is told" await serve.log 'to ann: r1: please decide'
like "approval: whose turn it is" "$($approve state r1)" '"waits_for":"ann"'
out=$($approve approve r1 bob 2>&1)
is "approval: another may not decide" "$?" 1
like "approval: and hears why" "$out" 'NotYours.*waits for ann'
ok "approval: remind" $approve remind r1
ok "approval: she is told again" await serve.log 'to ann: r1: please do decide'
is "approval: ann decides" "$($approve approve r1 ann)" '"approved"'
ok "approval: who asked is told" await serve.log 'the one who asked: r1: approved'
ok "approval: who does not answer is passed over" await serve.log 'to eve: r2: please decide'
ok "approval: in the end it is rejected" await serve.log 'the one who asked: r2: rejected'
wait $server
is "approval: nothing is open, the server ends" "$?" 0
is "approval: a closed request can be asked" "$($approve state r2)" \
    '{"verdict":"rejected","by":"nobody","waits_for":null}'
like "approval: they came in this order" "$(grep r2 serve.log | cut -d: -f1 | tr '\n' ' ')" \
    '^to ann to bob to eve to the one who asked $'
done_testing
