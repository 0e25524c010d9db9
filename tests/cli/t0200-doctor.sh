#!/bin/bash
# t0200-doctor.sh - factory doctor: rows, codes, fixes, status; nothing is left behind.
. "$abs_top_srcdir/tests/lib/tap.sh"
cd "$(mktemp -d)" || exit 1
unset FACTORY_CONFIG FACTORY_DATA_DIR

# row CHECK TEXT: that check's rows and their fixes.
row() {
    grep -A1 "^$1 " <<<"$2" | grep -E "^$1 |^ *fix:"
}

out=$("$FACTORY" doctor --offline)
like "without a configuration: a warning" "$(row configuration "$out")" \
    'warn +D-002 .*fix: factory init'
ok "and nothing is made" test -z "$(ls -A)"

"$FACTORY" init >/dev/null
out=$("$FACTORY" doctor --offline 2>&1)
status=$?
like "configuration" "$(row configuration "$out")" \
    'ok +factory.ini, 1 agent, 1 profile, digest [0-9a-f]{12}$'
like "a store that is not there is no failure" "$(row store "$out")" \
    '— +none yet .*, [0-9]+ µs per fsynced commit'
like "engine" "$(row engine "$out")" '— +none running, 0 runs waiting'
like "disk" "$(row disk "$out")" 'ok +[0-9.]+ GiB free, new runs need 0.2 GiB'
like "an agent" "$(row 'agent example' "$out")" 'ok +/bin/sh'
is "only the configuration is left" "$(ls -A)" factory.ini

if grep -q '^sandbox *FAIL' <<<"$out"; then
    like "a missing sandbox has code and fix" "$(row sandbox "$out")" 'D-02[0-2] .*fix: '
    is "and fails" "$status" 1
    skip "the network is cut, measured" "a machine where local sandboxes work"
    skip "limits are told" "a machine where local sandboxes work"
    skip "no sandbox and no directory is left" "a machine where local sandboxes work"
else
    like "sandbox" "$(row sandbox "$out")" 'ok +local: bubblewrap .*user namespaces; nothing was'
    is "status 0" "$status" 0
    out=$("$FACTORY" doctor)
    like "the network is cut, measured" "$(row sandbox "$out")" 'ok .*network cut \(measured\)'
    like "limits are told" "$(row limits "$out")" \
        'cpu [a-z]+, memory [a-z]+, processes [a-z]+, disk [a-z]+'
    is "no sandbox and no directory is left" "$(ls -A)" factory.ini
fi

# Every code below comes with a fix.
expect() {
    local name=$1 code=$2 check=$3 out
    out=$("$FACTORY" doctor --offline 2>&1)
    like "$code: $name" "$(row "$check" "$out")" "(warn|FAIL) +$code .*fix: "
}
printf '%s\n' '[harnesses.a]' 'type = generic' 'executable = ./tool' >agent.part
agent() {
    { cat agent.part && printf '%s\n' "$@"; } >factory.ini
}
echo nonsense >factory.ini
expect "the configuration does not validate" D-001 configuration
not_ok "which fails" "$FACTORY" doctor --offline
agent
expect "no gates" D-003 configuration
agent "binary = tool"
expect "no such binary" D-040 "agent a"
echo program >tool
agent "binary = tool" "binary_sha256 = $(printf '0%.0s' {1..64})"
expect "another digest" D-041 "agent a"
agent "binary = tool" "binary_sha256 = $(sha256sum tool | cut -d' ' -f1)"
like "the right digest" "$("$FACTORY" doctor --offline)" 'agent a +ok +.*/tool, digest matches'
agent 'pass_env = ["SURELY_NOT_SET"]' 'binary = tool'
expect "a variable is not set" D-042 "agent a"
like "set, it is fine and not shown" "$(SURELY_NOT_SET=s3cr3t "$FACTORY" doctor --offline)" \
    'agent a +ok'
unlike "its value is nowhere" "$(SURELY_NOT_SET=s3cr3t "$FACTORY" doctor --offline --json)" s3cr3t
agent 'provider_files = {"/inside": "not-there"}' 'binary = tool'
expect "a provider file is missing" D-043 "agent a"
agent
expect "the program is not on this machine" D-044 "agent a"
printf '[storage]\nmin_free_mib = 16000000\n' >factory.ini
expect "not enough free disk" D-014 disk
printf '[local]\nbwrap = /nowhere/bwrap\n' >factory.ini
expect "no bubblewrap" D-020 sandbox
mkdir -p .factory && echo 'not a database, and long enough to be none' >.factory/factory.db
expect "no store" D-011 store
rm -r .factory
if [ "$(id -u)" = 0 ]; then
    skip "D-010: the data directory cannot be written" "an ordinary user"
else
    mkdir .factory && chmod 500 .factory
    expect "the data directory cannot be written" D-010 store
    rmdir .factory
fi

rm factory.ini
"$FACTORY" init >/dev/null
json=$("$FACTORY" doctor --offline --json)
like "as JSON" "$json" '"schema": 1,'
if command -v python3 >/dev/null; then
    ok "it is JSON, and says the same" python3 -c '
import json, sys
d = json.loads(sys.argv[1])
assert d["engine_pid"] == 0 and d["commit_us"] > 0
assert [c["check"] for c in d["checks"]][0] == "configuration"
for c in d["checks"]:
    assert c["status"] in ("ok", "none", "warn", "fail")
    assert (c["code"] is None) == (c["status"] in ("ok", "none"))' "$json"
else
    skip "it is JSON, and says the same" "install python3"
fi

page=$abs_top_srcdir/docs/man/factory-doctor.1.scd
none "every code is in the man page" "$(grep -ohE '"D-[0-9]{3}"' \
    "$abs_top_srcdir"/src/factory/doctor*.c "$abs_top_srcdir/src/cli/cmd_doctor.c" |
    tr -d '"' | sort -u | while read -r code; do
    grep -q "^|\[ $code\$" "$page" || echo "$code"
done)"
done_testing
