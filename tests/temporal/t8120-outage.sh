#!/bin/bash
# t8120-outage.sh - a worker outlasts its server and its network: nothing is lost, what happened is
# said once, and it goes home when it is told to, whatever the network does.
#
# Owns: tests/lib/outlast.c as a worker, through a proxy that breaks (tests/lib/netproxy.c).
# Timeout: 180 s
. "$abs_top_srcdir/tests/lib/tap.sh"
. "$abs_top_srcdir/tests/lib/outlast.sh"

# until_true COMMAND...: for half a minute at most.
until_true() {
    local i
    for ((i = 0; i < 300; i++)); do
        ! "$@" || return 0
        sleep 0.1
    done
    return 1
}
at_least() {
    [ "$(cat "$OUTLAST_EFFECTS" 2>/dev/null | wc -l)" -ge "$1" ]
}

# serve OPTION...: a worker behind the proxy; its words are in worker.log.
serve() {
    : >worker.log # of the worker before
    "$outlast" "$at" "$@" serve >>worker.log 2>&1 &
    worker=$!
    until_true grep -q serving worker.log
}

# goes_home NAME: told to stop, the worker does, with status 0.
goes_home() {
    local status
    kill -TERM "$worker"
    timeout 20 tail --pid="$worker" -f /dev/null
    tap_result $? "$1: the worker goes home" "$(cat worker.log)"
    wait "$worker"
    status=$?
    worker=
    is "$1: with a word" "$status $(tail -n 1 worker.log)" "0 served"
}

# run_through NAME ID STEPS COMMAND...: a run during which COMMAND happens. All of it is done, and
# recorded once.
run_through() {
    local name=$1 id=$2 steps=$3
    shift 3
    rm -f "$OUTLAST_EFFECTS"
    "$outlast" "$TEMPORAL_ADDRESS" start "$id" "$steps" >/dev/null
    until_true at_least 4
    "$@"
    is "$name: the run completes" "$("$outlast" "$TEMPORAL_ADDRESS" result "$id")" "$steps"
    is "$name: every step happened" "$(sort -nu "$OUTLAST_EFFECTS" | paste -sd ' ')" \
        "$(seq "$steps" | paste -sd ' ')"
    is "$name: each is recorded once" "$("$temporal" workflow show --workflow-id "$id" -o json |
        grep -c EVENT_TYPE_ACTIVITY_TASK_COMPLETED)" "$steps"
}

temporal_server "$place/server"
tap_result $? "a server comes up"
netproxy_start "${TEMPORAL_ADDRESS##*:}"
tap_result $? "a proxy comes up"
at=127.0.0.1:$proxy_port

# --- the server goes away and comes back ------------------------------------------------------
restart() {
    temporal_stop KILL
    sleep 1
    temporal_restart
}
serve
run_through "a server that is killed and comes back" restarted 16 restart
# Twice, when it falls back once more while it comes up.
like "the loss is said, once" "$(grep -c '^log 1: .*trying on$' worker.log)" '^[12]$'
like "and its end" "$(grep '^log 2: ' worker.log)" "log 2: $at: the server answers again"

# --- the network --------------------------------------------------------------------------------
drops() {
    local i
    for i in 1 2 3 4; do
        netproxy drop >/dev/null
        sleep 0.4
    done
}
run_through "connections that are lost" dropped 16 drops
silence() {
    netproxy stop >/dev/null
    sleep 2
    netproxy go >/dev/null
}
run_through "a network that swallows everything for a while" silent 10 silence
cuts() {
    netproxy cut 700 >/dev/null
    sleep 2
    netproxy cut -1 >/dev/null
}
run_through "connections that break in the middle" broken 16 cuts
slow() {
    netproxy delay 80 80 >/dev/null
}
run_through "a slow network" slow 7 slow
netproxy delay 0 0 >/dev/null
goes_home "idle, with polls open"

# Over TLS, as most clusters want it.
if command -v openssl >/dev/null; then
    make_ca signer && make_cert localhost signer localhost 30
    netproxy_start "${TEMPORAL_ADDRESS##*:}" localhost.crt localhost.key
    at=localhost:$proxy_port
    serve tls=1 ca_file=signer.crt
    run_through "TLS, and connections that are lost" encrypted 10 drops
    goes_home "TLS"
    netproxy_start "${TEMPORAL_ADDRESS##*:}"
    at=127.0.0.1:$proxy_port
fi

# --- going home when nobody answers -------------------------------------------------------------
serve
netproxy stop >/dev/null
goes_home "a network that swallows everything"
netproxy go >/dev/null
serve
netproxy refuse >/dev/null
until_true grep -q 'trying on$' worker.log
goes_home "nobody listens"

# --- nobody there at the beginning, wrong namespaces --------------------------------------------
is "no server: status and message" "$("$outlast" "$at" timeout=500 serve; echo "status $?")" \
    "DUR_IO: $at: GetSystemInfo: connection refused; is the server up? \
(temporal operator cluster health)
status 1"
serve lazy=1
netproxy accept >/dev/null
run_through "a worker that is there before its server" early 4 true
goes_home "after that"
is "a wrong namespace: status and message" \
    "$("$outlast" "$at" name_space=orders serve; echo "status $?")" \
    "DUR_NOT_FOUND: $at: DescribeNamespace: the server has no namespace 'orders'; check the name, \
or make it (temporal operator namespace create -n orders)
status 1"
like "a wrong namespace that is noticed late" \
    "$("$outlast" "$at" name_space=orders lazy=1 serve; echo "status $?")" \
    "DUR_IO: $at: [A-Za-z]*: the server has no namespace 'orders'.*status 1"
temporal_stop KILL
done_testing
