#!/bin/bash
# t8310-locals.sh - activities and local activities through durable.h on a real server.
#
# Owns: the server, and the embedder's program (test_locals.c), whose cases run side by side, each
# with task queues and a file of its own. make check-temporal kills workers and the server, too.
# Timeout: 180 s
. "$abs_top_srcdir/tests/lib/embedder.sh"
. "$abs_top_srcdir/tests/lib/temporal.sh"
export LD_LIBRARY_PATH=$abs_top_builddir/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
[ -e "$abs_top_builddir/.libs/libdurable-temporal.so" ] ||
    skip_all "this tree is built without the Temporal module"
temporal_needs

# told NAME: its lines are cases.
told() {
    local verdict name why
    is "$1 ends" "$(cat "$1.status")" 0
    sed 's/^/# /' "$1.errors"
    while IFS='|' read -r verdict name why; do
        [ "$verdict" = ok ]
        tap_result $? "$1: $name" "$why"
    done <"$1.lines"
}

# run NAME CASE ARG...: to its end.
run() {
    CALLS_FILE=$PWD/$1.calls ./locals "$TEMPORAL_ADDRESS" "${@:2}" >"$1.lines" 2>"$1.errors" \
        </dev/null
    echo $? >"$1.status"
}

# serve NAME: an engine of its own, sets $engine.
serve() {
    : >"$1.calls"
    CALLS_FILE=$PWD/$1.calls ./locals "$TEMPORAL_ADDRESS" serve "$1-" >"$1.lines" 2>"$1.errors" \
        </dev/null &
    engine=$!
}

# ends NAME: it stops as it should.
ends() {
    kill -TERM "$engine"
    wait "$engine"
    echo $? >"$1.status"
    told "$1"
}

# until_called NAME COUNT: its local activity has begun so often.
until_called() {
    local i
    for ((i = 0; i < 300; i++)); do
        [ "$(wc -l <"$1.calls" 2>/dev/null)" = "$2" ] && return
        sleep 0.1
    done
    return 1
}

ok "the worker's program builds" embedder "$abs_top_srcdir/tests/temporal/test_locals.c" locals \
    -D_POSIX_C_SOURCE=200809L -pthread
temporal_server "$TMPDIR/server"
tap_result $? "a server comes up"
cases="outcomes cancellations no_threads by_token stops"
for case in $cases; do
    run "$case" "$case" &
    pids+=($!)
done
wait "${pids[@]}"
for case in $cases; do
    told "$case"
done

[ -n "${CHECK_TEMPORAL:-}" ] || { done_testing; exit; }

# A worker that is killed while a local activity runs: the next one runs it again.
serve killed
run begin begin killed- killed local '{"type":"hang","ms":3000}'
told begin
until_called killed 1
tap_result $? "it has begun"
kill -KILL "$engine"
wait "$engine" 2>/dev/null
: >killed.calls
serve killed
run wait wait killed- killed '[0,"over"]'
told wait
is "it began once more" "$(wc -l <killed.calls)" 1
ends killed

# A server that is restarted meanwhile: nothing is run again.
serve restart
run begin begin restart- restart local '{"type":"hang","ms":4000}'
told begin
until_called restart 1
tap_result $? "it has begun"
temporal_stop KILL
sleep 0.5
temporal_launch "$temporal_port"
tap_result $? "the server is restarted"
run wait wait restart- restart '[0,"over"]'
told wait
is "it began once" "$(wc -l <restart.calls)" 1
ends restart
temporal_stop KILL
done_testing
