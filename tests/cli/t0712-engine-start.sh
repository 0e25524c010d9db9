#!/bin/bash
# t0712-engine-start.sh - factory engine start: a run of any workflow, and all that a start can say.
. "$abs_top_srcdir/tests/lib/tap.sh"
cd "$TMPDIR" || exit 1
unset FACTORY_CONFIG FACTORY_DATA_DIR
factory=$FACTORY
# A store with nothing in it: worker makes it and leaves.
"$factory" worker --idle-exit 10ms 2>/dev/null
db=$PWD/.factory/factory.db
ok "there is a store" test -e "$db"

start() {
    "$factory" engine start --db "$db" "$@"
}

like "start" "$(start Order order-1 --input '{"cents":4200}')" \
    '^order-1: started, run [0-9a-f-]{36}$'
like "it is open" "$("$factory" engine list --db "$db")" 'order-1 +Order +Running'
like "with its input" "$("$factory" history export order-1 --db "$db")" \
    '"data": *"eyJjZW50cyI6NDIwMH0="'
err=$(start Order order-1 2>&1)
is "an id that is in use: status 1" "$?" 1
like "says so" "$err" 'order-1'
first=$("$factory" engine describe order-1 --db "$db" --json |
    sed -n 's/.*"run_id": "\(.*\)",/\1/p' | head -1)
like "use-existing takes it" "$(start Order order-1 --id-conflict use-existing)" \
    "order-1: open, run $first"
like "terminate-existing replaces it" \
    "$(start Order order-1 --id-conflict terminate-existing --json)" \
    '"done": "order-1: open, run '
is "which is another run" \
    "$("$factory" engine list --db "$db" --filter "WorkflowId = 'order-1'" | grep -c order-1)" 2
"$factory" engine terminate order-1 --db "$db" >/dev/null
err=$(start Order order-1 --id-reuse reject 2>&1)
is "reject: a closed one counts" "$?" 1
ok "failed-only: a terminated one may be followed" start Order order-1 --id-reuse failed-only

ok "everything at once" start Order order-2 --task-queue orders --memo '{"who":"ana"}' \
    --search-attributes '{"CustomerId":"c1"}' --execution-timeout 2h --run-timeout 1h \
    --task-timeout 20s --cron '0 3 * * *' --max-attempts 5 --retry-interval 2s --priority 1 \
    --request-id r1 --signal paid --signal-input '{"by":"card"}'
shown=$("$factory" engine describe order-2 --db "$db")
like "task queue, memo" "$shown" 'task queue +orders.*memo +\{"who":"ana"\}'
history=$("$factory" history export order-2 --db "$db" | tr -d ' \n')
like "time-outs" "$history" '"workflowExecutionTimeout":"7200s","workflowRunTimeout":"3600s"'
like "of tasks" "$history" '"workflowTaskTimeout":"20s"'
like "retry and cron" "$history" '"cronSchedule":"03\*\*\*"'
like "the policy" "$history" '"initialInterval":"2s".*"maximumAttempts":5'
like "search attributes find it" \
    "$("$factory" engine list --db "$db" --filter "CustomerId = 'c1'")" 'order-2'
like "the signal waits" "$history" 'WORKFLOW_EXECUTION_SIGNALED.*"signalName":"paid"'
like "start-delay" "$(start Order order-3 --start-delay 1h >/dev/null &&
    "$factory" engine describe order-3 --db "$db")" 'begins +20'

refused() {
    local status=$1 text=$2
    shift 2
    err=$(start "$@" 2>&1)
    is "$*: status $status" "$?" "$status"
    like "$*: why" "$err" "$text"
}
refused 2 'no policy faill; did you mean fail\?' Order x --id-conflict faill
refused 2 'no policy x, see --help' Order x --id-reuse x
refused 2 'signal-input goes with --signal' Order x --signal-input 1
refused 2 'JSON' Order x --input '{'
refused 2 'priority' Order x --priority 9
refused 2 'cron' Order x --cron never
refused 2 '' Order
refused 2 'run-timeout' Order x --run-timeout soon
none "nothing of these was started" \
    "$("$factory" engine list --db "$db" --filter "WorkflowId = 'x'" | grep -v '^no runs$')"

# --wait needs somebody who runs the code; a run that is terminated meanwhile ends it.
start Order order-4 --wait >out.txt 2>err.txt &
waiter=$!
for _ in $(seq 100); do
    "$factory" engine terminate order-4 --db "$db" >/dev/null 2>&1 && break
    sleep 0.1
done
wait "$waiter"
is "--wait: the run was terminated" "$?" 1
like "and says so" "$(cat err.txt)" 'erminated'
done_testing
