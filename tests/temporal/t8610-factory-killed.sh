#!/bin/bash
# t8610-factory-killed.sh - runs of the factory on a real server while the worker is killed, or the
# server is away, for a moment or for longer than heartbeats may be.
#
# Owns: that the result is the same, the agent starts once and no sandbox is left. A server finds
# out by a time-out of 40 s that a worker died; so make check-temporal runs this. Timeout: 300 s
. "$abs_top_srcdir/tests/lib/tap.sh"
[ "${CHECK_TEMPORAL:-}" = 1 ] || skip_all "make check-temporal runs it: it waits for time-outs"
. "$abs_top_srcdir/tests/lib/factory_server.sh"
on_server
cat >>factory.ini <<'END'
[harnesses.long]
type = generic
executable = /bin/sh
args = ["-c",
    "for i in $(seq 70); do echo \"line $i\"; sleep 1; done; echo 'hello factory' > greet.txt"]
END

# begin ID AGENT: a client that waits; $client.
begin() {
    "$factory" run --local-path greeting --rev main --agent "$2" --task Greet --run-id "$1" \
        >"$1.out" 2>"$1.err" &
    client=$!
    wait_for "agent, attempt 1" "$factory" status "$1"
}
# finished ID: the client's end, the result, one agent, nothing left.
finished() {
    wait "$client"
    is "$1: it succeeds" "$?" 0
    like "$1: the result" "$(cat "$1.out")" 'FACTORY RESULT: SUCCEEDED.*2 sandboxes, 0 remain'
    is "$1: the agent ran once" "$(grep -c '^line 1$' ".factory/runs/$1/agent/stdout.log")" 1
    is "$1: no sandbox is left" "$("$factory" sandboxes)" "no sandboxes"
}

begin outage long
tap_result $? "an agent at work"
temporal_stop KILL
sleep 50 # its heartbeats are given up; another attempt follows the same agent
"$factory" status outage >/dev/null 2>&1
is "a server that is away: status 5" "$?" 5
like "logs are here" "$("$factory" logs outage 2>err.txt)" 'line [0-9]+'
like "with a word of the server" "$(cat err.txt)" "$TEMPORAL_ADDRESS: .*is the server up"
temporal_restart
tap_result $? "it comes back"
finished outage
like "the client waited" "$(cat outage.err)" 'waiting for the server'
like "attempts" "$("$factory" history outage --all)" 'attempt [12]'

begin restart short
tap_result $? "an agent at work"
temporal_restart
tap_result $? "the server is restarted"
finished restart

begin killed short
tap_result $? "an agent at work"
kill -KILL "$(engine_pid killed)"
finished killed
like "the client started another worker" "$(cat killed.err)" 'starting another|starting one'
like "the second attempt followed the first" "$("$factory" history killed)" 'attempt 2'
"$factory" --config lite.ini run --local-path greeting --rev main --agent short --task Greet \
    --run-id killed >/dev/null 2>&1
is "the patch is that of an undisturbed run" "$(cat .factory/runs/killed/changes.patch)" \
    "$(cat lite/runs/killed/changes.patch)"

# Two workers of one data directory: one serves, the other takes over.
"$factory" worker >first.log 2>&1 &
first=$!
ok "a worker serves" wait_for "serves" "$factory" doctor
"$factory" worker >second.log 2>&1 &
second=$!
ok "another stands by" wait_for "standing by" cat second.log
"$factory" worker --idle-exit 5s
is "one that was started for runs leaves at once" "$?" 0
begin taken short
finished taken
kill -TERM "$first"
wait "$first"
is "SIGTERM ends a worker" "$?" 0
begin over short
finished over
kill -TERM "$second"
wait "$second"
is "the second served, and ends" "$?" 0
ok "a worker that was started meanwhile leaves" worker_leaves
temporal_stop
no_process_left
done_testing
