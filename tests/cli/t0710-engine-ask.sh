#!/bin/bash
# t0710-engine-ask.sh - factory engine query and update: asking a run, with and without an engine.
. "$abs_top_srcdir/tests/lib/cli.sh"

like "help of query" "$("$factory" engine query --help)" 'engine query .*WORKFLOW NAME'
like "help of update" "$("$factory" engine update --help)" 'update-id.*accepted'
not_ok "two words at least" "$factory" engine query one
"$factory" engine query a b --db nowhere.db 2>err.txt
is "no such store: status 4" "$?" 4

needs_sandbox
make_repository
make_config
ok "a run at work" start slow --run-id one
id=factory-run-one
like "where it stands" "$("$factory" engine query "$id" __stack_trace)" '^"workflow .*at .*workflow'
out=$("$factory" engine query "$id" __temporal_workflow_metadata --json)
like "what it offers, as JSON" "$out" \
    '"schema": 1,.*"result": \{.*queryDefinitions'
"$factory" engine query "$id" colour 2>err.txt
is "an unknown query: status 1" "$?" 1
like "the known ones are named" "$(cat err.txt)" 'UnknownQuery: .*__stack_trace'
"$factory" engine query none __stack_trace 2>err.txt
is "no such run: status 4" "$?" 4
"$factory" engine query "$id" __stack_trace '{' 2>err.txt
is "input that is not JSON: status 2" "$?" 2
events=$("$factory" engine describe "$id" | sed -n 's/.*events *//p')

"$factory" engine update "$id" faster 2>err.txt
is "an update without a handler: status 1" "$?" 1
like "rejected, and why" "$(cat err.txt)" 'rejected: .*no handler for update faster'
is "no trace" "$("$factory" engine describe "$id" | sed -n 's/.*events *//p')" "$events"
"$factory" engine update "$id" faster --wait later 2>err.txt
is "no such stage: status 2" "$?" 2

kill -KILL "$(engine_pid one)" 2>/dev/null
while "$factory" status 2>/dev/null | grep -q 'engine.*serves'; do sleep 0.05; done
like "without an engine too" "$("$factory" engine query "$id" __stack_trace)" 'at .*workflow'
like "admitted" "$("$factory" engine update "$id" slower 1 --update-id u --wait admitted)" \
    'update slower admitted'
"$factory" engine update "$id" slower 1 --update-id u --timeout 100ms 2>err.txt
is "nobody answers: status 1" "$?" 1
like "it waits" "$(cat err.txt)" 'update u is admitted; no engine serves'
"$factory" engine terminate "$id" >/dev/null
like "closed runs answer" "$("$factory" engine query "$id" __stack_trace)" 'workflow|closed'
"$factory" engine update "$id" slower 1 --update-id u 2>err.txt
like "the end cut it off" "$(cat err.txt)" 'closed before update u was accepted'
done_testing
