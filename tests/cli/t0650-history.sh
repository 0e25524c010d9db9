#!/bin/bash
# t0650-history.sh - factory history: the table and Temporal's JSON form.
. "$abs_top_srcdir/tests/lib/cli.sh"
needs_sandbox
make_repository
make_config

run greeter --run-id one
text=$("$factory" history one)
is "status 0" "$?" 0
like "the first event" "$(head -1 <<<"$text")" \
    '^ +1  [0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}  WorkflowExecutionStarted +SoftwareChangeWorkflow$'
like "an activity" "$text" 'ActivityTaskScheduled +RunAgent'
like "its attempt" "$text" 'ActivityTaskStarted +attempt 1'
like "how long it took" "$text" 'ActivityTaskCompleted +RunAgent, [0-9.]+m?s'
unlike "no workflow tasks" "$text" 'WorkflowTask'
like "--all has them" "$("$factory" history one --all)" 'WorkflowTaskCompleted'
like "the last line" "$(tail -1 <<<"$text")" '^[0-9]+ events, [0-9.]+ KiB · --json'
json=$("$factory" history one --json)
like "Temporal's form" "$json" '"eventType": "EVENT_TYPE_WORKFLOW_EXECUTION_STARTED"'
events=$(grep -c '"eventId"' <<<"$json")
like "all events" "$(tail -1 <<<"$text")" "^$events events"
run greeter --rev nope --run-id two
like "failures are told" "$("$factory" history two)" \
    'ActivityTaskFailed +ValidateRequest, .*: .*no such branch, tag or commit'
ok "lines fit" test "$(COLUMNS=40 "$factory" history two | LC_ALL=C.UTF-8 wc -L)" -le 40

# Out of the store, and into another one.
ok "exported" "$factory" history export one --output one.json
ok "in the binary form" "$factory" history export one --output one.bin --format proto
like "both are valid" "$("$factory" history validate one one.json one.bin)" \
    'one: valid.*one.json: valid.*one.bin: valid, [0-9]+ events, closed'
is "and the same" "$("$factory" history diff one one.bin --all)" "the same"
like "imported elsewhere" "$("$factory" history import one.bin --db other.db)" 'Completed$'
id=$("$factory" engine list --db other.db --json | sed -n 's/.*"workflow_id": "\(.*\)",/\1/p')
is "equal there" "$("$factory" history diff one.json --db other.db "$id" --all)" "the same"
like "two runs differ" "$("$factory" history diff one two)" \
    '[<] +[0-9]+  ActivityTaskScheduled.*[0-9]+ differences'
no_process_left
done_testing
