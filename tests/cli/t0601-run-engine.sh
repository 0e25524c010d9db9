#!/bin/bash
# t0601-run-engine.sh - the engine behind factory run: killed while somebody waits, unable to start.
. "$abs_top_srcdir/tests/lib/cli.sh"
needs_sandbox
make_repository
make_config

"$factory" run --local-path greeting --rev main --agent short --task x --run-id survivor \
    >out.txt 2>err.txt &
client=$!
ok "the agent works" wait_for "agent, attempt 1" "$factory" status survivor
kill -KILL "$(engine_pid survivor)"
wait "$client"
is "the run succeeds" "$?" 0
like "the client says what it did" "$(cat err.txt)" '(engine was killed|no engine serves any more)'
like "the result" "$(cat out.txt)" 'FACTORY RESULT: SUCCEEDED'
is "the agent ran once" "$(grep -c '^line 1$' .factory/runs/survivor/agent/stdout.log)" 1

# An engine that somebody else started dies: the client starts one.
"$factory" worker >worker.txt 2>&1 &
worker=$!
ok "a worker serves" wait_for serving cat worker.txt
"$factory" run --local-path greeting --rev main --agent short --task x --run-id orphan \
    >out.txt 2>err.txt &
client=$!
ok "the agent works" wait_for "agent, attempt 1" "$factory" status orphan
kill -KILL "$worker"
wait "$worker" 2>/dev/null
wait "$client"
is "the run succeeds" "$?" 0
like "another was started" "$(cat err.txt)" 'starting one'

# It cannot start.
FACTORY_DATA_DIR=$workshop/stuck
export FACTORY_DATA_DIR
mkdir stuck && : >stuck/runs
text=$("$factory" run --local-path greeting --rev main --agent greeter --task x --run-id stuck 2>&1)
is "status 1" "$?" 1
like "its last words" "$text" \
    'the engine did not start \(status 1\): .*runs exists and is not a directory'
like "where its log is" "$text" 'engine.log'
text=$("$factory" run -d --local-path greeting --rev main --agent greeter --task x 2>&1)
is "also when detached" "$?" 1
like "the run is kept" "$("$factory" get runs)" 'stuck .*RUNNING submitted'
rm stuck/runs
"$factory" status stuck --watch >out.txt 2>&1 &
watcher=$!
"$factory" worker --idle-exit 500ms 2>/dev/null
wait "$watcher"
is "and goes on when an engine serves" "$?" 0
data=$workshop/stuck
no_process_left
data=$workshop/.factory
unset FACTORY_DATA_DIR
no_process_left
done_testing
