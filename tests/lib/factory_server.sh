# shellcheck shell=bash disable=SC2034 # the variables are for the script that sources this
# factory_server.sh - the factory on a real Temporal server, for test scripts.
#
# Owns: the workshop of cli.sh with a server of its own: factory.ini has runs there, lite.ini in a
# file (below lite/); an agent that tells its secret. Must not: use another server.
#   on_server        begins: skips the script when something is missing
#   cluster ARG...   Temporal's CLI on that server
#   worker_leaves    waits for the end of the worker that serves
#   same NAME        the evidence of a run by that id, on the server and in the file, compared
# Tests: every script that uses it.
. "$abs_top_srcdir/tests/lib/cli.sh"
. "$abs_top_srcdir/tests/lib/temporal.sh"
secret=planted-5f0c2a91d3b8

on_server() {
    local module=$abs_top_builddir/.libs
    [ -e "$module/libdurable-temporal.so" ] ||
        skip_all "install libgrpc-dev, libprotobuf-c-dev and protobuf-c-compiler, and build again"
    export LD_LIBRARY_PATH=$module
    needs_sandbox
    temporal_needs
    unset TEMPORAL_HOST_PORT TEMPORAL_NAMESPACE TEMPORAL_TASK_QUEUE
    make_repository
    make_config
    cat >>factory.ini <<'END'
[harnesses.teller]
type = generic
executable = /bin/sh
pass_env = ["TEST_AGENT_KEY"]
args = ["-c", "echo \"my key is $TEST_AGENT_KEY\"; echo 'hello factory' > greet.txt"]
END
    export TEST_AGENT_KEY=$secret
    sed -i 's/worker_concurrency = 1/worker_concurrency = 8/' factory.ini
    sed 's|^\[engine\]|[storage]\ndata_dir = lite\n[engine]|' factory.ini >lite.ini
    temporal_server "$workshop/server" || skip_all "no server came up"
    sed -i "s|^\[engine\]|[engine]\nkind = temporal\nhost_port = $TEMPORAL_ADDRESS|" factory.ini
}

cluster() {
    "$temporal" "$@"
}

# True when no worker is left, which leaves by itself when nothing is open; false after a while.
worker_leaves() {
    for _ in $(seq 600); do
        workshop_processes | grep -q 'factory worker' || return 0
        sleep 0.1
    done
    return 1
}

# What may differ: times, durations, ids, digests and sizes of what holds them, the engine's kind.
plain() {
    sed -E -e 's/"([a-z]+_at|last_transition_time)": "[^"]*"/"\1": T/' \
        -e 's/"duration_ms": [0-9]+/"duration_ms": N/' -e 's/sbx-[0-9a-f]{20}/SANDBOX/g' \
        -e 's/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/EXECUTION/g' \
        -e 's/"(sha256|config_digest)": "[0-9a-f]{64}"/"\1": D/; s/"bytes": [0-9]+/"bytes": N/' \
        -e '/"(kind|host_port|data_dir)": "[^"]*"/d' -e '/^ *"text": /d' "$1"
}

same() {
    local here=.factory/runs/$1 there=lite/runs/$1 file
    is "$1: the same files" "$(cd "$here" && find . -type f | sort)" \
        "$(cd "$there" && find . -type f | sort)"
    none "$1: and in them the same" "$(cd "$here" && find . -type f | sort | while read -r file; do
        cmp -s <(plain "$file") <(plain "$workshop/$there/$file") && continue
        echo "$file"
        diff <(plain "$file") <(plain "$workshop/$there/$file") | head -20
    done)"
}
