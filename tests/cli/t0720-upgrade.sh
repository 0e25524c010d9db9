#!/bin/bash
# t0720-upgrade.sh - factory upgrade: --check, --apply and --back around a store of an older schema.
. "$abs_top_srcdir/tests/lib/cli.sh"
needs_sandbox
make_repository
make_config

"$factory" upgrade --check 2>err.txt
is "no store yet: status 4" "$?" 4
not_ok "one of three" "$factory" upgrade
not_ok "only one of three" "$factory" upgrade --check --apply
run greeter --run-id closed
ok "an open run" start slow --run-id open
out=$("$factory" upgrade --check)
is "check on a served store: status 0" "$?" 0
like "it passes" "$out" 'nothing is due.*1 open run: 1 passes.*pass +factory-run-open'
like "as JSON" "$("$factory" upgrade --check --json)" '"verdict": "pass".*"ok": true'
none "the copy is gone" "$(ls -d .factory/*check-* 2>/dev/null)"
"$factory" upgrade --apply 2>err.txt
is "a served store: status 5" "$?" 5
like "names the engine" "$(cat err.txt)" "process $(engine_pid open) serves"
"$factory" upgrade --back 2>err.txt
is "nor back: status 5" "$?" 5
pid=$(engine_pid open)
kill -KILL "$pid"
while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done

db=$(ls .factory/*.db)
out=$("$factory" upgrade --back)
is "back: status 0" "$?" 0
like "names the copy" "$out" 'one of the version before; what was is in .*[.]after-'
is "the older schema" "$(sqlite3 "$db" 'PRAGMA user_version')" 1
for words in "status open" "get runs" "cancel open" "engine list" "worker --idle-exit 100ms"; do
    # shellcheck disable=SC2086 # words are words
    "$factory" $words >out.txt 2>err.txt
    is "factory $words: status 5" "$?" 5
    like "says what to do" "$(cat err.txt)" 'older version.*upgrade --check.*upgrade --apply'
done
is "and changed nothing" "$(sqlite3 "$db" 'PRAGMA user_version')" 1
like "check reads it" "$("$factory" upgrade --check)" '--apply is due.*1 open run: 1 passes'
is "and changes nothing" "$(sqlite3 "$db" 'PRAGMA user_version')" 1
like "apply" "$("$factory" upgrade --apply)" 'upgraded and checked; what was is in .*[.]before-'
like "again" "$("$factory" upgrade --apply --json)" '"done": "nothing to upgrade"'
"$factory" cancel open --wait >/dev/null
is "the open run goes on to its end: CANCELLED" "$?" 16
like "the closed one is there" "$("$factory" status closed)" 'SUCCEEDED'
done_testing
