#!/bin/bash
# t0615-status.sh - factory status of runs that go on, wait in a queue, lost their engine, are over.
. "$abs_top_srcdir/tests/lib/cli.sh"
needs_sandbox
make_repository
make_config

ok "a run begins" start slow --run-id first
ok "it prints" wait_for "last output" "$factory" status first
text=$("$factory" status first)
is "status 0" "$?" 0
like "the first line" "$text" '^first   RUNNING   [0-9]+[sm]   agent slow on greeting@[0-9a-f]{7}'
like "now" "$text" 'now +agent, attempt 1, [0-9.]+s, last output [0-9]+s ago'
like "what it waits for" "$text" "waiting +the agent's exit; time-out in (29|30)m"
like "the engine" "$text" 'engine +pid [0-9]+, lane agent 1 of 1'
json=$("$factory" status first --json)
for member in '"schema": 1' '"state": "RUNNING"' '"finished": false' '"exit_status": null' \
    '"manifest": null' '"activity": "RunAgent"' '"attempt": 1' '"running": true'; do
    like "JSON has $member" "$json" "$member"
done
id=$("$factory" run -d --local-path greeting --rev main --agent greeter --task x --run-id second)
ok "a second run waits for the lane" wait_for \
    "waits for a slot of lane agent, 0 ahead, 1 of 1 busy" \
    "$factory" status "$id"

kill -KILL "$(engine_pid first)"
ok "the engine is gone" wait_for 'none is running; the run is safe at event' "$factory" status first
text=$("$factory" status first)
like "where it stands" "$text" '\(agent, attempt 1\)'
like "how to start one" "$text" 'start one: factory worker'
like "JSON tells too" "$("$factory" status first --json)" '"running": false'

"$factory" status second --watch --json >watch.txt 2>&1 &
watcher=$!
"$factory" cancel first --reason "enough of it" >cancel.txt
is "cancel starts an engine" "$?" 0
ok "the first run ends" wait_for 'FACTORY RESULT: CANCELLED' "$factory" status first
is "a status of a run that is over is 0" "$("$factory" status first >/dev/null; echo $?)" 0
like "the reason is kept" "$("$factory" status first)" 'ERROR: +cancelled: enough of it'
wait "$watcher"
is "--watch ends with the run's status" "$?" 0
none "each line is an object" "$(grep -v '^{.*}$' watch.txt)"
like "the last is the end" "$(tail -1 watch.txt)" \
    '"state":"SUCCEEDED","finished":true.*"exit_status":0'
ok "there were several" test "$(wc -l <watch.txt)" -ge 2
"$factory" status first --watch >/dev/null
is "--watch of a cancelled run: 16" "$?" 16
is "--json of a run that is over" "$("$factory" status first --json |
    grep -c '"factory_result": "CANCELLED"')" 1

# A step that is retried.
echo '[repositories]
allowed = ["https://127.0.0.1:1/"]' >>factory.ini
"$factory" run --repo https://127.0.0.1:1/x.git --rev main --agent greeter --task x \
    --run-id far >far.txt 2>&1 &
client=$!
ok "a retry is shown by run" wait_for "validate: attempt 3 in" cat far.txt
text=$("$factory" status far)
like "and by status" "$text" 'now +validate, attempt [0-9]+ in [0-9]+s'
like "with the reason" "$text" 'failed +attempt [0-9]+: cannot fetch .*Connection refused'
like "as JSON" "$("$factory" status far --json)" '"state": "backoff"'
"$factory" cancel far >/dev/null
wait "$client"
is "it can be cancelled" "$?" 16
no_process_left
done_testing
