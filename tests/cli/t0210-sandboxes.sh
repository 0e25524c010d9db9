#!/bin/bash
# t0210-sandboxes.sh - factory sandboxes: whose sandboxes exist, destroy, cleanup.
# Timeout: 180 s
. "$abs_top_srcdir/tests/lib/tap.sh"
needs bwrap bubblewrap
needs git git
cd "$(mktemp -d)" || exit 1
unset FACTORY_CONFIG FACTORY_DATA_DIR

is "no data directory: none, status 0" "$("$FACTORY" sandboxes)" "no sandboxes"
is "and nothing is made" "$(ls -A)" ""
not_ok "an unknown word" "$FACTORY" sandboxes remove
not_ok "destroy needs an id" "$FACTORY" sandboxes destroy
"$FACTORY" sandboxes destroy sbx-none >/dev/null 2>&1
is "an id that is not there: status 4" "$?" 4

cat >factory.ini <<'END'
[harnesses.sleeper]
type = generic
executable = /bin/sh
args = ["-c", "sleep 120"]
[verification.default.build]
argv = ["true"]
END
mkdir repository && cd repository || exit 1
git init -q && echo text >file && git add file &&
    git -c user.name=t -c user.email=t@example.org commit -qm one
cd .. || exit 1
doctor=$("$FACTORY" doctor --offline 2>&1)
if grep -q '^sandbox *FAIL' <<<"$doctor"; then
    skip_all "local sandboxes cannot be made here: $(grep '^sandbox' <<<"$doctor")"
fi

"$FACTORY" run --detach --local-path repository --rev HEAD --task wait --run-id run-one >/dev/null
engine_pid() {
    "$FACTORY" doctor --offline --json | sed -n 's/.*"engine_pid": \([0-9]*\).*/\1/p'
}
engine=
for _ in $(seq 100); do
    out=$("$FACTORY" sandboxes)
    if grep -q active <<<"$out"; then break; fi
    sleep 0.1
done
like "an open run's sandbox is active" "$out" 'sbx-[0-9a-f]+ +active +.* agent +run-one'
ok "which is no failure" "$FACTORY" sandboxes
id=$(grep -o 'sbx-[0-9a-f]*' <<<"$out")
json=$("$FACTORY" sandboxes --json)
like "the same as JSON" "$json" "\"id\": \"$id\""
like "with its run" "$json" '"run_id": "run-one"'
err=$("$FACTORY" sandboxes destroy "$id" 2>&1)
is "destroying it is refused" "$?" 1
like "and says what to do instead" "$err" 'factory cancel run-one'
is "cleanup leaves it alone" "$("$FACTORY" sandboxes cleanup --yes)" "nothing to destroy"

# The engine dies, and somebody removes the database: nobody owns the sandbox any more.
engine=$(engine_pid)
ok "the engine is known" test -n "$engine"
kill -9 "$engine"
while kill -0 "$engine" 2>/dev/null; do sleep 0.05; done
like "a dead engine changes nothing" "$("$FACTORY" sandboxes)" "$id +active"
mkdir aside && mv .factory/factory.db* aside/
out=$("$FACTORY" sandboxes)
is "an orphan: status 1" "$?" 1
like "it is named" "$out" "$id +orphaned"
like "with what removes it" "$out" '1 orphaned: factory sandboxes cleanup'

id_file=$(cat .factory/store-id)
echo 0123456789 >.factory/store-id
like "another store's is foreign" "$("$FACTORY" sandboxes)" "$id +foreign"
is "cleanup leaves it alone too" "$("$FACTORY" sandboxes cleanup --yes)" "nothing to destroy"
not_ok "destroying it needs --force" "$FACTORY" sandboxes destroy "$id"
printf %s "$id_file" >.factory/store-id

echo garbage >aside/broken && cp aside/broken .factory/factory.db
out=$("$FACTORY" sandboxes 2>/dev/null)
is "a store that cannot be read is no reason to fail" "$?" 0
like "whose it is, is not known then" "$out" "$id +unknown"
rm .factory/factory.db

echo nonsense >>factory.ini
out=$("$FACTORY" sandboxes cleanup 2>err.txt)
like "it works with a broken configuration" "$out" "would destroy $id"
like "which it says" "$(cat err.txt)" 'does not validate'
like "a dry run destroys nothing" "$("$FACTORY" sandboxes 2>/dev/null)" "$id +orphaned"
is "cleanup --yes destroys it" "$("$FACTORY" sandboxes cleanup --yes 2>/dev/null)" "destroyed $id"
is "then there are none" "$("$FACTORY" sandboxes 2>/dev/null)" "no sandboxes"
ok "and that is status 0" "$FACTORY" sandboxes
done_testing
