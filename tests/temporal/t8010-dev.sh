#!/bin/bash
# t8010-dev.sh - make temporal-up, -status, -hello, -down and -clean: a server for development.
# Timeout: 60 s
. "$abs_top_srcdir/tests/lib/tap.sh"
. "$abs_top_srcdir/tests/lib/temporal.sh"
[ -n "${CHECK_TEMPORAL:-}${CHECK_LONG:-}" ] || skip_all "make check-temporal runs it"
temporal_needs
place=$(mktemp -d) || exit 1
build=$abs_top_builddir
dev=$abs_top_srcdir/build-aux/temporal-dev
export abs_top_srcdir abs_top_builddir=$place TEMPORAL_CLI=$temporal
export TEMPORAL_PORT=$((20000 + RANDOM % 12000))
export TEMPORAL_UI_PORT=$((TEMPORAL_PORT + 1))
trap 'bash "$dev" clean >/dev/null; rm -rf "$place"' EXIT

not_ok "nothing runs yet" bash "$dev" status
like "and is said so" "$(bash "$dev" status 2>&1)" 'make temporal-up starts it'
is "down is fine then" "$(bash "$dev" down)" "not running"
like "up" "$(bash "$dev" up)" "server +127.0.0.1:$TEMPORAL_PORT"
like "status" "$(bash "$dev" status)" "UI +http://127.0.0.1:$TEMPORAL_UI_PORT"
is "up again: the same one" "$(bash "$dev" up)" "$(bash "$dev" status)"
export TEMPORAL_ADDRESS=127.0.0.1:$TEMPORAL_PORT
ok "a run" "$temporal" workflow start --type Nobody --task-queue none --workflow-id kept
if [ -x "$build/tests/lib/temporal_hello" ]; then
    mkdir -p "$place/tests"
    ln -s "$build/.libs" "$place/"
    ln -s "$build/tests/lib" "$place/tests/"
    like "hello" "$(bash "$dev" hello)" 'worker +good.*says +"Hello, Temporal!"'
else
    skip "hello" "this tree is built without the Temporal module"
fi
like "down" "$(bash "$dev" down)" 'database is kept'
not_ok "nothing answers" "$temporal" operator cluster health
like "up once more" "$(bash "$dev" up)" 'namespace +default'
like "the run is still there" "$("$temporal" workflow describe --workflow-id kept)" 'kept'
like "clean" "$(bash "$dev" clean)" 'database is deleted'
ok "nothing is left" test ! -e "$place/temporal-dev"
not_ok "an unknown verb" bash "$dev" start
done_testing
