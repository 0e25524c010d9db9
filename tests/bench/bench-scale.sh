#!/bin/bash
# bench-scale.sh - commands that look, beside a store with a million runs.
#
#   store_runs, store_events, store_mib, store_made_s   the store (make-store.c)
#   program_mib        the program, stripped
#   get_runs_ms, status_ms, describe_ms, engine_list_ms, version_ms   whole processes, medians of 20
# Usage: bench-scale.sh, in an empty directory on the disk in question; FACTORY names the program.
# BENCH_RUNS (1000000) runs of BENCH_EVENTS (20) events: 10 GiB of disk while it runs.
set -eu
: "${FACTORY:?}" "${abs_top_srcdir:?}" "${abs_top_builddir:?}"
rounds=20
cp -r "$abs_top_srcdir/contrib/examples/greeting" repo
chmod -R u+w repo
git -C repo init -q -b main
git -C repo add -A
git -C repo -c user.email=b@example.org -c user.name=b commit -qm one
cat >scale.ini <<END
[storage]
data_dir = $PWD/data
[engine]
idle_exit = 100ms
[harnesses.editor]
type = generic
executable = /bin/sh
args = ["-c", "sed -i 's/^#define GREETING .*/#define GREETING \"bench\"/' greet.c"]
[verification.default]
[verification.default.build]
argv = ["./build.sh"]
END
"$FACTORY" --config scale.ini run --local-path repo --rev main --task edit --run-id first \
    >first.log 2>&1
sleep 1
"$abs_top_builddir/tests/bench/make-store" data/factory.db "${BENCH_RUNS:-1000000}" \
    "${BENCH_EVENTS:-20}"

# measure NAME COMMAND...: median milliseconds of the process; the first call warms up.
measure() {
    local name=$1 start i
    shift
    "$FACTORY" --config scale.ini "$@" >/dev/null
    for ((i = 0; i < rounds; i++)); do
        start=${EPOCHREALTIME/./}
        "$FACTORY" --config scale.ini "$@" >/dev/null
        echo $((${EPOCHREALTIME/./} - start))
    done | sort -n | awk -v name="$name" \
        '{ t[NR] = $1 } END { printf "figure %s %.1f ms\n", name, t[int((NR + 1) / 2)] / 1000 }'
}
strip -o program "$FACTORY" 2>/dev/null || cp "$FACTORY" program
awk -v bytes="$(stat -c %s program)" \
    'BEGIN { printf "figure program_mib %.2f MiB\n", bytes / 1048576 }'
measure version_ms version
measure get_runs_ms get runs
measure status_ms status first
measure describe_ms describe run first
measure engine_list_ms engine list
