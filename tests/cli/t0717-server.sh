#!/bin/bash
# t0717-server.sh - kind = temporal without a server: what still works, and what is said.
. "$abs_top_srcdir/tests/lib/tap.sh"
module=$abs_top_builddir/.libs/libdurable-temporal.so
[ -e "$module" ] || skip_all "this tree was built without the module for servers (see configure)"
export LD_LIBRARY_PATH=$abs_top_builddir/.libs
cd "$TMPDIR" || exit 1
unset FACTORY_CONFIG FACTORY_DATA_DIR
factory=$FACTORY
cat >factory.ini <<'END'
[engine]
kind = temporal
host_port = 127.0.0.1:1
[harnesses.greeter]
type = generic
executable = /bin/true
[verification.default.build]
argv = ["/bin/true"]
END

# said STATUS REGEX WORD...: the command ends so and says that, on one line.
said() {
    local status=$1 regex=$2 text
    shift 2
    text=$("$factory" "$@" 2>&1)
    is "$*: status $status" "$?" "$status"
    like "$*" "$text" "$regex"
}
ok "config validate" "$factory" config validate
like "config show" "$("$factory" config show)" '"host_port": "127.0.0.1:1"'
like "the environment wins" \
    "$(TEMPORAL_HOST_PORT=localhost:2 TEMPORAL_NAMESPACE=team "$factory" config show)" \
    '"host_port": "localhost:2",.*"namespace": "team"'
said 5 '^factory: 127.0.0.1:1: .*refused' status run-1
said 5 '^factory: 127.0.0.1:2: ' engine list --address 127.0.0.1:2
said 2 'once' engine list --address 127.0.0.1:2 --db x.db
said 2 'goes with --address' engine list --namespace x
said 2 'runs are on the server at 127.0.0.1:1' upgrade --check
none "who looks makes nothing" "$(find . -mindepth 1 ! -name factory.ini)"
said 0 'no sandboxes' sandboxes
text=$("$factory" doctor)
like "doctor: the server is away" "$text" 'server +FAIL +D-050 .*127\.0\.0\.1:1.*refused'
like "and what to do" "$text" 'start the server, or correct \[engine\] host_port'
like "doctor --offline asks nobody" "$("$factory" doctor --offline)" \
    'server +— +127.0.0.1:1 was not asked'

# A configuration that does not validate: looking and stopping need [engine] alone.
cp factory.ini good.ini
printf '[nonsense]\n' >>factory.ini
said 5 'looking in 127.0.0.1:1' cancel run-1
sed -i 's/^host_port.*/host_port = temporal.example.org:7233/' factory.ini
said 3 'factory.ini:3: \[engine\] host_port: temporal.* is another host' status run-1
said 3 'host_port: .*another host' cancel run-1
said 0 'no sandboxes' sandboxes
mkdir -p .factory
said 0 'whose sandboxes these are is not known' sandboxes
text=$("$factory" config validate 2>&1)
is "validate: status 3" "$?" 3
like "validate: file, line, what to write" "$text" \
    'ini:3: \[engine\] host_port: .*factory:   write: tls = true.*ini:9: \[nonsense\]'
cp good.ini factory.ini

# The ledger is made by who runs; a run cannot be submitted without a server.
git init -q -b main repo && git -C repo -c user.name=t -c user.email=t@example.org commit -q \
    --allow-empty -m x
said 5 '^factory: 127.0.0.1:1: ' run --local-path repo --rev main --task x
ok "the ledger is there" test -e .factory/factory.db
like "doctor: it is the ledger" "$("$factory" doctor --offline)" \
    'store +ok +.*factory.db \(the ledger\)'
said 5 '^factory: 127.0.0.1:1: ' worker --idle-exit 100ms

# A ledger of an older version is brought up to date without asking; a copy stays.
if command -v sqlite3 >/dev/null; then
    mkdir older
    sqlite3 older/factory.db ".read $abs_top_srcdir/tests/golden/store-0001.dump" \
        "PRAGMA journal_mode=WAL" >/dev/null
    FACTORY_DATA_DIR=$PWD/older "$factory" worker --idle-exit 100ms >/dev/null 2>&1
    is "the ledger is of this version" "$(sqlite3 older/factory.db 'PRAGMA user_version')" \
        "$(sqlite3 .factory/factory.db 'PRAGMA user_version')"
    is "and a copy of the older one is kept" \
        "$(sqlite3 older/factory.db.before-1 'PRAGMA user_version' 2>&1 || ls older)" 1
else
    skip "a ledger of an older version" "install sqlite3"
fi

# Runs that a site left in its file when it moved.
sed 's/temporal/sqlite/' good.ini >file.ini
ok "a run in the file" "$factory" --config file.ini engine start SoftwareChangeWorkflow \
    factory-run-left
like "doctor: runs are left behind" "$("$factory" doctor --offline)" \
    'D-054 .*1 run is open in .*\.factory.*kind = sqlite until they are over'
done_testing
