#!/bin/bash
# t8130-limits.sh - a server that limits how often it may be asked: waited out, and said.
#
# Owns: a server with few requests a second. Only check-temporal runs this: it is mostly waiting.
# Timeout: 120 s
. "$abs_top_srcdir/tests/lib/tap.sh"
. "$abs_top_srcdir/tests/lib/outlast.sh"
look=$abs_top_builddir/tests/lib/look

temporal_server "$place/server" --dynamic-config-value frontend.namespaceRPS=6
tap_result $? "a server comes up that takes six requests a second"
is "sixty calls: all are answered" "$("$look" "$TEMPORAL_ADDRESS" timeout=30000 ask 60)" \
    "60 of 60 answered"
"$outlast" "$TEMPORAL_ADDRESS" timeout=30000 serve >worker.log 2>&1 &
worker=$!
"$outlast" "$TEMPORAL_ADDRESS" timeout=30000 start slow 12 >/dev/null
is "a run completes" "$("$outlast" "$TEMPORAL_ADDRESS" timeout=30000 result slow)" 12
is "every step happened" "$(sort -nu "$OUTLAST_EFFECTS" | paste -sd ' ')" \
    "$(seq 12 | paste -sd ' ')"
like "the limit is said" "$(cat worker.log)" \
    "log 1: $TEMPORAL_ADDRESS: [A-Za-z]*: .*rate limit.*; the server limits how often it may be \
asked; ask less often, or raise the namespace's limit; trying on"
kill -TERM "$worker"
wait "$worker"
is "the worker goes home" "$? $(tail -n 1 worker.log)" "0 served"
worker=
temporal_stop KILL
done_testing
