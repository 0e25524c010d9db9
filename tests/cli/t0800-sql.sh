#!/bin/bash
# t0800-sql.sh - the database as an inspection surface: docs/schema.md, with the sqlite3 shell,
# while a run goes on and after it.
# Timeout: 180 s
. "$abs_top_srcdir/tests/lib/tap.sh"
needs sqlite3 sqlite3
needs bwrap bubblewrap
needs git git
cd "$(mktemp -d)" || exit 1
unset FACTORY_CONFIG FACTORY_DATA_DIR
schema=$abs_top_srcdir/docs/schema.md

cat >factory.ini <<'END'
[harnesses.worker]
type = generic
executable = /bin/sh
args = ["-c", "echo changed >file; until [ -e /workspace/.factory/go ]; do sleep 0.05; done"]
[verification.default.check]
argv = ["grep", "-q", "changed", "file"]
END
mkdir repository && cd repository || exit 1
git init -q && echo text >file && git add file &&
    git -c user.name=t -c user.email=t@example.org commit -qm one
cd .. || exit 1
if "$FACTORY" doctor | grep -q '^sandbox *FAIL'; then
    skip_all "local sandboxes cannot be made here: $("$FACTORY" doctor | grep '^sandbox')"
fi

sql() {
    sqlite3 -readonly -cmd '.timeout 5000' .factory/factory.db "$@"
}
"$FACTORY" run --detach --local-path repository --rev HEAD --task 'change it' --run-id run-a \
    --agent worker >/dev/null || exit 1
for _ in $(seq 200); do
    [ "$(sql "SELECT step FROM factory_runs WHERE run_id = 'run-a'" 2>/dev/null)" = agent ] && break
    sleep 0.05
done

# --- while it goes on
is "factory_runs: state and step" \
    "$(sql "SELECT state, step, agent, profile, task FROM factory_runs WHERE run_id = 'run-a'")" \
    "RUNNING|agent|worker|default|change it"
is "factory_runs: results so far" \
    "$(sql "SELECT verification_result, finished IS NULL FROM factory_runs")" "SKIPPED|1"
is "runs" "$(sql "SELECT status, type, closed IS NULL, pending_activities FROM runs
    WHERE workflow_id = 'factory-run-run-a'")" "Running|SoftwareChangeWorkflow|1|1"
is "factory_runs and runs are joined by the execution" \
    "$(sql "SELECT count(*) FROM factory_runs AS f JOIN runs AS r ON r.run_id = f.execution_id
        AND r.workflow_id = f.workflow_id")" 1
is "activities: what is pending" "$(sql "SELECT type, task_queue, state, attempt,
    last_error IS NULL, cancel_requested FROM activities")" "RunAgent|agent|Started|1|1|0"
is "activity_log: what was and what is" "$(sql "SELECT type, state, attempt FROM activity_log
    WHERE workflow_id = 'factory-run-run-a' ORDER BY scheduled_event_id LIMIT 2")
$(sql "SELECT type, state, attempt FROM activity_log WHERE state NOT IN ('Completed')")" \
    "ValidateRequest|Completed|1
CreateSandbox|Completed|1
RunAgent|Started|1"
is "timers: the run's own time limit" "$(sql "SELECT count(*) FROM timers
    WHERE due > strftime('%Y-%m-%dT%H:%M:%fZ', 'now')")" 1
is "conditions: reached ones" "$(sql "SELECT type, status, reason FROM conditions
    WHERE workflow_id = 'factory-run-run-a' ORDER BY last_transition_time, type")" \
    "Validated|True|PolicyAccepted
SandboxReady|True|Created
WorkspacePrepared|True|Provisioned
RepositoryPrepared|True|CheckedOut
InventoryWritten|True|Published"
like "sandboxes: one, not destroyed" "$(sql "SELECT sandbox_id, run_id, role, provider,
    destroyed IS NULL FROM sandboxes")" '^sbx-[0-9a-f]+\|run-a\|agent\|local\|1$'
is "sandboxes: the one that exists" "$(sql "SELECT sandbox_id FROM sandboxes")" \
    "$("$FACTORY" sandboxes --json | sed -n 's/.*"id": "\(.*\)",/\1/p')"
