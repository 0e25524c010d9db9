#!/bin/bash
# t8620-factory-moves.sh - a site moves from a file to a server and keeps what it had; engine verbs
# on any server; payloads under a key. make check-temporal runs it. Timeout: 200 s
. "$abs_top_srcdir/tests/lib/tap.sh"
[ "${CHECK_TEMPORAL:-}" = 1 ] || skip_all "make check-temporal runs it"
. "$abs_top_srcdir/tests/lib/factory_server.sh"
on_server
cp factory.ini server.ini
sed -e '/^kind = /d' -e '/^host_port = /d' server.ini >factory.ini

# Before: runs in the file.
ok "a run in the file" "$factory" run --local-path greeting --rev main --agent greeter \
    --task Greet --run-id before
ok "one that is open" start slow --run-id open
cp factory.ini file.ini
cp server.ini factory.ini
like "doctor: it was left behind" "$("$factory" doctor --offline)" 'D-054 .*1 run is open in'
like "its sandbox is nobody's orphan" "$("$factory" sandboxes)" 'unknown .* open'
none "and not cleaned up" "$("$factory" sandboxes cleanup --yes | grep destroyed)"
"$factory" --config file.ini cancel open --wait >/dev/null
is "the file's own configuration ends it" "$?" 16
unlike "doctor: no more" "$("$factory" doctor --offline)" 'D-054'

# After: the ledger and the evidence are where they were.
like "status knows the old run" "$("$factory" status before)" 'FACTORY RESULT: SUCCEEDED'
like "and its patch" "$("$factory" status before)" 'runs/before/changes.patch'
like "describe, too" "$("$factory" describe run before)" 'Result +SUCCEEDED.*Sandboxes.*Artifacts'
ok "and its log" "$factory" logs before
like "cancel says that it is over" "$("$factory" cancel before)" 'before is over already: SUCCEEDED'
like "its history is in the file" "$("$factory" history before --db .factory/factory.db 2>&1 ||
    "$factory" history factory-run-before --db .factory/factory.db)" 'WorkflowExecutionCompleted'
ok "an exported history" "$factory" history export factory-run-before --db .factory/factory.db \
    -o before.json
if find_temporal_python; then
    like "opens in Temporal's tools" "$("$temporal_python" -c '
import sys
from temporalio.client import WorkflowHistory
history = WorkflowHistory.from_json("factory-run-before", open("before.json").read())
print(len(history.events), "events")' 2>&1)" '^[1-9][0-9]+ events$'
else
    skip "opens in Temporal's tools" "install temporalio (PyPI), or run make temporal-tools"
fi
"$factory" run --local-path greeting --rev main --agent greeter --task x --run-id before >out 2>err
is "an id that was used is refused: INVALID_REQUEST" "$?" 3
like "by the ledger" "$(cat out)" 'run before was executed before; its evidence is kept'
ok "a run on the server" "$factory" run --local-path greeting --rev main --agent greeter \
    --task Greet --run-id after
like "upgrade is of files" "$("$factory" upgrade --check 2>&1)" 'runs are on the server'
like "import is of files" "$("$factory" history import before.json 2>&1)" 'server|store'
like "schedules are of files" "$("$factory" engine schedule list 2>&1)" 'server|store'

# Any server, any workflow.
at=(--address "$TEMPORAL_ADDRESS")
like "start there" "$("$factory" engine start Order order-1 --input '{"cents":1}' \
    --memo '{"who":"ana"}' "${at[@]}")" 'order-1: started, run [0-9a-f-]{36}'
like "Temporal's CLI sees it" "$(cluster workflow describe --workflow-id order-1)" 'Order'
like "signal" "$("$factory" engine signal order-1 paid '{"by":"card"}' "${at[@]}")" 'paid sent'
like "describe" "$("$factory" engine describe order-1 "${at[@]}")" 'status +Running.*"who":"ana"'
like "history" "$("$factory" history order-1 "${at[@]}")" 'WorkflowExecutionSignaled +paid'
like "an id in use" "$("$factory" engine start Order order-1 "${at[@]}" 2>&1)" 'order-1'
like "cancel" "$("$factory" engine cancel order-1 "${at[@]}")" 'cancel requested'
like "terminate" "$("$factory" engine terminate order-1 --reason over "${at[@]}")" 'terminated'
err=$("$factory" engine list "${at[@]}" --namespace nowhere 2>&1)
is "no such namespace: status 4" "$?" 4
like "it is named" "$err" 'nowhere'

# Under a key nothing of a task is readable there.
printf '{"active":"k1","keys":{"k1":"%s"}}' "$(head -c 32 /dev/urandom | base64)" >keys.json
chmod 600 keys.json
ok "the worker leaves, which knows no key" worker_leaves
sed -i 's/^\[engine\]/[engine]\npayload_keyring = keys.json/' factory.ini
ok "a run under a key" "$factory" run --local-path greeting --rev main --agent greeter \
    --task 'Word-that-is-nowhere-else' --run-id sealed
like "its result is read here" "$("$factory" status sealed --json)" '"factory_result": "SUCCEEDED"'
like "and its steps" "$("$factory" history sealed)" 'ActivityTaskCompleted +RunAgent'
shown=$(cluster workflow show --workflow-id factory-run-sealed --output json)
like "there it is sealed" "$shown" '"encryption-key-id"'
none "and the task is not in the server's file" "$(grep -lra 'Word-that-is-nowhere-else' server)"
unlike "nor, packed, in the history" "$(grep -oE '"data": *"[A-Za-z0-9+/=]+"' <<<"$shown" |
    cut -d'"' -f4 | while read -r data; do base64 -d <<<"$data"; done | tr -d '\0')" 'nowhere-else'
"$factory" run --local-path greeting --rev main --agent idle --task Greet >/dev/null 2>&1
is "a failure under a key" "$?" 10
worker_leaves
temporal_stop
no_process_left
done_testing
