# shellcheck shell=bash
# e2e.sh - whole runs for test scripts: a project, agents that are scripts, one engine, many runs
# at once.
#
# Owns: the directory that the script works in ($TMPDIR): project/ (a git repository), agents/
# (visible as /agents inside), data/ (the store), NAME.ini, NAME.out, NAME.err, NAME.status of each
# run. Needs tap.sh.
#   agent NAME <<'SH'              an agent's script, with the task on its standard input
#   config NAME [AGENT] [<<'INI']  NAME.ini: common head, agent AGENT (default NAME), then the text
# given;
#                                  without gates in it: build.sh and test.sh
#   launch NAME [OPTION...]        factory run --run-id NAME with NAME.ini, in the background
#   settle                         waits for all that was launched
#   status_of NAME                 its exit status
#   fact NAME PATH                 of run.json, by SQLite's JSON path
#   sql QUERY                      on the store, read-only
#   verdict NAME STATE STATUS      two cases: state in run.json, exit status
# Tests: every script that uses it.
needs bwrap bubblewrap
needs git git
needs sqlite3 sqlite3
cd "$TMPDIR" || exit 1
chmod 755 .
bwrap --unshare-user --ro-bind / / true 2>/dev/null || [ "$(id -u)" = 0 ] ||
    skip_all "enable user namespaces: sysctl user.max_user_namespaces"
e2e_jobs=()

git_quiet() {
    git -c user.name=Test -c user.email=test@localhost -c init.defaultBranch=main -c \
        commit.gpgsign=false \
        -c core.hooksPath=/dev/null -c core.autocrlf=false "$@"
}

make_project() {
    mkdir -p project agents
    cat >project/build.sh <<'SH'
#!/bin/sh
mkdir -p out && cp greet.txt out/greet && echo built
SH
    cat >project/test.sh <<'SH'
#!/bin/sh
grep -q '^hello' greet.txt && echo "test: fine"
SH
    echo "hello world" >project/greet.txt
    echo "/out/" >project/.gitignore
    chmod 755 project/*.sh
    git_quiet -C project init -q
    git_quiet -C project add .
    git_quiet -C project commit -qm "a project"
}

agent() {
    cat >"agents/$1.sh"
}

config() {
    local text=
    [ -t 0 ] || text=$(cat)
    cat >"$1.ini" <<INI
[engine]
idle_exit = 5s
[storage]
data_dir = $PWD/data
reserve_mib = 1
[local]
binds = {"/agents": "$PWD/agents"}
limits_best_effort = true
INI
    case $text in
    *"[harnesses."*) ;;
    *)
        cat >>"$1.ini" <<INI
[harnesses.script]
type = generic
executable = /bin/sh
args = ["/agents/${2:-$1}.sh"]
INI
        ;;
    esac
    printf '%s\n' "$text" >>"$1.ini"
    case $text in
    *"[verification."*) ;;
    *)
        cat >>"$1.ini" <<'INI'
[verification.default]
[verification.default.build]
argv = ["./build.sh"]
[verification.default.test]
argv = ["./test.sh"]
INI
        ;;
    esac
}

# The engine of all runs here; it ends by itself when the script has ended.
serve() {
    "$FACTORY" --config "$1" worker --idle-exit 10s >>worker.log 2>&1 </dev/null &
}

launch() {
    local name=$1 source=(--local-path project --rev main)
    shift
    case " $* " in *" --rev "* | *" --repo "*) source=() ;; esac
    (
        "$FACTORY" --config "$name.ini" run --run-id "$name" "${source[@]}" --task "Do $name" "$@" \
            >"$name.out" 2>"$name.err" </dev/null
        echo $? >"$name.status"
    ) &
    e2e_jobs+=($!)
}

settle() {
    wait "${e2e_jobs[@]}"
    e2e_jobs=()
}

status_of() {
    cat "$1.status" 2>/dev/null
}

fact() {
    sqlite3 :memory: "SELECT json_extract(CAST(readfile('data/runs/$1/run.json') AS TEXT), '$2')" \
        2>&1
}

sql() {
    sqlite3 -readonly data/factory.db "$1" 2>&1
}

verdict() {
    is "$1: $2" "$(fact "$1" '$.factory_result')" "$2"
    is "$1: exit status $3" "$(status_of "$1")" "$3"
    [ "$(status_of "$1")" = "$3" ] || sed 's/^/# /' "$1.err" "$1.out"
}

# wait_for SECONDS COMMAND...: until it succeeds.
wait_for() {
    local until=$((SECONDS + $1))
    shift
    until "$@" 2>/dev/null; do
        [ "$SECONDS" -lt "$until" ] || return 1
        sleep 0.1
    done
}
make_project
