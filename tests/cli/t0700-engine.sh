#!/bin/bash
# t0700-engine.sh - factory engine: the verbs, on the factory's own store and on any other.
. "$abs_top_srcdir/tests/lib/cli.sh"

out=$("$factory" engine --help)
like "help lists the verbs" "$out" 'list.*describe.*signal.*cancel.*terminate'
like "help of a verb" "$("$factory" engine signal --help)" 'engine signal .*WORKFLOW NAME'
not_ok "an unknown verb" "$factory" engine sginal
like "names the nearest" "$("$factory" engine sginal 2>&1)" 'did you mean signal'
"$factory" engine list --db nowhere.db 2>err.txt
is "no such store: status 4" "$?" 4
like "and says which" "$(cat err.txt)" 'nowhere.db'

# A store of an older version is its own program's to upgrade.
if command -v sqlite3 >/dev/null; then
    sqlite3 old.db ".read $abs_top_srcdir/tests/golden/store-0001.dump" "PRAGMA journal_mode=WAL" \
        >/dev/null
    for words in list "describe order-42" "signal order-42 paid"; do
        # shellcheck disable=SC2086 # words are words
        "$factory" engine $words --db old.db >out.txt 2>err.txt
        is "$words of an older store: status 5" "$?" 5
        like "is refused" "$(cat err.txt)" 'older version'
    done
    is "and untouched" "$(sqlite3 old.db 'PRAGMA user_version')" 1
else
    skip "a store of an older version" "install sqlite3"
fi

# A store with an open run: the factory's own, its engine killed while the agent works.
needs_sandbox
make_repository
make_config
ok "a run at work" start slow --run-id one
kill -KILL "$(engine_pid one)" 2>/dev/null
id=$("$factory" engine list --json | sed -n 's/.*"workflow_id": "\(.*\)",/\1/p' | head -n 1)
like "list" "$("$factory" engine list)" "WORKFLOW .*$id .*Running"
like "list as JSON" "$("$factory" engine list --json)" '"schema": 1,.*"status": "Running"'
is "none of another status" "$("$factory" engine list --status Completed)" "no runs"
not_ok "no such status" "$factory" engine list --status completed
like "a filter" "$("$factory" engine list --filter "WorkflowId = '$id'")" "$id .*Running"
is "none passes" "$("$factory" engine list --filter "WorkflowId != '$id'")" "no runs"
is "filter and status" "$("$factory" engine list -f "RunId != 'x'" -s Completed)" "no runs"
"$factory" engine list --filter "WorkflowId '$id'" 2>err.txt
is "a mistake: status 2" "$?" 2
like "has its column" "$(cat err.txt)" 'filter: column 12: a comparison'
like "describe" "$("$factory" engine describe "$id")" "workflow +$id.*status +Running"
like "describe as JSON" "$("$factory" engine describe "$id" --json)" '"run": \{.*"closed_at": null'
like "signal" "$("$factory" engine signal "$id" poke '{"a":1}')" "$id: signal poke sent"
like "the history has it" "$("$factory" history one)" 'WorkflowExecutionSignaled'
"$factory" engine signal "$id" poke '{' 2>err.txt
is "input that is not JSON: status 2" "$?" 2
like "is named" "$(cat err.txt)" 'not JSON'
like "pause" "$("$factory" engine pause "$id" --reason lunch)" "$id: paused"
like "describe says so" "$("$factory" engine describe "$id")" 'status +Paused.paused for +lunch'
like "list knows the paused" "$("$factory" engine list --status Paused)" "$id .*Paused"
like "resume" "$("$factory" engine resume "$id")" "$id: goes on"
is "nobody is paused" "$("$factory" engine list --status Paused)" "no runs"
"$factory" engine signal "$id" poke --request-id r1 >/dev/null
before=$("$factory" engine describe "$id" | sed -n 's/^history *//p')
"$factory" engine signal "$id" poke --request-id r1 >/dev/null
after=$("$factory" engine describe "$id" | sed -n 's/^history *//p')
is "a signal by its id is sent once" "$after" "$before"
"$factory" engine reset "$id" --event 5 2>err.txt
is "no end of a task: status 2" "$?" 2
like "names the nearest" "$(cat err.txt)" 'event 5 .* are 4 and'
old=$("$factory" engine describe "$id" | sed -n 's/^run *//p')
like "reset" "$("$factory" engine reset "$id" --event 4 --reason mended)" "$id: taken back, as run"
like "the old run names the new one" "$("$factory" engine describe "$id@$old")" \
    'status +Terminated.*next run'
like "the new one is open" "$("$factory" engine describe "$id")" 'status +Running'
like "cancel" "$("$factory" engine cancel "$id" --reason x --json)" '"done": ".*cancel req'
like "terminate" "$("$factory" engine terminate "$id" --reason really)" 'terminated'
like "it is over" "$("$factory" engine describe "$id")" 'status +Terminated.*really'
"$factory" engine terminate "$id" 2>err.txt
is "a closed run: status 4" "$?" 4
done_testing
