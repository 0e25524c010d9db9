#!/bin/bash
# t0640-run-setup.sh - where runs come from and what they are given: sources, refusals, agents'
# set-up.
#
# Owns: repositories (remote, another owner's, none), names that are not declared, prompt modes,
# models, pushed programs, packages, setup scripts, hosts without bubblewrap, policies that are
# refused; ten at once.
# Timeout: 170 s
. "$abs_top_srcdir/tests/lib/tap.sh"
. "$abs_top_srcdir/tests/lib/e2e.sh"

agent fine <<'S'
sed -i 's/world/factory/' greet.txt
echo "working on: $(cat)"
S
agent arguments <<'S'
for word; do echo "<$word>"; done
cat
S
config fine
config argv <<'I'
[harnesses.script]
type = generic
executable = /bin/sh
args = ["/agents/arguments.sh"]
prompt_mode = argv
I
config model <<'I'
[harnesses.script]
type = generic
executable = /bin/sh
args = ["/agents/arguments.sh", "{{model_args}}", "{{model}}", "{{prompt_file}}",
    "{{repository_dir}}"]
model_flag = --model
model = base-1
I
config nomodel <<'I'
[harnesses.script]
type = generic
executable = /bin/sh
args = ["/agents/arguments.sh", "{{model_args}}", "end"]
model_flag = --model
I
printf '#!/bin/sh\n[ "$1" = --version ] && { echo pushed 4.2; exit; }\necho "I am $0"\n' >pushed
chmod 755 pushed
pushed_ini() {
    config "$1" <<I
[harnesses.pushed]
type = generic
executable = pushed
binary = $PWD/pushed
binary_sha256 = $2
I
}
pushed_ini right "$(sha256sum <pushed | cut -d ' ' -f 1)"
pushed_ini wrong "$(printf x | sha256sum | cut -d ' ' -f 1)"
config setup fine <<'I'
[sandbox]
setup_script = <<END
echo preparing
echo "made by setup" >/workspace/made
END
[verification.default]
[verification.default.there]
argv = ["/bin/cat", "/workspace/made"]
I
config badsetup fine <<'I'
[sandbox]
setup_script = <<END
echo "cannot go on" >&2
exit 7
END
I
config packages fine <<'I'
[sandbox]
base_packages = ["base-files", "no-such-package-of-ours"]
I
config installed fine <<'I'
[sandbox]
base_packages = ["base-files"]
I
config policy fine <<'I'
[sandbox]
allow_out = ["example.org"]
I
config internet fine <<'I'
[sandbox]
allow_internet = true
I

# A remote, served on the loopback; and one that answers nothing.
daemon=
for port in $((20000 + RANDOM % 10000)) $((20000 + RANDOM % 10000)) $((20000 + RANDOM % 10000)); do
    git daemon --reuseaddr --listen=127.0.0.1 --port=$port --export-all --base-path="$PWD" \
        >git-daemon.log 2>&1 &
    daemon=$!
    wait_for 5 git ls-remote "git://127.0.0.1:$port/project" >/dev/null && break
    kill $daemon 2>/dev/null # the port was taken
done
trap 'kill $daemon 2>/dev/null' EXIT
config remote fine <<I
[repositories]
allowed = ["git://127.0.0.1:$port/project"]
I
config unserved fine <<'I'
[repositories]
allowed = ["git://127.0.0.1:1/"]
I
cp -R project other
if [ "$(id -u)" = 0 ]; then
    chown -R 12345:12345 other
fi
mkdir empty

serve fine.ini
for name in argv model nomodel right wrong setup badsetup packages installed; do
    launch "$name"
done
cp model.ini othermodel.ini
launch othermodel --model special-9
launch remote --repo "git://127.0.0.1:$port/project" --rev main
launch unserved --repo git://127.0.0.1:1/project --rev main
for name in owned norev norepo; do
    cp fine.ini "$name.ini"
done
launch owned --local-path other --rev main
launch norev --local-path project --rev no-such-branch
launch norepo --local-path empty --rev main
settle

# Refused by the client: nothing is recorded.
refused() {
    local name=$1 words=$2 file=$3
    shift 3
    "$FACTORY" --config "$file" run --run-id "$name" --task x "$@" >"$name.out" 2>"$name.err" \
        </dev/null
    is "$name: exit status 3" "$?" 3
    like "$name: said why" "$(cat "$name.err")" "$words"
    is "$name: nothing was started" \
        "$(sql "SELECT count(*) FROM factory_run WHERE run_id = '$name'")" 0
}
refused noagent 'no agent .*nobody|nobody.*script' fine.ini --local-path project --rev main \
    --agent nobody
refused noprofile 'strict' fine.ini --local-path project --rev main --verification strict
refused nodir 'no/such' fine.ini --local-path no/such --rev main
refused notallowed 'allowed|policy' remote.ini --repo "git://127.0.0.1:$port/project-private" \
    --rev main
