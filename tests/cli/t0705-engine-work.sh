#!/bin/bash
# t0705-engine-work.sh - factory engine queues, token, complete: activities whose outcome comes from
# outside. tests/lib/asking.c is the program that waits for it.
. "$abs_top_srcdir/tests/lib/embedder.sh"
factory=${FACTORY:?run this through make check}
ok "the program builds" embedder "$abs_top_srcdir/tests/lib/asking.c" asking
engine() { "$factory" engine "$@" --db e.db; }

ok "a run" ./asking e.db start one
is "nothing is pending yet" "$(engine queues)" "nothing is pending, and no limits are declared"
engine token one 1 2>err.txt
is "no activity yet: status 4" "$?" 4
ok "it asks" ./asking e.db serve
like "its queue" "$(engine queues)" \
    'QUEUE .*AWAITED.*people +0 +0 +0 +1 +3 at once, 50/s, 1 per key'
like "as JSON" "$(engine queues --json)" '"name": "people",.*"per_key": 1,.*"awaited": 1'
token=$(engine token one 1)
like "its token" "$token" '^[0-9a-f-]{36}[.]5[.]1$'
engine complete "$token" '{' 2>err.txt
is "a result that is not JSON: status 2" "$?" 2
engine complete "$token" --cancelled 2>err.txt
is "not asked to stop: status 2" "$?" 2
like "it says so" "$(cat err.txt)" 'was not asked to stop'
engine complete "$token" --cancelled --heartbeat 2>err.txt
is "two outcomes: status 2" "$?" 2
like "a sign of life" "$(engine complete "$token" '{"half":true}' --heartbeat)" 'reported alive'
like "an outcome, as JSON" "$(engine complete "$token" '{"yes":true}' --json)" '"done": "reported'
engine complete "$token" 2>err.txt
is "once is enough: status 1" "$?" 1
like "it says so" "$(cat err.txt)" 'was completed before'
is "the run has it" "$(./asking e.db result one)" '{"yes":true}'
engine complete "$token" 2>err.txt
is "it is over: status 4" "$?" 4
engine complete nonsense 2>err.txt
is "no token: status 2" "$?" 2

ok "another run" ./asking e.db start two
ok "it asks" ./asking e.db serve
first=$(engine token two 1)
like "failed, to be tried again" "$(engine complete "$first" --fail Busy "in a meeting")" 'failed'
ok "it asks again" ./asking e.db serve
second=$(engine token two 1)
like "with another token" "$second" '[.]2$'
engine complete "$first" 2>err.txt
is "the first one is over: status 4" "$?" 4
like "failed for good" "$(engine complete "$second" --fail No "never" --permanent)" 'failed'
is "the run has it" "$(./asking e.db result two)" '{"type":"No","message":"never"}'
done_testing
