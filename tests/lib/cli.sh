# shellcheck shell=bash disable=SC2034 # the variables are for the script that sources this
# cli.sh - a workshop for tests that run the program: source it instead of tap.sh.
#
# Owns: a directory of its own with a git repository `greeting` and a factory.ini with quick agents,
# the end of the engine that served it, and the look that nothing is left running. Every script that
# starts runs calls `needs_sandbox` first and `no_process_left` before done_testing.
. "$abs_top_srcdir/tests/lib/tap.sh"
factory=${FACTORY:?run this through make check}
workshop=$(mktemp -d) || exit 1
cd "$workshop" || exit 1
workshop=$PWD
unset FACTORY_CONFIG FACTORY_DATA_DIR FACTORY_COLOR CLICOLOR_FORCE COLUMNS NO_COLOR
data=$workshop/.factory

needs_sandbox() {
    needs git git
    needs bwrap bubblewrap
    bwrap --unshare-user --unshare-net --unshare-pid --ro-bind / / true 2>/dev/null ||
        skip_all "this kernel allows no user namespaces here"
}

make_repository() {
    mkdir greeting && (
        cd greeting || exit 1
        echo 'hello' >greet.txt
        printf '#!/bin/sh\necho building\n' >build.sh
        {
            echo '#!/bin/sh'
            echo 'grep -q factory greet.txt && exit 0'
            echo 'echo "FAIL greet: no factory" >&2; exit 1'
        } >test.sh
        chmod +x build.sh test.sh
        git init -q -b main . && git add -A &&
            git -c user.name=t -c user.email=t@example.org commit -qm first
    )
}

make_config() {
    cat >factory.ini <<'END'
[engine]
idle_exit = 500ms
[limits]
worker_concurrency = 1
[harnesses.greeter]
type = generic
executable = /bin/sh
args = ["-c",
    "read t; echo \"working on $t\"; echo noise >&2; echo 'hello factory' > greet.txt; echo done"]
[harnesses.failing]
type = generic
executable = /bin/sh
args = ["-c", "echo cannot; exit 3"]
[harnesses.idle]
type = generic
executable = /bin/sh
args = ["-c", "true"]
[harnesses.slow]
type = generic
executable = /bin/sh
args = ["-c", "i=0; while [ $i -lt 600 ]; do i=$((i+1)); echo \"line $i\"; sleep 0.1; done"]
[harnesses.short]
type = generic
executable = /bin/sh
args = ["-c",
    "for i in $(seq 15); do echo \"line $i\"; sleep 0.1; done; echo 'hello factory' > greet.txt"]
[harnesses.blocked]
type = generic
executable = /bin/sh
args = ["-c", "echo '{\"reason\":\"no idea\"}' > /workspace/.factory/blocked.json"]
[harnesses.tamper]
type = generic
executable = /bin/sh
args = ["-c", "echo 'exit 0' > test.sh"]
[verification.default]
[verification.default.build]
argv = ["./build.sh"]
[verification.default.unit-tests]
argv = ["./test.sh"]
END
}

# run AGENT [OPTION...]: a run that is waited for, output in $out, errors in $err, status in $rc.
run() {
    local agent=$1
    shift
    out=$("$factory" run --local-path greeting --rev main --agent "$agent" --task 'Greet' "$@" \
        2>err.txt)
    rc=$?
    err=$(cat err.txt)
}

# The id of a new run that goes on; its agent is at work when this returns.
start() {
    local agent=$1
    shift
    id=$("$factory" run -d --local-path greeting --rev main --agent "$agent" --task 'Greet' "$@") ||
        return 1
    wait_for "agent, attempt 1" "$factory" status "$id"
}

# wait_for TEXT COMMAND...: until the output holds the text; false after half a minute.
wait_for() {
    local text=$1 i
    shift
    for ((i = 0; i < 300; i++)); do
        [[ $("$@" 2>&1) == *"$text"* ]] && return 0
        sleep 0.1
    done
    return 1
}

engine_pid() {
    "$factory" status --json "$1" | sed -n 's/^    "pid": \([0-9]*\).*/\1/p' | head -1
}

# Processes whose command line or directory is in the workshop, without this script itself.
workshop_processes() {
    local dir pid words
    for dir in /proc/[0-9]*; do
        pid=${dir#/proc/}
        [ "$pid" = $$ ] || [ "$pid" = "$BASHPID" ] && continue
        { words=$(tr '\0' ' ' <"$dir/cmdline"); } 2>/dev/null
        case $words in
        *"$workshop"* | *"${factory##*/} worker"*) ;;
        *) continue ;;
        esac
        [ "$(readlink "$dir/cwd")" = "$workshop" ] || [[ $words == *"$workshop"* ]] || continue
        echo "$pid $words"
    done
}

# Ends what is open and the engine, then looks.
no_process_left() {
    local i left
    for ((i = 0; i < 150; i++)); do
        left=$(workshop_processes)
        [ -z "$left" ] && break
        sleep 0.1
    done
    none "no process is left" "$left"
    none "no sandbox is left" "$(ls "$data/sandboxes" 2>/dev/null)"
}

# Whatever happens, nothing stays.
end_workshop() {
    local pid rest
    workshop_processes | while read -r pid rest; do
        kill -KILL "$pid" 2>/dev/null
    done
}
trap end_workshop EXIT
