#!/bin/bash
# t8200-worker.sh - a worker for the workflow tasks of a real server. Timeout: 240 s
#
# Owns: the server, and the embedder's program (test_worker.c), whose cases run side by side, each
# with task queues of its own. make check-temporal runs the long ones too.
. "$abs_top_srcdir/tests/lib/embedder.sh"
. "$abs_top_srcdir/tests/lib/temporal.sh"
export LD_LIBRARY_PATH=$abs_top_builddir/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
[ -e "$abs_top_builddir/.libs/libdurable-temporal.so" ] ||
    skip_all "this tree is built without the Temporal module"
temporal_needs
short="primitives queries updates signals unknown_type until_idle steps large"
long="slow_local changes small_cache crowd lengthy two_workers"

# told CASE: its lines are cases.
told() {
    local verdict name why
    is "$1 ends" "$(cat "$1.status" "$1.errors")" 0
    while IFS='|' read -r verdict name why; do
        [ "$verdict" = ok ]
        tap_result $? "$1: $name" "$why"
    done <"$1.lines"
}

# run CASE...: all at once.
run() {
    local case pids=()
    for case in "$@"; do
        {
            ./worker "$TEMPORAL_ADDRESS" "$case" >"$case.lines" 2>"$case.errors" </dev/null
            echo $? >"$case.status"
        } &
        pids+=($!)
    done
    wait "${pids[@]}"
    for case in "$@"; do
        told "$case"
    done
}

# A worker that dies loses nothing: the next one goes on where it stood.
killed() {
    local pid i
    ./worker "$TEMPORAL_ADDRESS" serve killed- 2>killed.errors &
    pid=$!
    for i in 1 2 3; do
        ./worker "$TEMPORAL_ADDRESS" begin killed- "killed-$i" steps 6 || return
    done
    sleep 0.8
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null
    ./worker "$TEMPORAL_ADDRESS" serve killed- 2>killed.errors &
    pid=$!
    for i in 1 2 3; do
        is "run $i of a killed worker goes on in the next one" \
            "$(./worker "$TEMPORAL_ADDRESS" result "killed-$i")" 6
    done
    kill -TERM "$pid"
    wait "$pid"
    is "which ends well on SIGTERM" "$? $(cat killed.errors)" "0 "
}

ok "the worker's program builds" embedder "$abs_top_srcdir/tests/temporal/test_worker.c" worker \
    -D_POSIX_C_SOURCE=200809L -pthread "$abs_top_srcdir/tests/temporal/flows.c"
temporal_server "$TMPDIR/server" --namespace other --search-attribute CustomerId=Keyword
tap_result $? "a server comes up"
# shellcheck disable=SC2086 # a list
run $short
killed
if [ -n "${CHECK_TEMPORAL:-}" ]; then
    # shellcheck disable=SC2086 # a list
    run $long
    export TEST_NAMESPACE=other
    run primitives updates
fi
temporal_stop KILL
done_testing
