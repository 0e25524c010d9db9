#!/bin/bash
# t0260-selftest.sh - factory selftest: probe, table, verdict, JSON; nothing is left behind.
#
# Timeout: 120 s
. "$abs_top_srcdir/tests/lib/tap.sh"
cd "$(mktemp -d)" || exit 1
unset FACTORY_CONFIG FACTORY_DATA_DIR

out=$("$FACTORY" selftest --power-loss --time 4s 2>&1)
status=$?
is "it passes" "$status" 0
like "the disk" "$out" 'disk       [a-z0-9]+, [0-9.]+ [KMGT]iB free'
like "latencies" "$out" 'overwrite  p50 [0-9.]+ (µs|ms), p99 [0-9.]+ (µs|ms), max '
like "commits" "$out" '[0-9]+ a second, one after the other'
like "the table" "$out" 'fault               points lost corrupt broken differs stuck'
like "the power cut has its rows" "$out" 'power cut, half lost +[0-9]+ +0 +0 +0 +0 +0'
like "the verdict is the last line" "$(tail -1 <<<"$out")" \
    '^SELFTEST: PASSED  .*: [0-9]+ of [0-9]+ points, 0 lost, 0 corrupt; fsync p50 [0-9.]+ ms$'
is "no line of the table is wider than 60" \
    "$(sed -n '/^fault/,/^all/p' <<<"$out" | awk 'length > 60')" ""
is "nothing is left" "$(ls -A)" ""

# Ctrl-C: in the middle of the sweep, and the directory goes all the same.
mkdir here
set -m # a job of its own, which SIGINT reaches
"$FACTORY" selftest --full --json --dir here >stopped.json 2>err &
pid=$!
for _ in $(seq 100); do
    [ -n "$(find here -name 'shard-*' 2>/dev/null)" ] && break
    sleep 0.1
done
kill -INT "$pid"
wait "$pid"
is "stopped: 130" "$?" 130
set +m
like "and says so" "$(cat stopped.json)" '"passed": false,.*"stopped": true'
is "and takes its directory with it" "$(ls -A here)" ""

# What is not there, and what is not understood.
"$FACTORY" selftest --dir nowhere 2>err
is "no such directory: 4" "$?" 4
like "which is named" "$(cat err)" 'there is no directory nowhere'
"$FACTORY" selftest --seed x 2>err
is "a seed that is none: 2" "$?" 2
"$FACTORY" selftest --time soon 2>err
is "a time that is none: 2" "$?" 2
"$FACTORY" selftest surplus 2>err
is "words: 2" "$?" 2
if [ "$(id -u)" != 0 ]; then
    mkdir closed && chmod 500 closed
    "$FACTORY" selftest --dir closed 2>err
    is "a directory without the right to write: 1" "$?" 1
else
    skip "a directory without the right to write: 1" "an ordinary user"
fi
done_testing
