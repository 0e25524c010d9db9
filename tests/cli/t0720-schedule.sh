#!/bin/bash
# t0720-schedule.sh - factory engine schedule: set, look, tell, preview, on a store without runs.
. "$abs_top_srcdir/tests/lib/cli.sh"
schedule() { "$factory" engine schedule "$@"; }

# --- preview needs no store --------------------------------------------------------------------
is "times of a rule" "$(schedule preview --cron "30 3 * * *; 0 4 1 * *" -n 3 \
    --start 2026-12-31T00:00:00Z | cut -c1-29 | tr '\n' ' ')" \
    "Thu 2026-12-31T03:30:00+00:00 Fri 2027-01-01T03:30:00+00:00 Fri 2027-01-01T04:00:00+00:00 "
like "exceptions" "$(schedule preview --every 1h/10m --except "* 0-5 * * *" -n 1 \
    --start 2026-01-01T00:00:00Z)" '2026-01-01T06:10:00Z'
if [ -d /usr/share/zoneinfo/Europe ]; then
    like "the skipped hour" "$(schedule preview --cron "30 2 * * *" --zone Europe/Berlin -n 1 \
        --start 2026-03-29T00:00:00Z)" '03:00:00\+02:00 CEST  2026-03-29T01:00:00Z  skipped hour'
    out=$(schedule preview --cron "30 * * * *" --zone Europe/Berlin -n 2 --json \
        --start 2026-10-25T00:00:00Z)
    like "the repeated hour" "$out" '"edge": "repeated-first".*"edge": "repeated-second"'
else
    skip "the skipped hour" "install tzdata"
    skip "the repeated hour" "install tzdata"
fi
schedule preview --cron "61 * * * *" 2>err.txt
is "a rule that is none: status 2" "$?" 2
like "says where" "$(cat err.txt)" 'column 1: minute is a number from 0 to 59'
schedule preview --every 1x 2>err.txt
is "a duration that is none: status 2" "$?" 2
not_ok "no such action" schedule prevew
like "names the nearest" "$(schedule prevew 2>&1)" 'did you mean preview'
is "nothing is due" "$(schedule preview --cron "0 0 1 1 * 2026" --start 2027-01-01T00:00:00Z)" \
    "nothing is due"

# --- a store -----------------------------------------------------------------------------------
make_config
"$factory" worker --idle-exit 1ms 2>/dev/null
is "no schedules" "$(schedule list)" "no schedules"
is "set" "$(schedule set nightly --type Clean --cron "30 2 * * *" --input '{"a":1}' \
    --overlap BufferOne --remaining 7 --note "every night")" "nightly: set"
like "list" "$(schedule list)" 'nightly +Active +20.*T02:30:00Z +0 +0'
like "describe" "$(schedule describe nightly)" 'note +every night.*remaining +7.*"input":\{"a":1\}'
out=$(schedule describe nightly --json)
like "describe as JSON" "$out" '"state": "Active".*"remaining": 7.*"overlap":"BufferOne"'
schedule describe nightly --json | sed -n 's/^ *"definition": //p' >definition.json
is "a definition comes back" "$(schedule set copy --definition definition.json --zone UTC --json |
    sed -n 's/.*"done": //p')" '"copy: set"'
like "and what an option adds" "$(schedule describe copy)" '"timeZone":"UTC".*"input":\{"a":1\}'
like "pause" "$(schedule pause nightly --note holiday)" 'nightly: paused'
like "is seen" "$(schedule list)" 'nightly +Paused'
like "resume" "$(schedule resume nightly)" 'nightly: resumed'
like "trigger" "$(schedule trigger nightly --overlap AllowAll)" 'nightly: triggered'
like "waits for an engine" "$(schedule describe nightly)" '1 waiting'
is "backfill" "$(schedule backfill nightly --start 2026-01-01T00:00:00Z \
    --end 2026-01-03T02:30:00Z)" "nightly: 3 starts"
not_ok "a backfill needs its beginning" schedule backfill nightly
like "SQL sees it" "$("$factory" engine schedule list --json)" '"name": "nightly"'
is "remove" "$(schedule remove copy)" "copy: removed"
schedule remove copy 2>err.txt
is "twice: status 4" "$?" 4
like "no such schedule" "$(cat err.txt)" 'no schedule has the name copy'
schedule set bad --type Clean --cron "0 0 30 2 *" 2>err.txt
is "what never happens: status 2" "$?" 2
like "says so" "$(cat err.txt)" 'never'
schedule set bad --cron "@daily" 2>err.txt
is "no type: status 2" "$?" 2
not_ok "no such policy" schedule set bad --type Clean --cron "@daily" --overlap skip

# --- an engine starts what waits ----------------------------------------------------------------
# The factory knows no workflow Clean: the runs are born and wait for a program that does.
"$factory" worker 2>/dev/null &
worker=$!
for _ in $(seq 200); do
    [ "$("$factory" engine list --json | grep -c '"type": "Clean"')" -ge 1 ] && break
    sleep 0.05
done
kill -TERM $worker && wait $worker
like "runs with the times in their ids" "$("$factory" engine list)" 'nightly-20.*Z +Clean +Running'
like "describe names them" "$(schedule describe nightly)" 'runs +nightly-.*Z  open'
done_testing
