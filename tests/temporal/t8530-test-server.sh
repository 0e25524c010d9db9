#!/bin/bash
# t8530-test-server.sh - Temporal's in-memory test server (Java) as a second one.
#
# Owns: what a Python worker plays there, which the C functions replay; the list of scenes that this
# server can play. make check plays a few. It is another program than the real server, and keeps to
# fewer rules. Not played, since it
#   writes references to the start of an activity that are wrong (history/validate.h, H6):
#     activity-parallel activity-cancel-try activity-cancel-wait timeout-start-to-close
#     timeout-schedule-to-close timeout-schedule-to-start continue-as-new
#   ends a run that is retried as continued as new, not as failed: run-retry child-retry
#   writes no workflow id into the first event: child-exists
#   does not know, or end: search-attributes external-not-found parent-close-terminate
#     cron schedule reset start-delay terminate-existing
# Timeout: 60 s
. "$abs_top_srcdir/tests/lib/tap.sh"
. "$abs_top_srcdir/tests/lib/temporal.sh"
temporal_needs_python
temporal_needs_test_server
place=$(mktemp -d) || exit 1
trap 'rm -rf "$place"' EXIT
names=(activity-sequence activity-retry timer signal update child-complete)
if [ "${CHECK_TEMPORAL:-}" = 1 ]; then
    names+=(cancel-cleanup activity-failure run-failure run-failure-cause timeout-heartbeat
        activity-heartbeat activity-final activity-async local-activity local-retry coroutine
        signal-handler wait-condition channel update-async query run-timeout
        signal-with-start patch patch-deprecated large-payload child-fail child-signal
        external-signal external-cancel)
fi

temporal_test_server "$place/server"
tap_result $? "a test server comes up"
mkdir "$place/histories"
cd "$abs_top_srcdir/tests/equivalence/python" || exit 1
ok "the scenes are played" env PYTHONDONTWRITEBYTECODE=1 "$temporal_python" play.py \
    "$TEMPORAL_ADDRESS" default "$place/histories" "${names[@]}"
verdicts=$("$abs_top_builddir/tests/scenario/scenarios" --judge "$place/histories" 2>&1)
none "the C functions replay them, the changed ones do not" "$(grep -A 8 '^not ok' <<<"$verdicts")"
is "every one was judged" "$(grep -c '^ok' <<<"$verdicts")" $((2 * ${#names[@]}))
done_testing
