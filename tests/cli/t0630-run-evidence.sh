#!/bin/bash
# t0630-run-evidence.sh - what a run leaves behind: layout, modes, digests; and what must not be in
# it.
#
# Owns: the secrets of pass_env and provider_files, searched for in everything below data/.
# Timeout: 170 s
. "$abs_top_srcdir/tests/lib/tap.sh"
. "$abs_top_srcdir/tests/lib/e2e.sh"

export FACTORY_TEST_TOKEN=zq7-env-1c9e55b07d
printf '{"api": {"key": "zq7-json-a81f03cc42"}}' >creds.json
printf '# a comment of ours\nAPI_KEY="zq7-dotenv-77d02b1e9a"\n' >creds.env
printf 'machine example.org login me password zq7-netrc-5d1f\n' >creds.netrc
printf %s "$FACTORY_TEST_TOKEN" >e2e-env
secrets=(zq7-env-1c9e55b07d zq7-json-a81f03cc42 zq7-dotenv-77d02b1e9a zq7-netrc-5d1f)

agent fine <<'S'
sed -i 's/world/factory/' greet.txt
echo working
S
agent talking <<'S'
creds() { cat /tmp/creds.json /tmp/creds.env /tmp/creds.netrc; }
echo "my token is $FACTORY_TEST_TOKEN"
creds
creds >&2
printf %.4s "$FACTORY_TEST_TOKEN"
sleep 0.3
echo "${FACTORY_TEST_TOKEN#????}"
echo "$FACTORY_TEST_TOKEN" >/workspace/.factory/note
sed -i 's/world/factory/' greet.txt
S
agent blocking <<'S'
printf '{"reason": "the token %s is refused", "detail": "%s"}' "$FACTORY_TEST_TOKEN" \
    "$(sed 's/"/\\"/g' /tmp/creds.json)" >/workspace/.factory/blocked.json
S
agent writing <<'S'
echo "token = $FACTORY_TEST_TOKEN" >config.txt
cp /tmp/creds.env out.env
mkdir -p "dir-$FACTORY_TEST_TOKEN" && echo x >"dir-$FACTORY_TEST_TOKEN/file"
sed -i 's/world/factory/' greet.txt
S
agent noisy <<'S'
echo "first line"
yes 'a line of nothing much, again and again and again' | head -c 50000000
echo "last line"
sed -i 's/world/factory/' greet.txt
S
secret_ini() {
    config "$1" <<I
[harnesses.script]
type = generic
executable = /bin/sh
args = ["/agents/$1.sh"]
pass_env = ["FACTORY_TEST_TOKEN", "FACTORY_TEST_UNSET"]
provider_files = {"/tmp/creds.json": "$PWD/creds.json", "/tmp/creds.env": "$PWD/creds.env",
    "/tmp/creds.netrc": "$PWD/creds.netrc"}
[verification.default]
[verification.default.show]
argv = ["/bin/sh", "-c", "cat *.txt *.env 2>/dev/null; ls; env"]
I
}
for name in talking blocking writing; do
    secret_ini "$name"
done
config fine
config noisy <<'I'
[limits]
artifact_bytes = 1048576
I
serve fine.ini
for name in fine talking blocking writing noisy; do
    launch "$name"
done
settle

# --- layout --------------------------------------------------------------------------
verdict fine SUCCEEDED 0
for path in task.json baseline.json git-before.txt git-after.txt inventory.json changes.patch \
    cleanup.json run.json \
    agent/{prompt.txt,stdout.log,stderr.log,result.json} hardening/gate-integrity.json \
    verification/{result.json,build.stdout,build.stderr,test.stdout,test.stderr}; do
    echo "$path"
done | sort >wanted
is "the files of a run" "$(cd data/runs/fine && find . -type f | sed 's,^\./,,' | sort)" \
    "$(cat wanted)"
none "directories are 0750" "$(find data/runs -mindepth 1 -type d ! -perm 0750)"
none "files are 0640" "$(find data/runs -type f ! -name '*.sealed' ! -perm 0640)"
none "every JSON file is JSON" "$(find data/runs -name '*.json' | while read -r file; do
    [ "$(sqlite3 :memory: "SELECT json_valid(CAST(readfile('$file') AS TEXT))")" = 1 ] ||
        echo "$file"
