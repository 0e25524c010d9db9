#!/bin/bash
# bench-run.sh - what `factory run` costs over the same clone, edit, build and test by hand.
#
#   script_ms          the greeting project by shell script: clone, edit, build.sh, test.sh
#   run_ms             the same as a run of the factory, an engine serving already
#   run_overhead_ms    the second less the first
#   cold_run_ms, cold_run_overhead_ms   the run that starts its engine itself
# Medians of 10, taken in turns. Usage: bench-run.sh, in an empty directory; FACTORY names the
# program.
set -eu
: "${FACTORY:?}" "${abs_top_srcdir:?}"
rounds=10
home=$PWD
cp -r "$abs_top_srcdir/contrib/examples/greeting" repo
chmod -R u+w repo
git -C repo init -q -b main
git -C repo add -A
git -C repo -c user.email=b@example.org -c user.name=b commit -qm one

configure() {
    cat >"$1.ini" <<END
[storage]
data_dir = $home/$1
[engine]
idle_exit = $2
[harnesses.editor]
type = generic
executable = /bin/sh
args = ["-c", "sed -i 's/^#define GREETING .*/#define GREETING \"bench\"/' greet.c"]
[verification.default]
[verification.default.build]
argv = ["./build.sh"]
[verification.default.unit-tests]
argv = ["./test.sh"]
END
}
configure warm 30s
configure cold 100ms

by_hand() {
    rm -rf work
    git clone -q repo work
    (
        cd work
        sed -i 's/^#define GREETING .*/#define GREETING "bench"/' greet.c
        git diff >../changes.patch
        ./build.sh
        ./test.sh
    ) >/dev/null
}

run() {
    "$FACTORY" --config "$1.ini" run --local-path repo --rev main --task edit >"$1.log" 2>&1
}

# Milliseconds that a command takes, appended to the file of its name.
timed() {
    local file=$1 start=${EPOCHREALTIME/./}
    shift
    "$@"
    echo "$(((${EPOCHREALTIME/./} - start) / 1000))" >>"$file.ms"
}

median() {
    sort -n "$1.ms" |
        awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}

run warm
run cold
for ((round = 0; round < rounds; round++)); do
    timed script by_hand
    timed run run warm
    sleep 0.3 # until the cold one's engine has left
    timed cold_run run cold
done
for name in script run cold_run; do
    echo "figure ${name}_ms $(median "$name") ms"
done
for name in run cold_run; do
    more=$(awk "BEGIN { print $(median "$name") - $(median script) }")
    echo "figure ${name}_overhead_ms $more ms"
done
"$FACTORY" --config warm.ini worker --idle-exit 10ms >/dev/null 2>&1 &
pid=$(sqlite3 warm/factory.db 'SELECT pid FROM engine' 2>/dev/null || true)
[ -z "$pid" ] || kill "$pid" 2>/dev/null || true
wait
