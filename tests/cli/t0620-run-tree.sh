#!/bin/bash
# t0620-run-tree.sh - what goes into a run and what comes out: revisions, patches, drift, fresh
# sandboxes.
#
# Owns: the deliverable applied with git itself, whatever the agent did to its repository.
# Timeout: 170 s
. "$abs_top_srcdir/tests/lib/tap.sh"
. "$abs_top_srcdir/tests/lib/e2e.sh"

# A project with more to change, a tag, a second branch; everything that git can hold.
mkdir project/dir project/gone
seq 1 200 >project/dir/long.txt
printf 'a\r\nb\r\n' >project/crlf.txt
echo x >project/gone/x
echo file >project/becomes-dir
mkdir project/becomes-file && echo inner >project/becomes-file/inner
ln -s greet.txt project/link
git_quiet -C project add . && git_quiet -C project commit -qm more
git_quiet -C project tag light
git_quiet -C project tag -a -m "a release" v1.0
git_quiet -C project branch topic main~1
base=$(git -C project rev-parse main)
first=$(git -C project rev-parse main~1)

cat >agents/edit <<'S'
edit() {
    sed -i 's/world/factory/' greet.txt
    sed -i '100s/.*/one hundred/' dir/long.txt
    printf 'a\r\nc\r\n' >crlf.txt
    rm -r gone
    rm becomes-dir && mkdir becomes-dir && echo now >becomes-dir/file
    rm -r becomes-file && echo now >becomes-file
    ln -sf dir/long.txt link
    chmod +x greet.txt
    : >empty
    mkdir "with space" && echo s >"with space/a b"
    printf 't' >"$(printf 'tab\tin')"
    echo u >grün.txt
    printf 'n\n' >"$(printf 'new\nline')"
    yes | tr -d '\n' | head -c 20000 | tr y '\001' >binary.bin
    { head -c 9000 /dev/zero | tr '\0' y; printf '\0end'; } >late-nul
    head -c 1000000 /dev/zero | tr '\0' l >longline
    mkdir -p out && echo built >out/junk
}
S
# The same edits by an agent that knows nothing of git and by one that plays with all of it.
cat agents/edit - >agents/plain.sh <<'S'
edit
S
cat agents/edit - >agents/hostile.sh <<'S'
printf '*.txt diff=up filter=up\n' >.git/info/attributes
git config diff.up.textconv 'tr a-z A-Z <'
git config filter.up.clean 'tr a-z A-Z'
git config filter.up.smudge 'tr A-Z a-z'
git config core.autocrlf true
git config core.fileMode false
git config core.excludesFile /tmp/excludes
echo '*' >/tmp/excludes
echo '*' >>.git/info/exclude
git update-index --assume-unchanged greet.txt dir/long.txt
git update-index --skip-worktree crlf.txt
edit
for hook in post-commit pre-commit post-checkout fsmonitor; do
    printf '#!/bin/sh\ntouch /workspace/hooked\necho hooked >>greet.txt\n' >.git/hooks/$hook
    chmod +x .git/hooks/$hook
done
git commit -q --no-verify --allow-empty -m "a commit of the agent" >/dev/null 2>&1
git checkout -q -b elsewhere
sed -i /hooked/d greet.txt
mkdir -p sub && git init -q sub && echo inside >sub/.git/secret
rm -rf sub
S
cat agents/edit - >agents/nogit.sh <<'S'
rm -rf .git
edit
S
agent nothing <<'S'
:
S
agent mark <<'S'
sed -i 's/world/factory/' greet.txt
echo leak >/tmp/left-behind
echo leak >"$HOME/left-behind"
echo leak >/workspace/left-behind
(while :; do sleep 0.05; echo scribble >>greet.txt; done) >/dev/null 2>&1 &
sleep 31338.5 &
S
# Gates.
agent mutate <<'S'
echo changed by a gate >>greet.txt
echo new >generated.txt
mkdir -p out && echo ignored >out/x
S
agent alone <<'S'
ls /tmp/left-behind "$HOME/left-behind" /workspace/left-behind && exit 1
! ps -ef | grep -v grep | grep 31338
S
for name in plain hostile nogit nothing mark; do
    config "$name"
done
config drift plain <<'I'
[verification.default]
[verification.default.mutate]
argv = ["/bin/sh", "/agents/mutate.sh"]
I
config fresh mark <<'I'
[verification.default]
[verification.default.alone]
argv = ["/bin/sh", "/agents/alone.sh"]
[verification.default.quiet]
argv = ["/bin/sh", "-c",
    "before=$(cksum <greet.txt); sleep 0.3; test \"$before\" = \"$(cksum <greet.txt)\""]
