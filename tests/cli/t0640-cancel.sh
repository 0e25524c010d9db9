#!/bin/bash
# t0640-cancel.sh - factory cancel: with and without an engine, twice, of runs that are over.
. "$abs_top_srcdir/tests/lib/cli.sh"
needs_sandbox
make_repository
make_config

ok "a run goes on" start slow --run-id one
text=$("$factory" cancel one --reason "not needed" --wait)
is "--wait ends with the run's status" "$?" 16
like "the result" "$text" 'FACTORY RESULT: CANCELLED'
like "the reason" "$text" 'ERROR: +cancelled: not needed'
like "what it printed is kept" "$("$factory" logs one)" 'line 1'
like "sandboxes are gone" "$text" '1 sandbox, 0 remain'
is "again: nothing to do" "$("$factory" cancel one)" "one is over already: CANCELLED"
is "no error" "$?" 0
like "as JSON" "$("$factory" cancel one --json)" '"requested": false,.*"state": "CANCELLED"'

ok "another" start slow --run-id two
like "without --wait" "$("$factory" cancel two)" '^two: cancel requested'
"$factory" cancel two >/dev/null
is "twice is once" "$?" 0
ok "it ends" wait_for 'FACTORY RESULT: CANCELLED' "$factory" status two
is "the request is in the history once" \
    "$("$factory" history two | grep -c WorkflowExecutionCancelRequested)" 1

# No engine, and no valid configuration: the request is kept until one serves.
ok "a third" start slow --run-id three
kill -KILL "$(engine_pid three)"
ok "the engine is gone" wait_for 'none is running' "$factory" status three
cp factory.ini good.ini
echo nonsense >>factory.ini
text=$("$factory" cancel three --json 2>err.txt)
is "asked for" "$?" 0
like "without an engine" "$text" '"requested": true,.*"engine_running": false'
like "which is told" "$(cat err.txt)" 'no engine is running'
like "the run knows" "$("$factory" status three 2>/dev/null)" 'cancel +asked for'
mv good.ini factory.ini
"$factory" worker --idle-exit 300ms 2>/dev/null
like "the next engine acts on it" "$("$factory" status three)" 'FACTORY RESULT: CANCELLED'
no_process_left
done_testing
