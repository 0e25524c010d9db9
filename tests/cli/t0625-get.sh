#!/bin/bash
# t0625-get.sh - factory get runs: order, limits, states, runs in flight.
. "$abs_top_srcdir/tests/lib/cli.sh"
needs_sandbox
make_repository
make_config

run greeter --run-id one
run idle --run-id two
ok "a third goes on" start slow --run-id three
text=$("$factory" get runs)
is "newest first" "$(awk 'NR > 1 { printf "%s ", $1 }' <<<"$text")" "three two one "
like "the head" "$(head -1 <<<"$text")" '^RUN +AGE +RESULT +AGENT +REPOSITORY$'
like "one in flight has its step" "$text" \
    'three +[0-9]+s +RUNNING agent +slow +greeting@[0-9a-f]{7}'
like "one that failed" "$text" 'two +[0-9]+s +VERIFICATION_FAILED +idle'
is "--limit" "$("$factory" get runs -n 2 | wc -l | tr -d ' ')" 3
is "--limit 0 is all" "$("$factory" get runs --limit 0 | wc -l | tr -d ' ')" 4
is "--state" "$("$factory" get runs --state succeeded | awk 'NR > 1 { print $1 }')" one
is "--state with a hyphen" \
    "$("$factory" get runs -s verification-failed | awk 'NR > 1 { print $1 }')" two
is "--state RUNNING" "$("$factory" get runs -s RUNNING | awk 'NR > 1 { print $1 }')" three
is "a state without runs" "$("$factory" get runs -s BLOCKED)" "no runs are BLOCKED"
is "a limit counts what is shown" "$("$factory" get runs -s SUCCEEDED -n 1 | wc -l | tr -d ' ')" 2
json=$("$factory" get runs --json)
like "JSON" "$json" '"schema": 1,.*"run_id": "three",.*"finished_at": null'
is "three of them" "$(grep -c '"run_id"' <<<"$json")" 3
is "an empty list is a list" \
    "$("$factory" get runs -s BLOCKED --json | tr -d ' \n')" '{"schema":1,"runs":[]}'
is "the singular too" "$("$factory" get run | wc -l | tr -d ' ')" 4
"$factory" cancel three --wait >/dev/null
no_process_left
done_testing
