#!/bin/bash
# t0610-run-outcomes.sh - every way in which a run can end, and what is recorded of it.
#
# Owns: results, exit statuses and the facts behind them. All runs share one engine.
# Timeout: 170 s
. "$abs_top_srcdir/tests/lib/tap.sh"
. "$abs_top_srcdir/tests/lib/e2e.sh"

agent fine <<'S'
read -r task
echo "working on: $task"
echo "a note" >&2
sed -i 's/world/factory/' greet.txt
S
agent wrong <<'S'
echo bonjour >greet.txt
S
agent failing <<'S'
echo half >half.txt
echo "I give up"
exit 3
S
agent slow <<'S'
echo "begun"
echo late >>greet.txt
sleep 31337.25 &
setsid sh -c 'trap "" TERM; sleep 31337.25; sleep 31337.25' &
sleep 31337.25
S
agent blocked <<'S'
echo '{"reason": "no such file", "detail": "greet.c is not here"}' >/workspace/.factory/blocked.json
S
agent blockedone <<'S'
echo '{"reason": "cannot"}' >/workspace/.factory/blocked.json
exit 1
S
agent blockedraw <<'S'
echo 'not JSON at all' >/workspace/.factory/blocked.json
S
agent blockedbig <<'S'
head -c 200000 /dev/zero | tr '\0' x >/workspace/.factory/blocked.json
S
agent blockeddir <<'S'
mkdir /workspace/.factory/blocked.json
S
agent tamper <<'S'
echo '#!/bin/sh' >test.sh
S
agent tamperfail <<'S'
echo 'exit 0' >>build.sh
exit 9
S
agent tamperblocked <<'S'
chmod -x test.sh
echo '{"reason": "cannot"}' >/workspace/.factory/blocked.json
S
agent tamperslow <<'S'
rm test.sh
echo "tampered"
sleep 31337.25
S

for name in fine wrong failing blocked blockedone blockedraw blockedbig blockeddir tamper \
    tamperfail tamperblocked \
    tamperslow; do
    config "$name"
done
config slow <<'I'
[limits]
agent_timeout = 3s
I
config total slow <<'I'
[limits]
agent_timeout = 6s
verification_timeout = 1s
total_timeout = 6s
I
config cancelagent slow
gates='[verification.default.build]
argv = ["./build.sh"]'
config allowed tamper <<'I'
[verification.default]
allow_gate_changes = true
[verification.default.build]
argv = ["./build.sh"]
[verification.default.test]
argv = ["./test.sh"]
I
config advisory fine <<I
[verification.default]
[verification.default.style]
argv = ["/bin/false"]
mandatory = false
$gates
I
config stopfirst fine <<I
[verification.default]
stop_on_failure = true
[verification.default.first]
argv = ["/bin/sh", "-c", "echo no >&2; exit 4"]
$gates
I
config missing fine <<I
[verification.default]
[verification.default.absent]
argv = ["/usr/bin/no-such-program"]
[verification.default.elsewhere]
argv = ["./build.sh"]
dir = "no/such/directory"
$gates
I
config gatetime fine <<I
[verification.default]
[verification.default.slow]
argv = ["/bin/sh", "-c", "echo begun; sleep 31337.5"]
timeout = 2s
$gates
I
config alltime fine <<I
[limits]
verification_timeout = 700ms
[verification.default]
[verification.default.slow]
argv = ["/bin/sh", "-c", "sleep 31337.5"]
$gates
I
config cancelgate fine <<I
[verification.default]
$gates
[verification.default.slow]
argv = ["/bin/sh", "-c", "echo begun; sleep 31337.5"]
[verification.default.never]
argv = ["/bin/true"]
I

serve fine.ini
for name in slow cancelagent cancelgate tamperslow gatetime alltime fine wrong failing; do
    launch "$name"
