#!/bin/bash
# run-killed.sh - one whole run of the factory, its engine killed before and after every commit.
#
# A worker is started with tests/lib/killsync preloaded, which kills it at commit N; then a plain
# one takes over until it is idle. Whatever N is, the run ends with the same result, patch and gates
# as undisturbed; the agent was started once; no sandbox, group or process is left. Also: killed and
# stopped (SIGTERM) while the agent runs and while a gate runs; and the sandbox's own supervisor or
# guest killed under the agent, which must end honestly and cleaned up.
# make check takes a sample of the commits, make check-long (CHECK_LONG=1) all of them.
# Timeout: 240 s
. "$abs_top_srcdir/tests/lib/tap.sh"
needs bwrap bubblewrap
needs git git
needs sqlite3 sqlite3
killsync=$abs_top_builddir/.libs/killsync.so
[ -e "$killsync" ] || skip_all "the preloaded library was not built"
case ${SANITIZE_CFLAGS-} in
*address*) skip_all "AddressSanitizer wants to be preloaded first" ;;
esac

home=$TMPDIR/killed
mkdir -p "$home" && cd "$home" || exit 1
cp -r "$abs_top_srcdir/contrib/examples/greeting" repo && chmod -R u+w repo || exit 1
{
    git -C repo init -q -b main && git -C repo add -A &&
        git -C repo -c user.email=t@example.org -c user.name=t commit -qm one
} || exit 1

cat >agent.sh <<'END'
echo start >>/workspace/.factory/starts
read -r task
sleep "$1"
sed -i 's/^#define GREETING .*/#define GREETING "killed"/' greet.c
echo starts=$(wc -l </workspace/.factory/starts)
END

# A place of its own for each point: configuration and data. The agent takes $1, a gate $2 seconds.
place() {
    rm -rf "$home/data"
    cat >"$home/factory.ini" <<END
[storage]
data_dir = $home/data
[engine]
idle_exit = 200ms
[local]
binds = {"/agent.sh": "$home/agent.sh"}
[harnesses.greeter]
type = generic
executable = /bin/sh
args = ["/agent.sh", "$1"]
[verification.default]
[verification.default.build]
argv = ["./build.sh"]
[verification.default.look]
argv = ["sh", "-c", "sleep $2; grep -q killed greet.c"]
END
}

factory() {
    "$FACTORY" --config "$home/factory.ini" "$@"
}

submit() {
    factory run --local-path "$home/repo" --rev main --task "be killed" --run-id r1 --detach
}

# The worker $1 has the store, or it is dead; a client would start one of its own otherwise.
wait_served() {
    local _
    for _ in $(seq 200); do
        kill -0 "$1" 2>/dev/null || return 0
        [ -z "$(ask 'SELECT 1 FROM engine' 2>/dev/null)" ] || return 0
        sleep 0.02
    done
}

# Serve until nothing is open any more.
finish() {
    timeout 60 "$FACTORY" --config "$home/factory.ini" worker --idle-exit 200ms \
        >>"$home/worker.log" 2>&1
}

ask() {
    sqlite3 "$home/data/factory.db" ".timeout 5000" "$1"
}

field() {
    ask "SELECT json_extract(readfile('$home/data/runs/r1/run.json'), '\$$1')"
}

# Processes that know this place: their command line or their working directory.
strays() {
    local dir
    for dir in /proc/[0-9]*; do
        if tr '\0' ' ' 2>/dev/null <"$dir/cmdline" | grep -qF "$home/" &&
            [ "${dir#/proc/}" != $$ ]; then
            tr '\0' ' ' <"$dir/cmdline"
            echo
        fi
    done 2>/dev/null
}

wait_gone() {
    local _
    for _ in $(seq 50); do
        [ -n "$(strays)" ] || return 0
        sleep 0.1
    done
    strays
    return 1
}

gates() {
    ask "SELECT group_concat(json_extract(g.value, '\$.id') || json_extract(g.value, '\$.passed'))
         FROM json_each(readfile('$home/data/runs/r1/run.json'), '\$.gates') AS g"
}

left() {
    find "$home/data/sandboxes" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l
}

# All that must not depend on when the engine died, on one line.
outcome() {
    echo "$(field .factory_result) patch=$(field .patch_facts.patch_sha256)" \
        "cleanup=$(field .cleanup_result)" \
        "agent=$(cat "$home/data/runs/r1/agent/stdout.log") gates=$(gates)" \
        "agents=$(ask "SELECT count(*) FROM sandboxes WHERE role = 'agent'")" \
        "open=$(ask "SELECT count(*) FROM runs WHERE status = 'Running'") left=$(left)"
}

