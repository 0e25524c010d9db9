#!/bin/bash
# t0735-parked.sh - two builds of a workflow: the one that does not fit parks the run, and that run
# alone; it goes on when the code is mended. tests/lib/parked.c is the workflow.
. "$abs_top_srcdir/tests/lib/embedder.sh"
factory=${FACTORY:?run this through make check}
parked=$abs_top_srcdir/tests/lib/parked.c

ok "as it was builds" embedder "$parked" was -DBUILD=1
ok "changed builds" embedder "$parked" changed -DBUILD=2
ok "mended builds" embedder "$parked" mended -DBUILD=3
engine() { "$factory" engine "$@" --db e.db; }

# Two runs of the first build wait for their word.
ok "a run" ./was e.db start old
ok "another" ./was e.db start older
ok "the first waits" ./was e.db serve old waits
ok "so does the second" ./was e.db serve older waits
is "its own code fits" "$(./was e.db replay old)" DUR_OK

# The changed build: told beforehand, and parked when it is started all the same.
out=$(./changed e.db replay old)
is "the changed code does not fit: status 1" "$?" 1
like "two columns" "$out" 'the history has +\| the code asks for'
like "recorded and asked" "$out" 'ACTIVITY_TASK_SCHEDULED .*\| schedule activity .*"Charge"'
like "what it asks" "$out" '"CheckStock"'
like "where" "$out" 'parked[.]c:[0-9]+'
like "what to do" "$out" 'What to do: nothing is lost'
ok "its word comes" ./changed e.db signal old
log=$(./changed e.db serve old parked 2>&1)
is "it is parked" "$?" 0
like "the log says so" "$log" 'run old .*parked'
like "listed as parked" "$(engine list)" 'old +Order +Parked'
like "described with the report" "$(engine describe old)" 'parked.*history has +\| the code asks'
like "as JSON" "$(engine describe old --json)" '"parked": "The history'
ok "a new run" ./changed e.db start new
ok "its word" ./changed e.db signal new
ok "goes its way meanwhile" ./changed e.db serve new closed 2>/dev/null
is "to its result" "$(./changed e.db result new)" '"parcel"'
like "the other waits" "$(engine list)" 'old +Order +Parked'

# Mended: the same store, the same run.
is "the mended code fits the old history" "$(./mended e.db replay old)" DUR_OK
ok "it goes on where it stood" ./mended e.db serve old closed
is "to its result" "$(./mended e.db result old)" '"parcel"'
like "it is complete" "$(engine describe old)" 'status +Completed'
not_ok "nothing is parked" grep -q Parked <<<"$(engine list)"
ok "the second one too" ./mended e.db signal older
ok "goes to its end" ./mended e.db serve older closed
is "with its result" "$(./mended e.db result older)" '"parcel"'
done_testing