done
logged() {
    grep -q "$2" "data/runs/$1"
}
cancel() {
    wait_for 60 logged "$2" "$3"
    is "$1: the cancel is taken" "$("$FACTORY" --config fine.ini cancel "$1" >/dev/null; echo $?)" 0
}
cancel cancelagent cancelagent/agent/stdout.log begun
cancel tamperslow tamperslow/agent/stdout.log tampered
cancel cancelgate cancelgate/verification/slow.stdout begun
settle
for name in blocked blockedone blockedraw blockedbig blockeddir tamper tamperfail tamperblocked \
    allowed advisory \
    stopfirst missing; do
    launch "$name"
done
launch total
settle

verdict fine SUCCEEDED 0
like "fine: the result is the last word" "$(cat fine.out)" 'FACTORY RESULT: +SUCCEEDED'
for key in agent_result verification_result cleanup_result; do
    is "fine: $key" "$(fact fine "$.$key")" SUCCESS
done
is "fine: the agent got its task on standard input" "$(head -n 1 data/runs/fine/agent/stdout.log)" \
    "working on: Do fine"
is "fine: its standard error is apart" "$(cat data/runs/fine/agent/stderr.log)" "a note"
is "fine: the gates' output" "$(cat data/runs/fine/verification/{build,test}.stdout)" \
    $'built\ntest: fine'
is "fine: nothing drifted" "$(fact fine '$.verification_mutated_tree')" 0

verdict wrong VERIFICATION_FAILED 10
is "wrong: the agent itself succeeded" "$(fact wrong '$.agent_result')" SUCCESS
is "wrong: all gates ran" "$(fact wrong '$.gates[0].passed')$(fact wrong '$.gates[1].passed')" 10
is "wrong: the exit status of the gate" "$(fact wrong '$.gates[1].exit_code')" 1
like "wrong: the gate is named" "$(fact wrong '$.error')" 'test'
ok "wrong: its patch is kept" grep -q '^+bonjour' data/runs/wrong/changes.patch

verdict failing AGENT_FAILED 11
is "failing: exit status" "$(fact failing '$.agent_exit_code')" 3
is "failing: no gate was tried" "$(fact failing '$.verification_result')" SKIPPED
ok "failing: what it changed is kept" grep -q '^+half' data/runs/failing/changes.patch

verdict slow AGENT_FAILED 11
is "slow: out of time" "$(fact slow '$.agent_result')" TIMED_OUT
is "slow: what it had printed is kept" "$(cat data/runs/slow/agent/stdout.log)" begun
ok "slow: what it had changed is kept" grep -q '^+late' data/runs/slow/changes.patch

verdict total INFRASTRUCTURE_FAILED 15
like "total: said so" "$(fact total '$.error')" "total time-out passed during agent"
is "total: the fact" "$(fact total '$.total_timed_out')" 1
is "total: what it had printed is kept" "$(cat data/runs/total/agent/stdout.log)" begun
ok "total: what it had changed is kept" grep -q '^+late' data/runs/total/changes.patch

verdict cancelagent CANCELLED 16
is "cancelled agent: the fact" "$(fact cancelagent '$.agent_result')" CANCELLED
is "cancelled agent: what it had printed is kept" "$(cat data/runs/cancelagent/agent/stdout.log)" \
    begun
ok "cancelled agent: what it had changed is kept" grep -q '^+late' \
    data/runs/cancelagent/changes.patch
is "cancelled agent: its sandbox is gone" "$(fact cancelagent '$.cleanup.remaining_sandboxes')" 0
verdict cancelgate CANCELLED 16
is "cancelled gate: the fact" "$(fact cancelgate '$.verification_result')" CANCELLED
is "cancelled gate: the gate before it is recorded" "$(fact cancelgate '$.gates[0].passed')" 1
is "cancelled gate: and so is it" "$(fact cancelgate '$.gates[1].error')" cancelled
is "cancelled gate: none came behind it" "$(fact cancelgate '$.gates[2]')" ""
is "cancelled gate: what it had printed is kept" \
    "$(cat data/runs/cancelgate/verification/slow.stdout)" begun
