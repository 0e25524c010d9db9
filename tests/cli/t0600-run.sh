#!/bin/bash
# t0600-run.sh - factory run in a pipe: lines, result block, statuses, JSON, detaching, outputs
# that are closed.
. "$abs_top_srcdir/tests/lib/cli.sh"
needs_sandbox
make_repository
make_config

run greeter
is "status 0" "$rc" 0
is "nothing on standard error" "$err" ""
like "the header" "$out" '^run-[0-9a-f]{24}  greeting@[0-9a-z]+  agent greeter  gates default'
for step in validate sandbox repository agent collect audit gates cleanup; do
    is "one line for $step" "$(grep -cE "^  ✓ $step +[0-9.]+s" <<<"$out")" 1
done
like "the result" "$out" 'FACTORY RESULT: SUCCEEDED'
like "the agent" "$out" 'AGENT RESULT:   SUCCESS +exit 0, [0-9.]+s'
like "gates with times" "$out" \
    'VERIFICATION:   PASSED +build [0-9.]+s · unit-tests [0-9.]+s   \(fresh sandbox\)'
like "cleanup" "$out" 'CLEANUP:        PASSED +2 sandboxes, 0 remain'
patch=$(sed -n 's/^\(.*changes\.patch\)   1 file, +1 −1$/\1/p' <<<"$out")
ok "the patch's path is good from here" test -s "$patch"
unlike "no escape sequences in a pipe" "$out" $'\e'
ok "it applies" git -C greeting apply --check "$workshop/$patch"

run failing
is "an agent that fails: 11" "$rc" 11
like "is marked" "$out" '✗ agent .*exit 3'
like "and told" "$out" 'ERROR: +the agent exited with status 3'
run idle
is "gates fail: 10" "$rc" 10
like "the failed gate's last lines" "$out" \
    'unit-tests, last lines \(verification/unit-tests.stderr\):.*FAIL greet: no factory'
like "nothing was changed" "$out" 'Patch: nothing was changed'
run blocked
is "blocked: 13" "$rc" 13
like "with the reason" "$out" 'ERROR: +the agent is blocked: no idea'
run tamper
is "a protected path: 12" "$rc" 12
like "which is named" "$out" 'GATE INTEGRITY: VIOLATED +.*test.sh'
run greeter --rev nope
is "no such revision: 3" "$rc" 3
like "is told" "$out" 'rev "nope": no such branch, tag or commit'

run greeter --json
is "--json prints one document" "$(head -1 <<<"$out")$(tail -1 <<<"$out")" "{}"
like "the manifest" "$out" '"schema": 1,.*"factory_result": "SUCCEEDED"'
run greter
is "an unknown agent: 3" "$rc" 3
like "with the nearest" "$err" 'Did you mean greeter\?'
run greeter --task ' '
is "a blank task: 3" "$rc" 3
run greeter --run-id twice
run greeter --run-id twice
like "an id is used once" "$err" 'run twice exists already'
is "status 1" "$rc" 1
echo 'From a pipe' | "$factory" run --local-path greeting --rev main --agent greeter --task-file - \
    --run-id piped >/dev/null
like "a task from standard input" "$("$factory" logs piped)" 'working on From a pipe'

out=$("$factory" run -d --local-path greeting --rev main --agent greeter --task x)
like "--detach prints the id alone" "$out" '^run-[0-9a-f]{24}$'
ok "and the run goes on" wait_for "FACTORY RESULT: SUCCEEDED" "$factory" status "$out"
out=$("$factory" run --wait=false --json --local-path greeting --rev main --agent greeter --task x)
like "--wait=false is the same" "$out" '"run_id": "run-'
id=$(sed -n 's/.*"run_id": "\(.*\)"/\1/p' <<<"$out")
ok "it ends too" wait_for "FACTORY RESULT" "$factory" status "$id"

"$factory" run --local-path greeting --rev main --agent greeter --task x >/dev/full 2>err.txt
is "a full output: 1" "$?" 1
like "is told" "$(cat err.txt)" 'cannot write to standard output'
"$factory" get runs >&- 2>err.txt
is "a closed output: 1" "$?" 1
is "a closed pipe is quiet" "$( ("$factory" get runs; echo >&2 "$?") 2>&1 >/dev/full | tail -1)" 1
"$factory" run --local-path greeting --rev main --agent short --task x 2>err.txt |
    head -1 >/dev/null
unlike "a reader that leaves is no error" "$(cat err.txt)" 'cannot write'
id=$("$factory" get runs -n 1 --json | sed -n 's/.*"run_id": "\(.*\)",/\1/p')
ok "and the run goes on" wait_for "FACTORY RESULT" "$factory" status "$id"
no_process_left
done_testing
