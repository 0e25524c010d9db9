-- Takes 0002_primitives away: the store is then as step 0001 left it. Only run on a store in which
-- nothing needs the newer schema.

DROP VIEW clock_jumps;
DROP TABLE clock_jump;
DROP TABLE clock;
DROP TABLE sealing_key;
DROP VIEW children;
DROP TABLE child;
DROP VIEW search_attributes;
DROP TRIGGER search_attribute_update;
DROP TRIGGER search_attribute_insert;
DROP TABLE search_attribute;
DROP TABLE question;
DROP VIEW updates;
DROP TRIGGER run_update_cut;
DROP TABLE run_update;

DROP VIEW schedules;
DROP TRIGGER schedule_run_closed;
DROP TABLE schedule_run;
DROP TABLE schedule_start;
DROP TABLE schedule;

DROP VIEW runs;
DROP TABLE signal_request;
ALTER TABLE execution DROP COLUMN task_timeout_ns;
DROP INDEX execution_parent;
DROP INDEX execution_first_task;
ALTER TABLE execution DROP COLUMN first_task_by_wall;
ALTER TABLE execution DROP COLUMN parent_event_id;
ALTER TABLE execution DROP COLUMN parent;
ALTER TABLE execution DROP COLUMN search_attributes;
ALTER TABLE execution DROP COLUMN paused;
ALTER TABLE execution DROP COLUMN first_task_ns;
ALTER TABLE execution DROP COLUMN attempt;
ALTER TABLE execution DROP COLUMN next_run_id;
ALTER TABLE execution DROP COLUMN first_run_id;
CREATE VIEW runs AS
SELECT e.id AS id,
       e.workflow_id AS workflow_id,
       e.run_id AS run_id,
       e.type AS type,
       e.task_queue AS task_queue,
       CASE e.status WHEN 1 THEN 'Running' WHEN 2 THEN 'Completed' WHEN 3 THEN 'Failed'
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
       e.parked AS parked
  FROM execution AS e;

DROP VIEW queues;
DROP VIEW activities;
DROP TABLE task_queue;
DROP TABLE activity_report;
DROP INDEX activity_admission;
ALTER TABLE activity DROP COLUMN queued_ns;
ALTER TABLE activity DROP COLUMN concurrency_key;
ALTER TABLE activity DROP COLUMN priority;
ALTER TABLE activity DROP COLUMN is_async;
CREATE VIEW activities AS
SELECT e.workflow_id AS workflow_id,
       e.run_id AS run_id,
       a.scheduled_event_id AS scheduled_event_id,
       a.activity_id AS activity_id,
       a.type AS type,
       a.task_queue AS task_queue,
       CASE a.state WHEN 1 THEN 'Scheduled' WHEN 2 THEN 'Started' WHEN 3 THEN 'Backoff'
            END AS state,
       a.attempt AS attempt,
       strftime('%Y-%m-%dT%H:%M:%fZ', a.scheduled_ns / 1000000000.0, 'unixepoch') AS scheduled,
       strftime('%Y-%m-%dT%H:%M:%fZ', a.started_ns / 1000000000.0, 'unixepoch') AS started,
       strftime('%Y-%m-%dT%H:%M:%fZ', a.next_attempt_ns / 1000000000.0, 'unixepoch')
           AS next_attempt,
       strftime('%Y-%m-%dT%H:%M:%fZ', a.heartbeat_ns / 1000000000.0, 'unixepoch')
           AS last_heartbeat,
       a.heartbeat_details AS heartbeat_details,
       a.last_failure AS last_failure,
       CASE WHEN json_valid(a.last_failure)
            THEN coalesce(json_extract(a.last_failure, '$.message'), a.last_failure)
            ELSE a.last_failure END AS last_error,
       a.cancel_event_id IS NOT NULL AS cancel_requested
  FROM activity AS a
  JOIN execution AS e ON e.id = a.execution;

UPDATE execution
   SET next_event_id = coalesce((SELECT b.last_event_id + 1 FROM event_batch AS b
                                  WHERE b.execution = execution.id
                                  ORDER BY b.first_event_id DESC LIMIT 1), 1),
       history_bytes = coalesce((SELECT b.history_bytes FROM event_batch AS b
                                  WHERE b.execution = execution.id
                                  ORDER BY b.first_event_id DESC LIMIT 1), 0)
 WHERE status = 1;
DROP VIEW event;
CREATE TABLE event (
    execution  INTEGER NOT NULL REFERENCES execution (id) ON DELETE CASCADE,
    event_id   INTEGER NOT NULL CHECK (event_id > 0),
    type       INTEGER NOT NULL,
    time_ns    INTEGER NOT NULL,
    attributes TEXT,
    blob       INTEGER,
    PRIMARY KEY (execution, event_id),
    FOREIGN KEY (execution, blob) REFERENCES blob_ref (execution, blob)
) STRICT, WITHOUT ROWID;
CREATE INDEX event_blob ON event (execution, blob) WHERE blob IS NOT NULL;
INSERT INTO event (execution, event_id, type, time_ns, attributes, blob)
SELECT b.execution, b.first_event_id + e.key, json_extract(e.value, '$[0]'),
       b.time_ns + json_extract(e.value, '$[1]'), json_extract(e.value, '$[2]'),
       json_extract(e.value, '$[3]')
  FROM event_batch AS b,
       json_each(b.events) AS e
 ORDER BY b.execution, b.first_event_id, e.key;
CREATE TRIGGER event_frozen BEFORE UPDATE ON event BEGIN
    SELECT RAISE(ABORT, 'histories are append-only');
END;
CREATE TRIGGER event_kept BEFORE DELETE ON event
WHEN EXISTS (SELECT 1 FROM execution WHERE id = old.execution) BEGIN
    SELECT RAISE(ABORT, 'histories are append-only');
END;
DROP TABLE event_batch;
