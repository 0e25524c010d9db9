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

-- Views: the stable, documented face (docs/schema.md). A run is there from its submission on.
CREATE VIEW factory_runs AS
SELECT e.id AS id,
       substr(e.workflow_id, 13) AS run_id,
       CASE WHEN r.state <> 'RUNNING' THEN r.state
            ELSE coalesce(e.memo ->> 'state', 'RUNNING') END AS state,
       iif(e.status = 1, e.memo ->> 'step', NULL) AS step,
       r.request ->> 'task' AS task,
       coalesce(r.repository, e.memo ->> 'repository') AS repository,
       coalesce(r.revision, e.memo ->> 'revision') AS revision,
       r.commit_id AS commit_id,
       coalesce(r.agent, e.memo ->> 'agent') AS agent,
       r.model AS model,
       coalesce(r.profile, e.memo ->> 'profile') AS profile,
       coalesce(r.agent_result, e.memo ->> 'agent_result') AS agent_result,
       coalesce(r.verification_result, e.memo ->> 'verification_result') AS verification_result,
       r.cleanup_result AS cleanup_result,
       r.patch_sha256 AS patch_sha256,
       r.manifest_sha256 AS manifest_sha256,
       r.config_digest AS config_digest,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.started_ns / 1000000000.0, 'unixepoch') AS submitted,
       strftime('%Y-%m-%dT%H:%M:%fZ', r.finished_ns / 1000000000.0, 'unixepoch') AS finished,
       e.workflow_id AS workflow_id,
       e.run_id AS execution_id
  FROM execution AS e
  LEFT JOIN factory_run AS r ON r.run_id = substr(e.workflow_id, 13) AND r.execution_id = e.run_id
 WHERE e.workflow_id GLOB 'factory-run-*';

CREATE VIEW conditions AS
SELECT substr(e.workflow_id, 13) AS run_id,
       c.value ->> 'type' AS type,
       c.value ->> 'status' AS status,
       c.value ->> 'reason' AS reason,
       c.value ->> 'message' AS message,
       c.value ->> 'last_transition_time' AS last_transition_time,
       e.workflow_id AS workflow_id
  FROM execution AS e, json_each(e.memo) AS c
 WHERE e.workflow_id GLOB 'factory-run-*' AND c.key GLOB 'condition.*';

CREATE VIEW artifacts AS
SELECT run_id, path, sha256, bytes,
       strftime('%Y-%m-%dT%H:%M:%fZ', written_ns / 1000000000.0, 'unixepoch') AS written
  FROM factory_artifact;

CREATE VIEW sandboxes AS
SELECT sandbox_id, run_id, execution_id, role, provider,
       strftime('%Y-%m-%dT%H:%M:%fZ', created_ns / 1000000000.0, 'unixepoch') AS created,
       strftime('%Y-%m-%dT%H:%M:%fZ', destroyed_ns / 1000000000.0, 'unixepoch') AS destroyed
  FROM factory_sandbox;
