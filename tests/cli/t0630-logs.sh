#!/bin/bash
# t0630-logs.sh - factory logs: tails, streams, gates, following.
. "$abs_top_srcdir/tests/lib/cli.sh"
needs_sandbox
make_repository
make_config

run greeter --run-id one
is "what the agent printed" "$("$factory" logs one)" "working on Greet
done"
is "its standard error" "$("$factory" logs one --stderr)" noise
is "a gate's" "$("$factory" logs one --gate build)" building
is "the last line" "$("$factory" logs one --tail 1)" "done"
is "more than there is" "$("$factory" logs one -n 99 | wc -l | tr -d ' ')" 2
is "all" "$("$factory" logs one --tail 0 | wc -l | tr -d ' ')" 2
is "following a run that is over ends" "$("$factory" logs one -f)" "$("$factory" logs one)"
is "JSON lines" "$("$factory" logs one --json | head -1)" \
    '{"schema":1,"run_id":"one","log":"agent/stdout.log","line":"working on Greet"}'
text=$("$factory" logs one --gate lint 2>&1)
is "a gate that there is not: 4" "$?" 4
like "and where the evidence is" "$text" \
    'no verification/lint.stdout; its evidence is in .factory/runs/one'
not_ok "a path is no gate" "$factory" logs one --gate ../run
run greeter --rev nope --run-id none
text=$("$factory" logs none 2>&1)
is "no agent ran: 4" "$?" 4

id=$("$factory" run -d --local-path greeting --rev main --agent short --task x --run-id two)
text=$("$factory" logs -f two -n 0)
is "following waits for the log and goes to its end" "$?" 0
is "every line, once, in order" "$text" "$(for i in {1..15}; do echo "line $i"; done)"
ok "a run that is slow" start slow --run-id three
text=$(timeout -s INT 1 "$factory" logs three -f --tail 1)
like "lines come while it goes on" "$text" 'line [0-9]+.line [0-9]+'
"$factory" logs three -f >follow.txt &
follower=$!
ok "somebody follows" wait_for line cat follow.txt
"$factory" cancel three --wait >/dev/null
wait "$follower"
is "a cancel ends following" "$?" 0
no_process_left
done_testing
