#!/bin/bash
# t0400-worker.sh - factory worker: start, standby, takeover, idle exit, signals.
. "$abs_top_srcdir/tests/lib/cli.sh"
needs_sandbox
make_repository
make_config

"$factory" worker 2>one.txt &
one=$!
ok "it serves" wait_for 'serving' cat one.txt
is "one line on start" "$(wc -l <one.txt | tr -d ' ')" 1
"$factory" worker 2>two.txt &
two=$!
ok "a second stands by" wait_for "standing by: process $one serves" cat two.txt
run greeter
is "a run uses the one that serves" "$rc" 0
none "no engine was started" "$(ls .factory/engine.log 2>/dev/null)"
kill -KILL "$one"
wait "$one" 2>/dev/null
ok "the second takes over" wait_for 'serving' cat two.txt
run greeter
is "and runs" "$rc" 0
kill -TERM "$two"
wait "$two"
is "SIGTERM: status 0" "$?" 0
"$factory" worker --idle-exit 200ms 2>three.txt
is "idle: status 0" "$?" 0

# SIGTERM leaves an agent at work for the next engine.
"$factory" worker 2>four.txt &
four=$!
ok "it serves" wait_for 'serving' cat four.txt
ok "an agent works" start short --run-id handed
kill -TERM "$four"
wait "$four"
is "it leaves" "$?" 0
"$factory" worker --idle-exit 300ms 2>/dev/null
like "the next one ends the run" "$("$factory" status handed)" 'FACTORY RESULT: SUCCEEDED'
is "the agent ran once" "$(grep -c '^line 1$' .factory/runs/handed/agent/stdout.log)" 1
not_ok "no words" "$factory" worker now
echo nonsense >>factory.ini
not_ok "a broken configuration is refused" "$factory" worker
no_process_left
done_testing