done)"
is "the task's digest" "$(fact fine '$.task_hash')" \
    "$(printf 'Do fine' | sha256sum | cut -d ' ' -f 1)"
is "the baseline" "$(fact fine '$.baseline_sha')" "$(git -C project rev-parse main)"
like "what contains the sandbox is measured" "$(fact fine '$.sandbox.network')" '^cut$'

for run in fine talking blocking writing noisy; do
    listed=$(sqlite3 :memory: "SELECT value ->> 'sha256' || '  ' || (value ->> 'path')
        FROM json_each(CAST(readfile('data/runs/$run/run.json') AS TEXT), '\$.artifacts')
        ORDER BY 1")
    there=$(cd "data/runs/$run" && find . -type f ! -name run.json -printf '%P\n' |
        tr '\n' '\0' | xargs -0 sha256sum | sort)
    in_ledger=$(sql "SELECT sha256 || '  ' || path FROM artifacts
        WHERE run_id = '$run' AND path <> 'run.json' ORDER BY 1")
    is "$run: run.json vouches for every file" "$listed" "$there"
    is "$run: the ledger agrees" "$in_ledger" "$there"
    is "$run: and vouches for run.json" \
        "$(sql "SELECT manifest_sha256 FROM factory_runs WHERE run_id = '$run'")" \
        "$(sha256sum <"data/runs/$run/run.json" | cut -d ' ' -f 1)"
done

# --- secrets -------------------------------------------------------------------------
verdict talking SUCCEEDED 0
like "the agent had its token" "$(cat data/runs/talking/agent/stdout.log)" \
    'my token is \[REDACTED\]'
verdict blocking BLOCKED 13
like "a reason keeps its other words" "$(fact blocking '$.agent.blocked_reason')" \
    '^the token \[REDACTED\] is refused$'
verdict writing INFRASTRUCTURE_FAILED 15
like "a patch with a secret is not delivered" "$(fact writing '$.error')" 'known secret'
is "it is sealed" "$(fact writing '$.patch')" changes.patch.sealed
is "for the operator's eyes only" "$(stat -c %a data/runs/writing/changes.patch.sealed)" 600
ok "as it is" grep -q "^+token = ${secrets[0]}" data/runs/writing/changes.patch.sealed
not_ok "and nowhere else" test -e data/runs/writing/changes.patch
for run in talking blocking writing; do
    "$FACTORY" --config fine.ini history "$run" --json >"history-$run" 2>&1
    ok "$run: its history can be told" grep -q FinalizeResult "history-$run"
    "$FACTORY" --config fine.ini status "$run" >"status-$run" 2>&1
    "$FACTORY" --config fine.ini logs "$run" >"logs-$run" 2>&1
done
for secret in "${secrets[@]}"; do
    none "$secret is nowhere below data" "$(grep -raFl --exclude='*.sealed' -e "$secret" data)"
    none "$secret is in no output" \
        "$(grep -aFl -e "$secret" -- *.out *.err worker.log history-* status-* logs-*)"
    ok "(searched for, it would be found: $secret)" grep -rqF -e "$secret" creds.json creds.env \
        creds.netrc e2e-env
done

# --- noise ---------------------------------------------------------------------------
verdict noisy SUCCEEDED 0
is "a noisy agent's exit status is its own" "$(fact noisy '$.agent_exit_code')" 0
is "all of its output is counted" "$(fact noisy '$.agent.stdout_bytes')" 50000021
log=data/runs/noisy/agent/stdout.log
is "the head is kept" "$(head -n 1 "$log")" "first line"
is "and the end" "$(tail -n 1 "$log")" "last line"
like "what is left out is said" "$(grep -a '^\[factory' "$log")" \
    '^\[factory: [0-9]+ bytes left out here\]$'
ok "the file is within its bound" test "$(stat -c %s "$log")" -le 1048700
done_testing
