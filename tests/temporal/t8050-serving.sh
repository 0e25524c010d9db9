#!/bin/bash
# t8050-serving.sh - an embedder's program on a real server: serving, an event loop of its own,
# stopping by a signal, idling, several engines; and the example that runs on either host.
#
# Owns: its server. Timeout: 120 s
. "$abs_top_srcdir/tests/lib/embedder.sh"
. "$abs_top_srcdir/tests/lib/temporal.sh"
[ -e "$abs_top_builddir/.libs/libdurable-temporal.so" ] ||
    skip_all "install libgrpc-dev and libprotobuf-c-dev: this tree has no module for servers"
temporal_needs
temporal_server "$TMPDIR/server"
tap_result $? "a server comes up"
export LD_LIBRARY_PATH=$abs_top_builddir/.libs

ok "the program builds" embedder "$abs_top_srcdir/tests/temporal/serving.c" serving \
    -D_GNU_SOURCE -pthread
for case in serves steps stops idles exits queues pairs refuses closes; do
    timeout 60 ./serving "$TEMPORAL_ADDRESS" $case >"$case.out" 2>&1 &
    eval "job_$case=$!"
done
for case in serves steps stops idles exits queues pairs refuses closes; do
    job=job_$case
    wait "${!job}"
    is "$case" "$? $(tail -1 "$case.out")" "0 $case: as it should be"
done

ok "the example builds" embedder "$abs_top_srcdir/contrib/examples/durable/either.c" either \
    -D_GNU_SOURCE
is "the example runs on the server" "$(./either "$TEMPORAL_ADDRESS" 2>&1)" \
    "either: the same run on either host"
is "and on a store of its own" "$(./either 2>&1)" "either: the same run on either host"
done_testing
