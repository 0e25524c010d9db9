-- The factory's ledger, beside the engine's journal in the same file (docs/schema.md).
CREATE TABLE factory_run (
    run_id              TEXT PRIMARY KEY,
    workflow_id         TEXT NOT NULL,
    execution_id        TEXT NOT NULL,  -- the durable execution's run id
    request             TEXT NOT NULL,  -- as received, with the configuration that the run pins
    plan                TEXT,           -- what validation made of it
    repository          TEXT NOT NULL,
    revision            TEXT NOT NULL,
    commit_id           TEXT,
    agent               TEXT NOT NULL,
    model               TEXT,
    profile             TEXT NOT NULL,
    task_sha256         TEXT NOT NULL,
    config_digest       TEXT NOT NULL,
    submitted_ns        INTEGER NOT NULL,
    finished_ns         INTEGER,
    state               TEXT NOT NULL,  -- RUNNING until finalized
    agent_result        TEXT,
    verification_result TEXT,
    cleanup_result      TEXT,
    patch_sha256        TEXT,
    manifest_sha256     TEXT
) STRICT;
CREATE INDEX factory_run_by_time ON factory_run (submitted_ns);
CREATE INDEX factory_run_by_workflow ON factory_run (workflow_id);

CREATE TABLE factory_artifact (
    run_id     TEXT NOT NULL,
    path       TEXT NOT NULL,           -- relative to the run's directory
    sha256     TEXT NOT NULL,
    bytes      INTEGER NOT NULL,
    written_ns INTEGER NOT NULL,
    PRIMARY KEY (run_id, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE factory_sandbox (
    sandbox_id   TEXT PRIMARY KEY,
    run_id       TEXT NOT NULL,
    execution_id TEXT NOT NULL,
    role         TEXT NOT NULL,
    provider     TEXT NOT NULL,
    created_ns   INTEGER NOT NULL,
    destroyed_ns INTEGER
) STRICT;
CREATE INDEX factory_sandbox_by_run ON factory_sandbox (run_id);

CREATE VIEW factory_runs AS
SELECT run_id, workflow_id, execution_id, state, repository, revision, commit_id, agent, model, profile,
       agent_result, verification_result, cleanup_result, patch_sha256, manifest_sha256,
       strftime('%Y-%m-%dT%H:%M:%SZ', submitted_ns / 1000000000, 'unixepoch') AS submitted_at,
       strftime('%Y-%m-%dT%H:%M:%SZ', finished_ns / 1000000000, 'unixepoch') AS finished_at
  FROM factory_run;

CREATE VIEW conditions AS
SELECT substr(e.workflow_id, 13) AS run_id, c.value ->> 'type' AS type, c.value ->> 'status' AS status,
       c.value ->> 'reason' AS reason, c.value ->> 'message' AS message,
       c.value ->> 'last_transition_time' AS last_transition_time
  FROM execution e, json_each(e.memo) c
 WHERE e.workflow_id GLOB 'factory-run-*' AND c.key GLOB 'condition.*';

CREATE VIEW artifacts AS
SELECT run_id, path, sha256, bytes,
       strftime('%Y-%m-%dT%H:%M:%SZ', written_ns / 1000000000, 'unixepoch') AS written_at
  FROM factory_artifact;

CREATE VIEW sandboxes AS
SELECT sandbox_id, run_id, role, provider,
       strftime('%Y-%m-%dT%H:%M:%SZ', created_ns / 1000000000, 'unixepoch') AS created_at,
       strftime('%Y-%m-%dT%H:%M:%SZ', destroyed_ns / 1000000000, 'unixepoch') AS destroyed_at
  FROM factory_sandbox;
