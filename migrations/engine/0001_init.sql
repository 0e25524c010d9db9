-- 0001_init: the engine's tables. What they mean: docs/schema.md and the head comments in
-- src/journal/. Released steps never change; a change is a new step.

-- One row per run of a workflow. The columns that change with every turn come first.
CREATE TABLE execution (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    status          INTEGER NOT NULL CHECK (status BETWEEN 1 AND 7),
    next_event_id   INTEGER NOT NULL DEFAULT 1,
    history_bytes   INTEGER NOT NULL DEFAULT 0,
    started_ns      INTEGER NOT NULL,
    closed_ns       INTEGER CHECK ((closed_ns IS NULL) = (status = 1)),
    run_deadline_ns INTEGER,
    expires_ns      INTEGER,
    workflow_id     TEXT NOT NULL CHECK (workflow_id <> ''),
    run_id          TEXT NOT NULL CHECK (run_id <> ''),
    type            TEXT NOT NULL,
    task_queue      TEXT NOT NULL,
    request_id      TEXT,
    memo            TEXT,
    result          TEXT,
    failure         TEXT,
    parked          TEXT
) STRICT;
CREATE UNIQUE INDEX execution_open ON execution (workflow_id) WHERE status = 1;
CREATE INDEX execution_workflow ON execution (workflow_id);
CREATE UNIQUE INDEX execution_run ON execution (run_id);
CREATE INDEX execution_status ON execution (status);
CREATE INDEX execution_closed ON execution (closed_ns) WHERE closed_ns IS NOT NULL;
CREATE INDEX execution_run_deadline ON execution (run_deadline_ns)
    WHERE run_deadline_ns IS NOT NULL AND status = 1;
CREATE INDEX execution_expires ON execution (expires_ns)
    WHERE expires_ns IS NOT NULL AND status = 1;

-- Runs by status, kept by triggers: counting a million rows would take too long.
CREATE TABLE execution_count (
    status INTEGER PRIMARY KEY,
    n      INTEGER NOT NULL CHECK (n >= 0)
) STRICT;
INSERT INTO execution_count (status, n) VALUES (1,0), (2,0), (3,0), (4,0), (5,0), (6,0), (7,0);
CREATE TRIGGER execution_count_insert AFTER INSERT ON execution BEGIN
    UPDATE execution_count SET n = n + 1 WHERE status = new.status;
END;
CREATE TRIGGER execution_count_update AFTER UPDATE OF status ON execution BEGIN
    UPDATE execution_count SET n = n - 1 WHERE status = old.status;
    UPDATE execution_count SET n = n + 1 WHERE status = new.status;
END;
CREATE TRIGGER execution_count_delete AFTER DELETE ON execution BEGIN
    UPDATE execution_count SET n = n - 1 WHERE status = old.status;
END;
-- A closed run stays closed.
CREATE TRIGGER execution_reopen BEFORE UPDATE OF status ON execution
WHEN old.status <> 1 AND new.status <> old.status BEGIN
    SELECT RAISE(ABORT, 'a closed run stays closed');
END;

-- Large content, once. size: before compression. codec: 0 as it is, 1 zstd.
CREATE TABLE blob (
    id     INTEGER PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE CHECK (length(digest) = 64),
    size   INTEGER NOT NULL,
    codec  INTEGER NOT NULL,
    bytes  BLOB NOT NULL
) STRICT;
CREATE TRIGGER blob_frozen BEFORE UPDATE ON blob BEGIN
    SELECT RAISE(ABORT, 'a blob never changes');
END;
CREATE TABLE blob_ref (
    execution INTEGER NOT NULL REFERENCES execution (id) ON DELETE CASCADE,
    blob      INTEGER NOT NULL REFERENCES blob (id),
    PRIMARY KEY (execution, blob)
) STRICT, WITHOUT ROWID;
CREATE INDEX blob_ref_blob ON blob_ref (blob);
CREATE TRIGGER blob_ref_last AFTER DELETE ON blob_ref
WHEN NOT EXISTS (SELECT 1 FROM blob_ref WHERE blob = old.blob) BEGIN
    DELETE FROM blob WHERE id = old.blob;
END;