refused nosource 'repo' fine.ini --rev main
refused notask 'task is empty' fine.ini --local-path project --rev main --task ' '
refused policy 'local provider cannot enforce allow_out' policy.ini --local-path project --rev main
refused internet 'allow_host_network' internet.ini --local-path project --rev main

verdict norev INVALID_REQUEST 3
like "an unknown revision is named" "$(fact norev '$.error')" no-such-branch
is "an unknown revision: the request is kept" "$(fact norev '$.requested_revision')" no-such-branch
verdict norepo INVALID_REQUEST 3
is "no repository: no sandbox was made" \
    "$(sql "SELECT count(*) FROM sandboxes WHERE run_id IN ('norev', 'norepo')")" 0
if [ "$(id -u)" = 0 ]; then
    verdict owned INVALID_REQUEST 3
    like "another user's repository: refused, and what to do" "$(fact owned '$.error')" \
        'belongs to another user.*safe.directory'
else
    verdict owned SUCCEEDED 0
fi
verdict remote SUCCEEDED 0
is "remote: the commit" "$(fact remote '$.baseline_sha') $(fact remote '$.repository_kind')" \
    "$(git -C project rev-parse main) remote"
verdict unserved INFRASTRUCTURE_FAILED 15

"$FACTORY" --config fine.ini run --run-id argv --local-path project --rev main --task again \
    >/dev/null 2>again.err
not_ok "a run id is used once" test "$?" = 0
like "and it is said" "$(cat again.err)" 'argv exists'

verdict argv SUCCEEDED 0
is "argv mode: the task is the last argument" "$(cat data/runs/argv/agent/stdout.log)" "<Do argv>"
is "argv mode: evidence shows the command without it" "$(fact argv '$.agent.command_line')" \
    "/bin/sh /agents/arguments.sh PROMPT"
is "the placeholders" "$(head -n 5 data/runs/model/agent/stdout.log | paste -sd ' ')" \
    "<--model> <base-1> <base-1> </workspace/.factory/agent-prompt.txt> </workspace/repository>"
is "--model wins" \
    "$(head -n 2 data/runs/othermodel/agent/stdout.log | paste -sd ' ')" "<--model> <special-9>"
is "and is recorded" "$(fact othermodel '$.model')" special-9
is "no model: no option" "$(head -n 1 data/runs/nomodel/agent/stdout.log)" "<end>"
verdict right SUCCEEDED 0
like "a pushed program runs" "$(cat data/runs/right/agent/stdout.log)" '^I am /.*pushed$'
is "and tells its version" "$(fact right '$.agent_version')" "pushed 4.2"
verdict wrong INFRASTRUCTURE_FAILED 15
like "a program of another digest is not pushed" "$(fact wrong '$.error')" 'SHA-256'
is "and nothing ran" "$(fact wrong '$.agent_result')" SKIPPED

verdict setup SUCCEEDED 0
is "the setup script ran in both sandboxes" \
    "$(cat data/runs/setup/setup/agent.log data/runs/setup/setup/verify.log)" \
    $'preparing\npreparing'
is "and the gates see what it made" "$(cat data/runs/setup/verification/there.stdout)" \
    "made by setup"
verdict badsetup INFRASTRUCTURE_FAILED 15
like "a failing setup script is quoted" "$(fact badsetup '$.error')" 'exit 7.*cannot go on'
ok "and kept" grep -q 'cannot go on' data/runs/badsetup/setup/agent.log
verdict packages INFRASTRUCTURE_FAILED 15
like "missing packages are named, and what to do" "$(fact packages '$.error')" \
    'apt-get install no-such-package-of-ours'
verdict installed SUCCEEDED 0

# --- many at once --------------------------------------------------------------------
for n in 1 2 3 4 5 6 7 8 9 10; do
    cp fine.ini "many$n.ini"
    launch "many$n"
done
settle
is "ten at once: all succeed" "$(cat many*.status | sort | uniq -c | tr -s ' ')" " 10 0"
is "ten at once: each in its own sandboxes" \
    "$(sql "SELECT count(DISTINCT sandbox_id) FROM sandboxes WHERE run_id GLOB 'many*'")" 20
is "ten at once: each did its own task" \
    "$(cat data/runs/many*/agent/stdout.log | sort -u | wc -l)" 10
is "no sandbox is left" "$(ls data/sandboxes)" ""

# --- a host without bubblewrap -------------------------------------------------------
sed "s,$PWD/data,$PWD/bare," fine.ini | sed 's,^\[local\],&\nbwrap = no-such-bwrap,' >bare.ini
"$FACTORY" --config bare.ini run --run-id bare --local-path project --rev main --task x >bare.out \
    2>bare.err </dev/null
is "no bubblewrap: exit status" "$?" 15
like "no bubblewrap: the package is named" "$(cat bare.out bare.err)" 'bubblewrap'
is "no bubblewrap: nothing was started" "$(ls bare/sandboxes 2>/dev/null)" ""
done_testing
