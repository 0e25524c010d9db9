-- 0002_primitives: what the further primitives keep beside the histories. One section per subject;
-- migrations/back/engine/0002_primitives.sql takes them away again.

-- Chains of runs (continue-as-new, retry, cron), parents, pausing, search attributes.
-- first_run_id: NULL means the run itself. first_task_ns: no workflow task before (retry back-off,
-- cron, start delay). paused: NULL, or why. parent, parent_event_id: the execution that started
-- this one and the event that asked; no foreign key, since a parent may be purged first.
ALTER TABLE execution ADD COLUMN first_run_id TEXT;
ALTER TABLE execution ADD COLUMN next_run_id TEXT;
ALTER TABLE execution ADD COLUMN attempt INTEGER NOT NULL DEFAULT 1;
ALTER TABLE execution ADD COLUMN first_task_ns INTEGER;
ALTER TABLE execution ADD COLUMN paused TEXT;
ALTER TABLE execution ADD COLUMN search_attributes TEXT;
ALTER TABLE execution ADD COLUMN parent INTEGER;
ALTER TABLE execution ADD COLUMN parent_event_id INTEGER;
CREATE INDEX execution_first_task ON execution (first_task_ns)
    WHERE first_task_ns IS NOT NULL AND status = 1;
CREATE INDEX execution_parent ON execution (parent) WHERE parent IS NOT NULL;

DROP VIEW runs;
CREATE VIEW runs AS
SELECT e.id AS id,
       e.workflow_id AS workflow_id,
       e.run_id AS run_id,
       e.type AS type,
       e.task_queue AS task_queue,
       CASE e.status WHEN 1 THEN iif(e.paused IS NULL, 'Running', 'Paused')
            WHEN 2 THEN 'Completed' WHEN 3 THEN 'Failed'
            WHEN 4 THEN 'Canceled' WHEN 5 THEN 'Terminated' WHEN 6 THEN 'ContinuedAsNew'
            WHEN 7 THEN 'TimedOut' END AS status,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.started_ns / 1000000000.0, 'unixepoch') AS started,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.closed_ns / 1000000000.0, 'unixepoch') AS closed,
       e.next_event_id - 1 AS events,
       e.history_bytes AS history_bytes,
       (SELECT count(*) FROM activity AS a WHERE a.execution = e.id) AS pending_activities,
       e.memo AS memo,
       e.result AS result,
       e.failure AS failure,
       e.parked AS parked,
       e.paused AS paused,
       e.attempt AS attempt,
       coalesce(e.first_run_id, e.run_id) AS first_run_id,
       e.next_run_id AS next_run_id,
       (SELECT p.workflow_id FROM execution AS p WHERE p.id = e.parent) AS parent_workflow_id,
       e.search_attributes AS search_attributes,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.first_task_ns / 1000000000.0, 'unixepoch') AS begins
  FROM execution AS e;

-- Births: the time-out of a run's workflow tasks (NULL in rows of older programs: the default), and
-- the requests to signal that a run has taken, so that the same one again changes nothing.
ALTER TABLE execution ADD COLUMN task_timeout_ns INTEGER;
CREATE TABLE signal_request (
    execution  INTEGER NOT NULL REFERENCES execution (id) ON DELETE CASCADE,
    request_id TEXT NOT NULL,
    PRIMARY KEY (execution, request_id)
) STRICT, WITHOUT ROWID;
