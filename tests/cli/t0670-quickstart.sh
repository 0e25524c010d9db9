#!/bin/bash
# t0670-quickstart.sh - contrib/quickstart.sh as a newcomer runs it, with the network cut.
#
# Owns: its whole demonstration, twice in one directory, in a pipe. Packages and building: t0900
# and CI.
# Timeout: 120 s
. "$abs_top_srcdir/tests/lib/tap.sh"
needs bwrap bubblewrap
needs git git
needs cc gcc
cd "$TMPDIR" || exit 1
bwrap --unshare-user --ro-bind / / true 2>/dev/null || [ "$(id -u)" = 0 ] ||
    skip_all "enable user namespaces: sysctl user.max_user_namespaces"
cut=()
if unshare -n true 2>/dev/null; then
    cut=(unshare -n)
elif unshare -c -n bwrap --unshare-user --ro-bind / / true 2>/dev/null; then
    cut=(unshare -c -n)
fi
script=$abs_top_srcdir/contrib/quickstart.sh

out=$("${cut[@]}" bash "$script" --program "$FACTORY" first 2>&1 </dev/null)
is "it ends well" "$?" 0 || echo "$out"
like "with the result" "$out" 'FACTORY RESULT: SUCCEEDED'
like "and where the patch is" "$out" "Patch: $PWD/first/data/runs/[a-z0-9-]+/changes.patch"
patch=$(sed -n 's/^Patch: //p' <<<"$out" | tail -n 1)
ok "the patch changes the greeting" grep -qx '+#define GREETING "good day"' "$patch"
ok "the repository takes it" git -C first/greeting apply --check "$patch"
none "the repository was not touched" "$(git -C first/greeting status --porcelain)"

echo "# mine" >>first/factory.ini
out=$("${cut[@]}" bash "$script" --all --program "$FACTORY" first 2>&1 </dev/null | cat)
for state in VERIFICATION_FAILED BLOCKED CANCELLED SUCCEEDED; do
    like "--all shows a run that ends $state" "$out" "FACTORY RESULT: +$state"
done
like "its last result is the good one" "$(grep 'FACTORY RESULT' <<<"$out" | tail -n 1)" SUCCEEDED
is "a second call keeps the first one's run and adds its own" \
    "$(find first/data/runs -mindepth 1 -maxdepth 1 | wc -l)" 5
ok "and edited files as they are" grep -qx '# mine' first/factory.ini
ok "a run was cancelled in its agent" grep -qs 'working for' \
    first/data/runs/cancelled-*/agent/stdout.log
not_ok "a wrong option is refused" bash "$script" --nonsense
out=$(bash "$script" --program /bin/false second 2>&1 </dev/null)
is "a program that fails is a failure" "$?" 1
done_testing