I
config same mark <<'I'
[verification.default]
sandbox = agent
[verification.default.there]
argv = ["/bin/cat", "/tmp/left-behind"]
I
config interpreter nothing <<'I'
[harnesses.script]
type = generic
executable = /bin/sh
args = ["-c", "echo 'exit 0' >test.sh"]
[verification.default]
[verification.default.test]
argv = ["bash", "-e", "test.sh"]
I
config overlay nothing <<'I'
[harnesses.script]
type = generic
executable = /bin/sh
args = ["-c", "echo cheat >dir/long.txt"]
[verification.default]
protected = ["/dir/"]
[verification.default.build]
argv = ["./build.sh"]
I

serve plain.ini
for name in plain hostile nogit nothing drift fresh same interpreter overlay; do
    launch "$name"
done
settle
for rev in main topic light v1.0 HEAD "${base:0:10}" "$first"; do
    cp nothing.ini "rev-$rev.ini"
    launch "rev-$rev" --local-path project --rev "$rev"
done
settle

for name in plain hostile nogit; do
    verdict "$name" SUCCEEDED 0
    git clone -q project "clone-$name"
    ok "$name: git apply takes the patch" git -C "clone-$name" apply --index --whitespace=nowarn \
        "$PWD/data/runs/$name/changes.patch"
    is "$name: and gives exactly the agent's tree" "$(git -C "clone-$name" write-tree)" \
        "$(fact "$name" '$.patch_facts.tree')"
done
is "commits, hooks, filters, textconv change nothing" \
    "$(fact hostile '$.patch_facts.patch_sha256')" \
    "$(fact plain '$.patch_facts.patch_sha256')"
is "nor does deleting .git" "$(fact nogit '$.patch_facts.patch_sha256')" \
    "$(fact plain '$.patch_facts.patch_sha256')"
is "the patch is the file that run.json vouches for" "$(sha256sum <data/runs/plain/changes.patch)" \
    "$(fact plain '$.patch_facts.patch_sha256')  -"
none "built files that .gitignore names are not in it" \
    "$(grep -a 'out/junk' data/runs/plain/changes.patch)"
is "a mode, a link, a binary file, an odd name arrive" "$(cd clone-plain && [ -x greet.txt ] &&
    readlink link && stat -c %s binary.bin late-nul && cat grün.txt $'new\nline')" \
    $'dir/long.txt\n20000\n9004\nu\nn'
none "no hook ran on the host" "$(ls /workspace/hooked project/hooked 2>/dev/null)"
none "the project was not touched" "$(git -C project status --porcelain)"

verdict nothing SUCCEEDED 0
is "no change: an empty patch" "$(stat -c %s data/runs/nothing/changes.patch)" 0

verdict drift SUCCEEDED 0
is "drift: said so" "$(fact drift '$.verification_mutated_tree')" 1
is "drift: the deliverable is the agent's alone" "$(fact drift '$.patch_facts.patch_sha256')" \
    "$(fact plain '$.patch_facts.patch_sha256')"
ok "drift: what the gate changed is kept" \
    grep -q '^+changed by a gate' data/runs/drift/verification/post-verification.patch
is "drift: its status too" "$(grep -c . data/runs/drift/verification/post-verification.status)" 2

verdict fresh SUCCEEDED 0
is "fresh: neither files nor processes of the agent" \
    "$(fact fresh '$.gates[0].passed')$(fact fresh '$.gates[1].passed')" 11
verdict same SUCCEEDED 0
is "sandbox = agent: the leftovers are there" "$(cat data/runs/same/verification/there.stdout)" leak
ok "sandbox = agent: recorded as such" grep -q '"sandbox": "agent"' \
    data/runs/same/verification/result.json
verdict interpreter GATE_TAMPERED 12
verdict overlay GATE_TAMPERED 12

for rev in main light v1.0 HEAD "${base:0:10}"; do
    is "revision $rev" "$(status_of "rev-$rev") $(fact "rev-$rev" '$.baseline_sha')" "0 $base"
done
for rev in topic "$first"; do
    is "revision $rev" "$(status_of "rev-$rev") $(fact "rev-$rev" '$.baseline_sha')" "0 $first"
done
none "no process is left" "$(pgrep -af 31338 | grep -v pgrep)"
is "no sandbox is left" "$(ls data/sandboxes)" ""
done_testing
