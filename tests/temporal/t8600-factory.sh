#!/bin/bash
# t8600-factory.sh - whole runs of the factory on a real Temporal server, and the same in a file.
#
# Owns: how each result comes out on a server, that its evidence is the file's, what Temporal's own
# CLI sees of a run, and that no secret is there. make check has two agents, make check-temporal
# four. Timeout: 200 s
. "$abs_top_srcdir/tests/lib/tap.sh"
. "$abs_top_srcdir/tests/lib/factory_server.sh"
on_server
lite() {
    "$factory" --config lite.ini "$@"
}

# launch AGENT: the run AGENT on both, in the background.
launch() {
    "$factory" run --local-path greeting --rev main --agent "$1" --task 'Greet' --run-id "$1" \
        >"$1.out" 2>"$1.err"
    echo $? >"$1.status"
}
launch_lite() {
    lite run --local-path greeting --rev main --agent "$1" --task 'Greet' --run-id "$1" \
        >/dev/null 2>"$1.lite.err"
    echo $? >"$1.lite"
}
agents=(idle teller)
[ "${CHECK_TEMPORAL:-}" = 1 ] && agents=(greeter failing idle teller)
declare -A ends=([greeter]=0 [failing]=11 [idle]=10 [teller]=0)
clients=()
for agent in "${agents[@]}"; do
    launch "$agent" &
    clients+=($!)
done
ok "a run at work" start slow --run-id ours
ok "another" start slow --run-id theirs
like "Temporal's CLI lists it" "$(cluster workflow list)" \
    'Running +factory-run-theirs +SoftwareChangeWorkflow'
like "and its filter knows the type" \
    "$(cluster workflow list --query "WorkflowType = 'SoftwareChangeWorkflow'")" 'factory-run-ours'
like "status" "$("$factory" status ours)" \
    'ours +RUNNING.*now +agent, attempt 1.*waiting +the agent.s exit.*engine +pid [0-9]+, lane a'
like "status by a beginning of the id" "$("$factory" status their)" '^theirs +RUNNING'
like "logs" "$("$factory" logs ours)" 'line [0-9]+'
like "completion, from the ledger" "$("$factory" __complete status the)" 'theirs.*RUNNING'
like "get runs" "$("$factory" get runs)" 'ours .*RUNNING agent .*greeting@'
like "an active sandbox" "$("$factory" sandboxes)" 'active .* ours'
like "doctor" "$("$factory" doctor --offline)" 'all is well|warnings?'
doctor=$("$factory" doctor)
like "doctor: the server" "$doctor" \
    "server +ok +$TEMPORAL_ADDRESS, Temporal [0-9.]+, plaintext on this host, namespace default"
like "doctor: who serves" "$doctor" 'engine +ok +pid [0-9]+ serves, [0-9]+ open run'
for _ in $(seq 300); do # one that others started in the same moment leaves
    workers=$(workshop_processes | grep -c 'factory worker')
    [ "$workers" = 1 ] && break
    sleep 0.1
done
is "one worker serves all" "$workers" 1
like "queues" "$("$factory" engine queues)" 'agent +[1-9].*control +[1-9]'

like "our cancel" "$("$factory" cancel ours --reason enough)" 'ours: cancel requested'
ok "Temporal's cancel" cluster workflow cancel --workflow-id factory-run-theirs
"$factory" status ours --watch >ours.out 2>&1
is "cancelled: status 16" "$?" 16
like "it says why" "$(cat ours.out)" 'FACTORY RESULT: CANCELLED.*cancelled: enough'
"$factory" status theirs --watch >theirs.out 2>&1
is "cancelled by Temporal's CLI: status 16" "$?" 16
like "with all evidence" "$(ls .factory/runs/theirs)" \
    'agent.*baseline.json.*changes.patch.*cleanup.json.*hardening.*run.json.*task.json'
like "and a verified cleanup" "$(cat theirs.out)" 'CLEANUP: +PASSED +1 sandbox, 0 remain'
wait "${clients[@]}"
for agent in "${agents[@]}"; do
    is "$agent: status ${ends[$agent]}" "$(cat "$agent.status")" "${ends[$agent]}"
    none "$agent: and no word more" "$(cat "$agent.err")"
done
like "progress and result" "$(cat teller.out)" \
    'greeting@.*✓ validate.*✓ agent .*exit 0.*✓ cleanup.*FACTORY RESULT: SUCCEEDED.*\.patch'

# The same on a file.
clients=()
for agent in "${agents[@]}"; do
    launch_lite "$agent" &
    clients+=($!)
done
wait "${clients[@]}"
for agent in "${agents[@]}"; do
    is "$agent: as in a file" "$(cat "$agent.status")" "$(cat "$agent.lite")"
    same "$agent"
done
ok "the patch is the same" cmp .factory/runs/teller/changes.patch lite/runs/teller/changes.patch

# What the server keeps.
show=$(cluster workflow show --workflow-id factory-run-teller)
like "Temporal's CLI shows it" "$show" 'ActivityTaskScheduled.*WorkflowExecutionCompleted'
like "describe" "$(cluster workflow describe --workflow-id factory-run-teller)" \
    'Status +COMPLETED|COMPLETED'
like "its history fits this program" "$("$factory" replay teller)" 'the code fits its history'
"$factory" history export teller -o teller.json >/dev/null
like "its history is valid" "$("$factory" history validate teller.json)" 'valid, .* closed'
like "get runs tells results" "$("$factory" get runs)" \
    'idle .*VERIFICATION_FAILED'
like "describe run" "$("$factory" describe run teller)" \
    'Result +SUCCEEDED.*Steps.*✓ agent.*Conditions.*Sandboxes.*destroyed after.*Artifacts'
for run in "${agents[@]}" ours theirs; do
    "$factory" history export "factory-run-$run" 2>/dev/null
    cluster workflow show --workflow-id "factory-run-$run" --output json
done | grep -oE '"data": *"[A-Za-z0-9+/=]+"' | cut -d'"' -f4 |
    while read -r data; do base64 -d <<<"$data"; echo; done >payloads
like "payloads are looked into" "$(head -c 20000 payloads)" 'Greet'
none "no secret is in a history" "$(grep -a "$secret" payloads)"
none "nor in the server's file" "$(grep -lra "$secret" server)"
like "(where the task is)" "$(grep -lra 'SoftwareChangeWorkflow' server | head -1)" 'temporal\.db'
none "nor in evidence" "$(grep -lr "$secret" .factory/runs --exclude='*.sealed')"

err=$("$factory" run --local-path greeting --rev main --agent greeter --task x --run-id teller 2>&1)
is "an id is used once: status 1" "$?" 1
like "it says so" "$err" 'run teller exists already'
"$factory" engine query factory-run-teller __stack_trace >/dev/null 2>&1 # a worker may have gone
err=$("$factory" status nobody 2>&1)
is "no such run: status 4" "$?" 4
like "it says so" "$err" 'there is no run nobody'
is "no sandbox of anybody" "$("$factory" sandboxes)" "no sandboxes"
if [ "${CHECK_TEMPORAL:-}" != 1 ]; then # its patience is five seconds
    workshop_processes | grep 'factory worker' | while read -r pid rest; do kill -TERM "$pid"; done
fi
ok "with nothing open, or when it is told, the worker leaves" worker_leaves
temporal_stop
no_process_left
done_testing
