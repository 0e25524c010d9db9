#!/bin/bash
# t8300-activities.sh - activities on a real server: test_activities.c, test_async.c and
# test_pending.c, case by case.
#
# Timeout: 120 s. make check plays some of the cases, make check-temporal all, and restarts the
# server, too.
. "$abs_top_srcdir/tests/lib/tap.sh"
. "$abs_top_srcdir/tests/lib/temporal.sh"
programs=$abs_top_builddir/tests/temporal
[ -x "$programs/test_async" ] ||
    skip_all "install libgrpc-dev, libprotobuf-c-dev and libcriterion-dev"
temporal_needs
place=$(mktemp -d) || exit 1
trap 'rm -rf "$place"' EXIT

# cases SUITE [PATTERN]: runs them, and tells how each went.
cases() {
    local line name
    "$programs/test_$1" --tap="$place/tap" -j4 --filter="$1/${2:-*}" >"$place/out" 2>&1
    while IFS= read -r line; do
        name=${line#*- "$1"::}
        name=${name%% *}
        case $line in
            "ok "*"# SKIP"*) ;; # not its turn
            "ok "*) tap_result 0 "$name" ;;
            "not ok "*) tap_result 1 "$name" ;;
        esac
    done <"$place/tap"
    grep -q '^not ok' "$place/tap" && sed 's/^/# /' "$place/out"
}

temporal_server "$place/server"
tap_result $? "a server comes up"
cases async
cases pending
if [ -z "${CHECK_TEMPORAL:-}" ]; then
    cases activities '{a_result,retries,start_to_close,heartbeat_and_*,a_cancel_request_*}'
    done_testing
    exit
fi
cases activities

export TEST_RESTART_FILE=$place/restart HAND_ONLY=restart
cases activities >"$place/restart.tap" &
case=$!
while [ ! -e "$TEST_RESTART_FILE" ] && kill -0 $case 2>/dev/null; do sleep 0.1; done
sleep 0.3
temporal_stop KILL
sleep 0.5
temporal_launch "$temporal_port"
tap_result $? "the server is restarted"
rm -f "$TEST_RESTART_FILE"
wait $case
like "and nothing is lost" "$(cat "$place/restart.tap")" '^ok '
done_testing
