#!/bin/bash
# run-model.sh - a sample of `make model`: the engine answers as both oracles do, every promised
# answer is reached, and an oracle with a wrong rule is found out.
. "$abs_top_srcdir/tests/lib/tap.sh"
ops=6000
case ${CHECK_LONG-} in 1) ops=100000 ;; esac
cd "$(mktemp -d)" || exit 1

for name in model desk; do
    model=$abs_top_builddir/tests/model/$name
    ok "$name, $ops operations: every answer is the oracle's, and all are reached" "$model" "$ops"
    for plant in 1 2 3; do
        "$model" 6000 1 "$plant" >out 2>err
        is "$name: an oracle with wrong rule $plant is found out" "$?" 1
        like "and where" "$(cat out)" 'DIFFERENT at operation [0-9]+ of seed [0-9]+, '
    done
    "$model" none >out 2>err
    is "$name, no number of operations: 2" "$?" 2
done
ok "what differs is shrunk" bash -c '"$1" "$2" 1 3 >out' - \
    "$abs_top_srcdir/tests/model/shrink" "$abs_top_builddir/tests/model/model"
like "to the operations that matter" "$(cat out)" \
    '^[0-9]+: (start|signal-with-start) .*DIFFERENT at operation 14 of seed 1'
ok "in few lines" test "$(wc -l <out)" -lt 10
done_testing