is "events: ids from 1 without a gap" "$(sql "SELECT min(event_id), max(event_id) = count(*)
    FROM events WHERE workflow_id = 'factory-run-run-a'")" "1|1"
like "events: attributes are readable" "$(sql "SELECT attributes FROM events WHERE event_id = 1")" \
    '"workflowType":"SoftwareChangeWorkflow"'
is "nobody can write by these views" "$(sqlite3 .factory/factory.db \
    "UPDATE runs SET status = 'x'" 2>&1 | grep -c 'cannot modify runs because it is a view')" 1
is "histories are append-only" "$(sqlite3 .factory/factory.db "DELETE FROM event_batch" 2>&1 |
    grep -c 'histories are append-only')" 1

# A reader that stays in its transaction does not stop the run.
mkfifo fifo
(sqlite3 -readonly .factory/factory.db <fifo >/dev/null) &
reader=$!
exec 7>fifo
echo 'BEGIN; SELECT count(*) FROM events;' >&7
: >.factory/sandboxes/"$(sql 'SELECT sandbox_id FROM sandboxes')"/fs/workspace/.factory/go
"$FACTORY" status run-a --watch >/dev/null
status=$?
exec 7>&-
wait "$reader"
is "the run succeeded beside a reader" "$status" 0

# --- after it
is "factory_runs: the end" "$(sql "SELECT state, step IS NULL, agent_result, verification_result,
    cleanup_result, finished IS NOT NULL FROM factory_runs")" \
    "SUCCEEDED|1|SUCCESS|SUCCESS|SUCCESS|1"
is "factory_runs: the patch's digest is the file's" \
    "$(sql "SELECT patch_sha256 FROM factory_runs")" \
    "$(sha256sum .factory/runs/run-a/changes.patch | cut -d' ' -f1)"
is "sandboxes: all destroyed" "$(sql "SELECT role, destroyed IS NOT NULL FROM sandboxes
    ORDER BY role")" "agent|1
verify|1"
is "nothing is pending" "$(sql "SELECT (SELECT count(*) FROM activities),
    (SELECT count(*) FROM timers)")" "0|0"
is "activity_log: all completed" "$(sql "SELECT DISTINCT state FROM activity_log")" Completed
is "conditions: all True but AgentBlocked" "$(sql "SELECT type FROM conditions
    WHERE status <> 'True'")" AgentBlocked
(cd .factory/runs/run-a && sqlite3 -readonly ../../factory.db \
    "SELECT sha256 || '  ' || path FROM artifacts WHERE run_id = 'run-a'" >"$OLDPWD/sums")
ok "artifacts: every digest is the file's" \
    sh -c 'test -s sums && cd .factory/runs/run-a && sha256sum --quiet -c ../../../sums'
is "artifacts: every file is there" \
    "$(sql "SELECT path FROM artifacts WHERE run_id = 'run-a' ORDER BY path")" \
    "$(cd .factory/runs/run-a && find . -type f | sed 's,^\./,,' | LC_ALL=C sort)"
views=$(sql "SELECT name FROM sqlite_schema WHERE type = 'view'")
is "no view reads a column that is not there" "$(for view in $views; do
    sql "SELECT count(*) FROM (SELECT * FROM $view)" >/dev/null || echo "$view"
done)" ""

# --- the document
documented() {
    awk -v view="$1" '/^#/ { inside = ($1 == "###" && ($2 == view ":")) }
        inside && /^\| *`/ { sub(/^\| */, ""); sub(/\|.*/, ""); print }' "$schema" |
        grep -o '`[a-z_0-9]*`' | tr -d '`' | sort
}
for view in runs events activities activity_log timers factory_runs conditions sandboxes \
    artifacts; do
    is "docs/schema.md has the columns of $view" "$(documented $view)" \
        "$(sql "SELECT name FROM pragma_table_info('$view')" | sort)"
done
none "every query of docs/schema.md is one" "$(awk '/^```sql/ { inside = 1; next }
    /^```/ { inside = 0 } inside && !/^--/' "$schema" |
    awk '{ query = query $0 " " } /;$/ { print query; query = "" }' |
    while IFS= read -r query; do
        sql "$query" >/dev/null 2>error || { echo "$query" && cat error; }
    done)"
done_testing
