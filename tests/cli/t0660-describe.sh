#!/bin/bash
# t0660-describe.sh - factory describe run: sections, digests that hold, JSON.
. "$abs_top_srcdir/tests/lib/cli.sh"
needs_sandbox
make_repository
make_config

run greeter --run-id one
text=$("$factory" describe run one)
is "status 0" "$?" 0
like "the summary" "$text" '^Run +one.Result +SUCCEEDED.Repository +.*/greeting'
commit=$(git -C greeting rev-parse main)
like "the whole commit" "$text" "Baseline +$commit"
for head in Steps Conditions Sandboxes Artifacts; do
    is "section $head" "$(grep -cE "^$head( |\$)" <<<"$text")" 1
done
like "a condition" "$text" 'Verified +True +AllGatesPassed'
is "two sandboxes" "$(grep -cE '^sbx-.*(agent|verify) +local +destroyed after' <<<"$text")" 2
json=$("$factory" describe run one --json)
like "JSON" "$json" '"schema": 1,.*"status": \{.*"sandboxes": \[.*"artifacts": \['
digest=$(grep -A1 '"path": "changes.patch"' <<<"$json" |
    sed -n 's/.*"sha256": "\(.*\)",/\1/p' | tail -1)
is "the digest holds" "$digest" "$(sha256sum <.factory/runs/one/changes.patch | cut -d' ' -f1)"
run greeter --rev nope --run-id two
text=$("$factory" describe run two)
like "a refused request" "$text" 'Result +INVALID_REQUEST'
like "with its condition" "$text" 'Validated +False +PolicyRejected'
ok "a run that goes on" start slow --run-id three
like "is described too" "$("$factory" describe run three)" 'So far +[0-9.]+s.*not destroyed'
"$factory" cancel three --wait >/dev/null
not_ok "an unknown kind" "$factory" describe change x
not_ok "no run" "$factory" describe run
no_process_left
done_testing
