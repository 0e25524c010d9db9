#!/bin/bash
# t0730-replay.sh - factory replay: runs, files in both forms, all open runs, a mismatch.
. "$abs_top_srcdir/tests/lib/cli.sh"

not_ok "nothing named" "$factory" replay
not_ok "a name and --all" "$factory" replay one --all
echo '{"events": []' >cut.json
"$factory" replay cut.json 2>/dev/null >out.txt
is "a file that is no history: status 2" "$?" 2
like "says why" "$(cat out.txt)" 'cut.json: cannot be read.*line 2 column 1'
"$factory" replay ./absent.json 2>err.txt
is "no such file: status 4" "$?" 4
"$factory" replay one 2>err.txt
is "no store: status 4" "$?" 4

needs_sandbox
make_repository
make_config
run greeter --run-id one
is "a run fits this program" "$("$factory" replay one)" "one: the code fits its history"
"$factory" history one --json >one.json
is "so does its exported history" "$("$factory" replay one.json)" \
    "one.json: the code fits its history"
is "and on standard input" "$("$factory" replay - <one.json)" "-: the code fits its history"
like "as JSON" "$("$factory" replay one --json)" '"schema": 1,.*"verdict": "fits",.*"report": null'
"$factory" replay on 2>/dev/null >out.txt
is "a beginning of its id will do" "$?" 0
"$factory" replay two 2>err.txt
is "no such run: status 4" "$?" 4

# Another program's history: the first activity has another name.
first=$("$factory" history one | awk '/ActivityTaskScheduled/ {print $4; exit}')
sed "s/\"$first\"/\"SomethingElse\"/" one.json >other.json
out=$("$factory" replay other.json)
is "a mismatch: status 6" "$?" 6
like "two columns" "$out" 'the history has +\| the code asks for'
like "the recorded event and what is asked" "$out" 'SomethingElse'
like "the place in the source" "$out" 'code at +[^ ]+[.]c:[0-9]+'
like "what to do" "$out" 'What to do: nothing is lost'
like "as JSON" "$("$factory" replay other.json --json)" '"verdict": "mismatch",.*"report": "The'
sed 's/"name": "SoftwareChange[A-Za-z]*"/"name": "Unknown"/' one.json >unknown.json
"$factory" replay unknown.json >out.txt
is "a workflow that is not ours: status 4" "$?" 4
like "is named" "$(cat out.txt)" 'no such workflow.*Unknown'

is "no open runs" "$("$factory" replay --all)" "0 open runs, 0 of them fit this program"
ok "an open run" start slow --run-id open
kill -KILL "$(engine_pid open)" 2>/dev/null
is "all open runs" "$("$factory" replay --all)" "1 open run, 1 of them fits this program"
like "as JSON" "$("$factory" replay --all --json)" '"runs": \[.*"open": 1,.*"fit": 1'

# A run that is parked shows its report.
if command -v sqlite3 >/dev/null; then
    "$factory" replay other.json | tail -n +2 >report.txt
    sqlite3 .factory/factory.db "UPDATE execution SET parked = CAST(readfile('report.txt') AS TEXT)
        WHERE status = 1"
    like "status shows it" "$("$factory" status open)" \
        'parked +its history does not fit.*the history has +\| the code asks for'
    like "get shows that it is" "$("$factory" get runs)" 'open .*RUNNING parked'
    like "as JSON" "$("$factory" get runs --json)" '"parked": true'
else
    skip "status shows it" "install sqlite3"
    skip "get shows that it is" "install sqlite3"
    skip "as JSON" "install sqlite3"
fi
done_testing
