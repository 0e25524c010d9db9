#!/bin/bash
# t8000-server.sh - the tests' own Temporal server: it comes up, and keeps its runs over a kill.
#
# Timeout: 60 s
. "$abs_top_srcdir/tests/lib/tap.sh"
. "$abs_top_srcdir/tests/lib/temporal.sh"
temporal_needs
place=$(mktemp -d) || exit 1
trap 'rm -rf "$place"' EXIT

temporal_server "$place/server" # not through ok: that is a shell of its own
tap_result $? "a server comes up"
like "on the loopback" "$TEMPORAL_ADDRESS" '^127\.0\.0\.1:[0-9]+$'
like "it serves" "$("$temporal" operator cluster health)" 'SERVING'
like "it starts a run" "$("$temporal" workflow start --type Nobody --task-queue none \
    --workflow-id kept -o json)" '"workflowId": "kept"'
first=$TEMPORAL_ADDRESS
temporal_stop KILL
not_ok "it can be killed" "$temporal" operator cluster health --address "$first"
temporal_restart
tap_result $? "it comes back"
is "at the same address" "$TEMPORAL_ADDRESS" "$first"
like "with its runs" "$("$temporal" workflow describe --workflow-id kept -o json)" \
    'WORKFLOW_EXECUTION_STATUS_RUNNING'
done_testing