# Worker with killsync $1, the run submitted meanwhile, then a plain worker.
killed_at() {
    place 0.1 0
    mkdir -p "$home/data"
    LD_PRELOAD=$killsync KILLSYNC=$1 KILLSYNC_COUNT=$home/count "$FACTORY" \
        --config "$home/factory.ini" worker --idle-exit 2s >"$home/worker.log" 2>&1 &
    local pid=$!
    wait_served "$pid"
    submit >/dev/null 2>>"$home/worker.log" || submit >/dev/null 2>>"$home/worker.log"
    wait "$pid" 2>/dev/null
    local status=$?
    # Two runs may differ by a commit, and the last sync may have no write: not always reached.
    if [ "$status" = 0 ] && [ "$(cat "$home/count")" -le "${1#*:}" ]; then
        status=unreached
    fi
    echo "$status" >"$home/status"
    finish
    wait_gone
    outcome
}

undisturbed=$(killed_at count:0)
commits=$(cat "$home/count")
like "the undisturbed run succeeds" "$undisturbed" \
    '^SUCCEEDED patch=[0-9a-f]{64} cleanup=SUCCESS agent=starts=1 gates=build1,look1 agents=1 '
like "... and leaves nothing" "$undisturbed" ' open=0 left=0$'
step=47
[ -z "${CHECK_LONG-}" ] || step=1
for when in write sync after; do
    case $when in write) first=3 ;; sync) first=8 ;; after) first=13 ;; esac
    [ "$step" != 1 ] || first=1
    for ((n = first; n <= commits; n += step)); do
        is "killed at commit $n of $commits ($when)" "$(killed_at "$when:$n")" "$undisturbed"
        like "... it was" "$(cat "$home/status")" '^(137|unreached)$'
    done
done

# --- at the worst moments ------------------------------------------------------------------------

# A plain worker and the run; waits until $1 (a file of the evidence) is there.
begin() {
    mkdir -p "$home/data"
    "$FACTORY" --config "$home/factory.ini" worker --idle-exit 2s >"$home/worker.log" 2>&1 &
    worker=$!
    wait_served "$worker"
    submit >/dev/null 2>>"$home/worker.log"
    local _
    for _ in $(seq 200); do
        [ ! -e "$home/data/runs/r1/$1" ] || break
        sleep 0.05
    done
    sleep 0.3
}

# Worker gets signal $1 once evidence $2 is there; how it ended, then how the run did.
hit_worker() {
    begin "$2"
    kill "-$1" "$worker"
    wait "$worker" 2>/dev/null
    local status=$?
    finish
    wait_gone
    outcome
    echo "worker=$status"
}

place 1 0
is "killed while the agent runs" "$(hit_worker KILL agent/stdout.log)" "$undisturbed
worker=137"
place 1 0
is "stopped while the agent runs" "$(hit_worker TERM agent/stdout.log)" "$undisturbed
worker=0"
place 0 1
is "killed while a gate runs" "$(hit_worker KILL verification/look.stdout)" "$undisturbed
worker=137"
place 0 1
is "stopped while a gate runs" "$(hit_worker TERM verification/look.stdout)" "$undisturbed
worker=0"

# The sandbox's processes: its supervisor, and what descends from it, outermost first.
supervisor() {
    local dir
    for dir in /proc/[0-9]*; do
        if tr '\0' ' ' 2>/dev/null <"$dir/cmdline" |
            grep -qE "sandbox-supervisor $home/data/sandboxes/"; then
            echo "${dir#/proc/}"
            return
        fi
    done 2>/dev/null
}

child_of() {
    awk '{ print $1 }' "/proc/$1/task/$1/children" 2>/dev/null
}

# The process $1 levels below the supervisor is killed under the agent.
hit_sandbox() {
    place 30 0
    begin agent/stdout.log
    local pid level
    pid=$(supervisor)
    for ((level = 0; level < $1; level++)); do
        pid=$(child_of "$pid")
    done
    [ -n "$pid" ] && kill -KILL "$pid"
    wait "$worker" 2>/dev/null
    finish
    wait_gone
    echo "$(field .factory_result) cleanup=$(field .cleanup_result)" \
        "open=$(ask "SELECT count(*) FROM runs WHERE status = 'Running'") left=$(left)"
}

honest='^(INFRASTRUCTURE_FAILED|AGENT_FAILED) cleanup=SUCCESS open=0 left=0$'
like "the supervisor is killed under the agent" "$(hit_sandbox 0)" "$honest"
like "bubblewrap is killed under the agent" "$(hit_sandbox 1)" "$honest"
like "the sandbox's init is killed under the agent" "$(hit_sandbox 2)" "$honest"
like "the guest is killed under the agent" "$(hit_sandbox 3)" "$honest"
done_testing