verdict tamperslow GATE_TAMPERED 12
is "tampered, then cancelled: both are facts" "$(fact tamperslow '$.cancelled')" 1

for name in blocked blockedone blockedraw blockedbig blockeddir; do
    verdict "$name" BLOCKED 13
    is "$name: no gate was tried" "$(fact "$name" '$.verification_result')" SKIPPED
done
is "blocked: the reason" "$(fact blocked '$.agent.blocked_reason')" "no such file"
is "blocked: the detail" "$(fact blocked '$.agent.blocked_detail')" "greet.c is not here"
like "blocked, but unreadable: said so" "$(fact blockedbig '$.agent.blocked_reason')" \
    'cannot be read'
ok "blocked: the file is evidence" test -s data/runs/blocked/agent/blocked.json
is "blocked with status 1: the status is kept" "$(fact blockedone '$.agent_exit_code')" 1
is "blocked without JSON: the file is kept as it is" \
    "$(cat data/runs/blockedraw/agent/blocked.json.raw)" \
    "not JSON at all"

for name in tamper tamperfail tamperblocked; do
    verdict "$name" GATE_TAMPERED 12
    is "$name: no gate was tried" "$(fact "$name" '$.verification_result')" SKIPPED
done
is "tamper: the path is named" "$(fact tamper '$.gate_integrity.changes[0].path')" test.sh
is "tamper: agent's own result stays" "$(fact tamperfail '$.agent_exit_code')" 9
like "tamper: a mode counts too" "$(fact tamperblocked '$.gate_integrity.changes[0].path')" test.sh

verdict allowed SUCCEEDED 0
ok "allowed: the changed gate is in the patch" grep -q 'a/test.sh' data/runs/allowed/changes.patch
is "allowed: and recorded" "$(fact allowed '$.gate_integrity.changes[0].path')" test.sh
is "allowed: not claimed to be unmodified" \
    "$(sql "SELECT reason FROM conditions WHERE run_id = 'allowed' AND type = 'GateIntegrity'")" \
    ChangesAllowed

verdict advisory SUCCEEDED 0
is "advisory: its failure is recorded" \
    "$(fact advisory '$.gates[0].passed')$(fact advisory '$.gates[0].mandatory')" 00
verdict stopfirst VERIFICATION_FAILED 10
is "stop_on_failure: the first gate's status" "$(fact stopfirst '$.gates[0].exit_code')" 4
is "stop_on_failure: the second was not started" "$(fact stopfirst '$.gates[1].started')" 0
verdict missing VERIFICATION_FAILED 10
is "missing program: status 127" "$(fact missing '$.gates[0].exit_code')" 127
is "missing directory: not passed" "$(fact missing '$.gates[1].passed')" 0
is "the gate behind them ran" "$(fact missing '$.gates[2].passed')" 1
verdict gatetime VERIFICATION_FAILED 10
is "gate out of time: said so" "$(fact gatetime '$.gates[0].timed_out')" 1
is "gate out of time: what it had printed is kept" \
    "$(cat data/runs/gatetime/verification/slow.stdout)" begun
is "the gate behind it ran" "$(fact gatetime '$.gates[1].passed')" 1
verdict alltime VERIFICATION_FAILED 10
is "all gates' time: the first ran out of it" "$(fact alltime '$.gates[0].timed_out')" 1
is "all gates' time: the second was not started" "$(fact alltime '$.gates[1].error')" \
    "not started: verification timeout"
ok "all gates' time: result.json says the same" \
    grep -q "not started: verification timeout" data/runs/alltime/verification/result.json

none "no process of any of them is left" "$(pgrep -af '31337' | grep -v pgrep)"
is "no sandbox is left" "$(ls data/sandboxes 2>/dev/null)" ""
is "no scratch space is left" "$(ls data/work)" ""
is "every run is final in the ledger" \
    "$(sql "SELECT count(*) FROM factory_run WHERE state = 'RUNNING'")" 0
done_testing
