#!/bin/bash
# t0270-purge.sh - factory purge: the plan, doing it, what stays, and the engine that does it alone.
. "$abs_top_srcdir/tests/lib/cli.sh"
needs_sandbox
make_repository
make_config

run greeter --run-id one
run greeter --run-id two
"$factory" purge 2>err
is "no limit anywhere: 2" "$?" 2
like "and what to say" "$(cat err)" 'say which closed runs may go: --older-than 30d, --keep 1000'
"$factory" purge --keep 0 2>err
is "keeping none is not a number to keep: 2" "$?" 2
"$factory" purge --older-than soon 2>err
is "a time that is none: 2" "$?" 2

plan=$("$factory" purge --keep 1)
is "a plan: 0" "$?" 0
like "says what would go" "$plan" \
    '^would remove 1 closed run: [0-9]+ events, [0-9.]+ KiB of history'
like "and that nothing was done" "$plan" 'this is the plan; --apply carries it out'
ok "nothing was" "$factory" history one
like "as JSON" "$("$factory" purge --keep 1 --json | tr -d '\n')" \
    '"schema": 1,.*"applied": false,.*"keep_runs": 1,.*"runs": 1,'
ok "lines fit" test "$(COLUMNS=60 "$factory" purge --keep 1 | LC_ALL=C.UTF-8 wc -L)" -le 60

done=$("$factory" purge --keep 1 --apply)
is "applied: 0" "$?" 0
like "says what went" "$done" \
    '^removed 1 closed run: [0-9]+ events.*the file has become .* smaller'
"$factory" history one >out 2>err
is "its history is gone" "$?" 4
like "and says where to look" "$(cat err)" \
    'no history of one any more; factory describe run one shows'
like "the run is still described" "$("$factory" describe run one)" 'Result +SUCCEEDED'
ok "its evidence is there" test -s "$(find . -path '*one*' -name run.json | head -1)"
ok "the other is whole" "$factory" history two
like "nothing more to go" "$("$factory" purge --keep 1 --apply)" '^removed 0 closed runs'

# The engine does it by itself, when the configuration says so.
sed -i 's/^\[engine\]/[engine]\nkeep_runs_max = 1/' factory.ini
sleep 1 # the engine of before leaves after half of that
run greeter --run-id three
ok "the configuration's limit is enough" "$factory" purge
is_gone() {
    for _ in $(seq 100); do
        "$factory" history "$1" >/dev/null 2>&1 || return 0
        sleep 0.1
    done
    return 1
}
ok "an engine removed the older one" is_gone two
ok "and not the newest" "$factory" history three
no_process_left
done_testing