-- Histories: append-only, gone only with their run.
CREATE TABLE event_type (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;
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
CREATE TRIGGER event_frozen BEFORE UPDATE ON event BEGIN
    SELECT RAISE(ABORT, 'histories are append-only');
END;
CREATE TRIGGER event_kept BEFORE DELETE ON event
WHEN EXISTS (SELECT 1 FROM execution WHERE id = old.execution) BEGIN
    SELECT RAISE(ABORT, 'histories are append-only');
END;

-- Activities that are scheduled and not closed. state: 1 scheduled, 2 started, 3 backoff.
CREATE TABLE activity (
    execution          INTEGER NOT NULL REFERENCES execution (id) ON DELETE CASCADE,
    scheduled_event_id INTEGER NOT NULL,
    state              INTEGER NOT NULL CHECK (state BETWEEN 1 AND 3),
    attempt            INTEGER NOT NULL CHECK (attempt > 0),
    epoch              INTEGER,
    scheduled_ns       INTEGER NOT NULL,
    started_ns         INTEGER,
    next_attempt_ns    INTEGER CHECK ((next_attempt_ns IS NOT NULL) = (state = 3)),
    deadline_ns        INTEGER,
    heartbeat_ns       INTEGER,
    cancel_event_id    INTEGER,
    activity_id        TEXT NOT NULL,
    type               TEXT NOT NULL,
    task_queue         TEXT NOT NULL,
    input              TEXT,
    options            TEXT,
    heartbeat_details  TEXT,
    last_failure       TEXT,
    PRIMARY KEY (execution, scheduled_event_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX activity_backoff ON activity (next_attempt_ns) WHERE next_attempt_ns IS NOT NULL;

CREATE TABLE timer (
    execution        INTEGER NOT NULL REFERENCES execution (id) ON DELETE CASCADE,
    started_event_id INTEGER NOT NULL,
    timer_id         TEXT NOT NULL,
    due_ns           INTEGER NOT NULL,
    PRIMARY KEY (execution, started_event_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX timer_due ON timer (due_ns);

-- Runs that the engine has to look at. kind: 1 start, 2 signal, 3 cancel, 4 terminate, 5 wake.
CREATE TABLE task (
    execution  INTEGER NOT NULL REFERENCES execution (id) ON DELETE CASCADE,
    kind       INTEGER NOT NULL,
    created_ns INTEGER NOT NULL,
    PRIMARY KEY (execution, kind)
) STRICT, WITHOUT ROWID;

-- The engine that took the ownership lock last. epoch counts them.
CREATE TABLE engine (
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    epoch      INTEGER NOT NULL,
    pid        INTEGER NOT NULL,
    host       TEXT NOT NULL,
    started_ns INTEGER NOT NULL
) STRICT;

INSERT INTO event_type (id, name) VALUES
    (1, 'WorkflowExecutionStarted'),
    (2, 'WorkflowExecutionCompleted'),
    (3, 'WorkflowExecutionFailed'),
    (4, 'WorkflowExecutionTimedOut'),
    (5, 'WorkflowTaskScheduled'),
    (6, 'WorkflowTaskStarted'),
    (7, 'WorkflowTaskCompleted'),
    (8, 'WorkflowTaskTimedOut'),
    (9, 'WorkflowTaskFailed'),
    (10, 'ActivityTaskScheduled'),
    (11, 'ActivityTaskStarted'),
    (12, 'ActivityTaskCompleted'),
    (13, 'ActivityTaskFailed'),
    (14, 'ActivityTaskTimedOut'),
    (15, 'ActivityTaskCancelRequested'),
    (16, 'ActivityTaskCanceled'),
    (17, 'TimerStarted'),
    (18, 'TimerFired'),
    (19, 'TimerCanceled'),
    (20, 'WorkflowExecutionCancelRequested'),
    (21, 'WorkflowExecutionCanceled'),
    (22, 'RequestCancelExternalWorkflowExecutionInitiated'),
    (23, 'RequestCancelExternalWorkflowExecutionFailed'),
    (24, 'ExternalWorkflowExecutionCancelRequested'),
    (25, 'MarkerRecorded'),
    (26, 'WorkflowExecutionSignaled'),
    (27, 'WorkflowExecutionTerminated'),
    (28, 'WorkflowExecutionContinuedAsNew'),
    (29, 'StartChildWorkflowExecutionInitiated'),
    (30, 'StartChildWorkflowExecutionFailed'),
    (31, 'ChildWorkflowExecutionStarted'),
    (32, 'ChildWorkflowExecutionCompleted'),
    (33, 'ChildWorkflowExecutionFailed'),
    (34, 'ChildWorkflowExecutionCanceled'),
    (35, 'ChildWorkflowExecutionTimedOut'),
    (36, 'ChildWorkflowExecutionTerminated'),
    (37, 'SignalExternalWorkflowExecutionInitiated'),
    (38, 'SignalExternalWorkflowExecutionFailed'),
    (39, 'ExternalWorkflowExecutionSignaled'),
    (40, 'UpsertWorkflowSearchAttributes'),
    (41, 'WorkflowExecutionUpdateAccepted'),
    (42, 'WorkflowExecutionUpdateRejected'),
    (43, 'WorkflowExecutionUpdateCompleted'),
    (44, 'WorkflowPropertiesModifiedExternally'),
    (45, 'ActivityPropertiesModifiedExternally'),
    (46, 'WorkflowPropertiesModified'),
    (47, 'WorkflowExecutionUpdateAdmitted'),
    (48, 'NexusOperationScheduled'),
    (49, 'NexusOperationStarted'),
    (50, 'NexusOperationCompleted'),
    (51, 'NexusOperationFailed'),
    (52, 'NexusOperationCanceled'),
    (53, 'NexusOperationTimedOut'),
    (54, 'NexusOperationCancelRequested'),
    (55, 'WorkflowExecutionOptionsUpdated'),
    (56, 'NexusOperationCancelRequestCompleted'),
    (57, 'NexusOperationCancelRequestFailed'),
    (58, 'WorkflowExecutionPaused'),
    (59, 'WorkflowExecutionUnpaused'),
    (60, 'WorkflowExecutionTimeSkippingTransitioned');

-- Views: the stable, documented face (docs/schema.md). Times are UTC text with milliseconds.
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

CREATE VIEW events AS
SELECT e.workflow_id AS workflow_id,
       e.run_id AS run_id,
       v.event_id AS event_id,
       coalesce(t.name, 'Type' || v.type) AS type,
       strftime('%Y-%m-%dT%H:%M:%fZ', v.time_ns / 1000000000.0, 'unixepoch') AS time,
       v.attributes AS attributes,
       b.digest AS blob,
       b.size AS blob_size
  FROM event AS v
  JOIN execution AS e ON e.id = v.execution
  LEFT JOIN event_type AS t ON t.id = v.type
  LEFT JOIN blob AS b ON b.id = v.blob;

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

CREATE VIEW timers AS
SELECT e.workflow_id AS workflow_id,
       e.run_id AS run_id,
       t.started_event_id AS started_event_id,
       t.timer_id AS timer_id,
       strftime('%Y-%m-%dT%H:%M:%fZ', t.due_ns / 1000000000.0, 'unixepoch') AS due
  FROM timer AS t
  JOIN execution AS e ON e.id = t.execution;

-- Which activity a started or closing event belongs to. Stored attributes leave the reference out
-- where it follows from the position (src/history/store.h): a start belongs to the activity
-- scheduled last, an end to the one started last unless that has ended.
CREATE VIEW activity_start AS
SELECT v.execution AS execution,
       v.event_id AS event_id,
       coalesce(v.attributes ->> 'scheduledEventId',
                (SELECT max(s.event_id) FROM event AS s
                  WHERE s.execution = v.execution AND s.type = 10 AND s.event_id < v.event_id))
           AS scheduled_event_id
  FROM event AS v
 WHERE v.type = 11;

CREATE VIEW activity_end AS
SELECT v.execution AS execution,
       v.event_id AS event_id,
       coalesce(v.attributes ->> 'scheduledEventId',
                (SELECT CASE b.type WHEN 11 THEN
                            (SELECT st.scheduled_event_id FROM activity_start AS st
                              WHERE st.execution = b.execution AND st.event_id = b.event_id)
                        END
                   FROM event AS b
                  WHERE b.execution = v.execution AND b.type IN (11, 12, 13, 14, 16)
                    AND b.event_id < v.event_id
                  ORDER BY b.event_id DESC LIMIT 1),
                (SELECT max(s.event_id) FROM event AS s
                  WHERE s.execution = v.execution AND s.type = 10 AND s.event_id < v.event_id))
           AS scheduled_event_id
  FROM event AS v
 WHERE v.type IN (12, 13, 14, 16);

CREATE VIEW activity_log AS
SELECT e.workflow_id AS workflow_id,
       e.run_id AS run_id,
       a.event_id AS scheduled_event_id,
       coalesce(p.type, a.attributes ->> 'activityType') AS type,
       CASE WHEN c.type = 12 THEN 'Completed' WHEN c.type = 13 THEN 'Failed'
            WHEN c.type = 14 THEN 'TimedOut' WHEN c.type = 16 THEN 'Canceled'
            WHEN p.state = 1 THEN 'Scheduled' WHEN p.state = 2 THEN 'Started'
            WHEN p.state = 3 THEN 'Backoff' ELSE 'Dropped' END AS state,
       coalesce(p.attempt, b.attributes ->> 'attempt', iif(b.event_id IS NULL, 0, 1)) AS attempt,
       strftime('%Y-%m-%dT%H:%M:%fZ', a.time_ns / 1000000000.0, 'unixepoch') AS scheduled,
       strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(p.started_ns, b.time_ns) / 1000000000.0, 'unixepoch')
           AS started,
       strftime('%Y-%m-%dT%H:%M:%fZ', c.time_ns / 1000000000.0, 'unixepoch') AS closed,
       (c.time_ns - a.time_ns) / 1000000 AS duration_ms,
       coalesce(c.attributes ->> '$.failure.message', b.attributes ->> '$.lastFailure.message',
                iif(json_valid(p.last_failure), p.last_failure ->> 'message', p.last_failure))
           AS last_error
  FROM (SELECT s.execution, s.event_id, s.time_ns, s.attributes,
               (SELECT max(st.event_id) FROM activity_start AS st
                 WHERE st.execution = s.execution AND st.event_id > s.event_id
                   AND st.scheduled_event_id = s.event_id) AS start_id,
               (SELECT max(en.event_id) FROM activity_end AS en
                 WHERE en.execution = s.execution AND en.event_id > s.event_id
                   AND en.scheduled_event_id = s.event_id) AS end_id
          FROM event AS s
         WHERE s.type = 10) AS a
  JOIN execution AS e ON e.id = a.execution
  LEFT JOIN event AS b ON b.execution = a.execution AND b.event_id = a.start_id
  LEFT JOIN event AS c ON c.execution = a.execution AND c.event_id = a.end_id
  LEFT JOIN activity AS p ON p.execution = a.execution AND p.scheduled_event_id = a.event_id;
