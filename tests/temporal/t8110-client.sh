#!/bin/bash
# t8110-client.sh - client calls over networks and servers that fail: what was asked for happens,
# once, and who waits for a result gets it.
#
# Owns: tests/lib/outlast.c as a client. No worker runs: runs are ended by Temporal's CLI.
# Timeout: 120 s
. "$abs_top_srcdir/tests/lib/tap.sh"
. "$abs_top_srcdir/tests/lib/outlast.sh"

temporal_server "$place/server"
tap_result $? "a server comes up"
netproxy_start "${TEMPORAL_ADDRESS##*:}"
tap_result $? "a proxy comes up"
at=127.0.0.1:$proxy_port

events() {
    "$temporal" workflow show --workflow-id "$1" -o json |
        grep -c "\"eventType\": \"EVENT_TYPE_$2\""
}

# without_answer EVENT COMMAND ID...: the request arrives and makes that event; its answer does not
# arrive: the connection is lost before.
without_answer() {
    local event=$1 i pid
    shift
    netproxy delay 0 1500 >/dev/null # the server's first words and its answer, each
    "$outlast" "$at" lazy=1 timeout=30000 "$@" >out 2>&1 &
    pid=$!
    for ((i = 0; i < 100; i++)); do
        [ "$(events "$2" "$event" 2>/dev/null)" != 1 ] || break
        sleep 0.1
    done
    netproxy drop >/dev/null
    netproxy delay 0 0 >/dev/null
    wait "$pid"
}

ok "a start whose answer is lost" without_answer WORKFLOW_EXECUTION_STARTED start lost 0
like "it is one run, and runs" "$("$outlast" "$at" status lost)" '^Running$'
is "of that id" "$("$temporal" workflow list -q 'WorkflowId="lost"' -o jsonl | wc -l)" 1
is "over two connections" "$(netproxy count)" 3
ok "a signal whose answer is lost" without_answer WORKFLOW_EXECUTION_SIGNALED signal lost
is "the run has it once" "$(events lost WORKFLOW_EXECUTION_SIGNALED)" 1
ok "a cancelled start is refused: the id is taken" \
    grep -q '^DUR_EXISTS: the id lost is taken' <("$outlast" "$at" start lost 0)

# Waiting for a result, while the connection, the network, and the server go away.
"$outlast" "$at" result lost >out 2>&1 &
waiting=$!
sleep 0.5
netproxy drop >/dev/null
sleep 0.3
netproxy stop >/dev/null
sleep 0.7
netproxy go >/dev/null
temporal_stop KILL
netproxy drop >/dev/null
sleep 0.5
temporal_restart
tap_result $? "the server comes back"
ok "still waiting" kill -0 "$waiting"
"$temporal" workflow terminate --workflow-id lost --reason enough >/dev/null
wait "$waiting"
is "the result comes: status" $? 1
like "the result comes" "$(cat out)" '^DUR_FAILED: .*enough'

# The server is down: said, and the status tells.
temporal_stop KILL
is "down: status and message" \
    "$("$outlast" "$TEMPORAL_ADDRESS" timeout=700 status lost; echo "status $?")" \
    "DUR_IO: $TEMPORAL_ADDRESS: GetSystemInfo: connection refused; is the server up? \
(temporal operator cluster health)
status 1"
done_testing
