-- 0002_primitives: what the further primitives keep beside the histories. One section per subject;
-- migrations/back/engine/0002_primitives.sql takes them away again.

-- Histories, one row for what a run's history gained in one transaction, in the order in which it
-- happened: a turn of a hundred runs then writes a few pages, not one a run. events is a JSON array
-- of [type, nanoseconds after time_ns, attributes or null] with the blob that holds the attributes
-- as fourth, if there is one. history_bytes: of the run's history up to here. The head of an open
-- run is its last batch; execution.next_event_id and .history_bytes are set when it closes.
CREATE TABLE event_batch (
    id             INTEGER PRIMARY KEY,
    execution      INTEGER NOT NULL REFERENCES execution (id) ON DELETE CASCADE,
    first_event_id INTEGER NOT NULL CHECK (first_event_id > 0),
    last_event_id  INTEGER NOT NULL CHECK (last_event_id >= first_event_id),
    history_bytes  INTEGER NOT NULL,
    time_ns        INTEGER NOT NULL,
    events         TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX event_batch_execution ON event_batch (execution, first_event_id);
INSERT INTO event_batch (execution, first_event_id, last_event_id, history_bytes, time_ns, events)
SELECT e.execution, e.event_id, e.event_id,
       sum(coalesce(b.size, length(CAST(e.attributes AS BLOB)), 0) + 16)
           OVER (PARTITION BY e.execution ORDER BY e.event_id),
       e.time_ns,
       '[[' || e.type || ',0,' || coalesce(e.attributes, 'null') ||
           iif(e.blob IS NULL, '', ',' || e.blob) || ']]'
  FROM event AS e
  LEFT JOIN blob AS b ON b.id = e.blob
 ORDER BY e.execution, e.event_id;
DROP TABLE event;
CREATE TRIGGER event_batch_frozen BEFORE UPDATE ON event_batch BEGIN
    SELECT RAISE(ABORT, 'histories are append-only');
END;
CREATE TRIGGER event_batch_kept BEFORE DELETE ON event_batch
WHEN EXISTS (SELECT 1 FROM execution WHERE id = old.execution) BEGIN
    SELECT RAISE(ABORT, 'histories are append-only');
END;
-- The events one by one.
CREATE VIEW event AS
SELECT b.execution AS execution,
       b.first_event_id + e.key AS event_id,
       json_extract(e.value, '$[0]') AS type,
       b.time_ns + json_extract(e.value, '$[1]') AS time_ns,
       json_extract(e.value, '$[2]') AS attributes,
       json_extract(e.value, '$[3]') AS blob
  FROM event_batch AS b,
       json_each(b.events) AS e;

-- Chains of runs (continue-as-new, retry, cron), parents, pausing, search attributes.
-- first_run_id: NULL means the run itself. first_task_ns: no workflow task before (retry back-off,
-- cron, start delay); by_wall: it is a time of the calendar, and stays when the clock is set.
-- paused: NULL, or why. parent, parent_event_id: the execution that started
-- this one and the event that asked; no foreign key, since a parent may be purged first.
ALTER TABLE execution ADD COLUMN first_run_id TEXT;
ALTER TABLE execution ADD COLUMN next_run_id TEXT;
ALTER TABLE execution ADD COLUMN attempt INTEGER NOT NULL DEFAULT 1;
ALTER TABLE execution ADD COLUMN first_task_ns INTEGER;
ALTER TABLE execution ADD COLUMN paused TEXT;
ALTER TABLE execution ADD COLUMN search_attributes TEXT;
ALTER TABLE execution ADD COLUMN parent INTEGER;
ALTER TABLE execution ADD COLUMN parent_event_id INTEGER;
ALTER TABLE execution ADD COLUMN first_task_by_wall INTEGER NOT NULL DEFAULT 0;
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
       iif(e.status = 1, coalesce((SELECT b.last_event_id FROM event_batch AS b
            WHERE b.execution = e.id ORDER BY b.first_event_id DESC LIMIT 1), 0),
           e.next_event_id - 1) AS events,
       iif(e.status = 1, coalesce((SELECT b.history_bytes FROM event_batch AS b
            WHERE b.execution = e.id ORDER BY b.first_event_id DESC LIMIT 1), 0),
           e.history_bytes) AS history_bytes,
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

-- Updates that clients ask for: written by them, settled in the engine's turn. state: 1 admitted,
-- 2 accepted, 3 completed, 4 rejected, 5 cut off by the end of its run.
CREATE TABLE run_update (
    execution         INTEGER NOT NULL REFERENCES execution (id) ON DELETE CASCADE,
    update_id         TEXT NOT NULL CHECK (update_id <> ''),
    state             INTEGER NOT NULL CHECK (state BETWEEN 1 AND 5),
    accepted_event_id INTEGER CHECK (accepted_event_id IS NULL OR state IN (2, 3, 5)),
    created_ns        INTEGER NOT NULL,
    name              TEXT NOT NULL,
    input             TEXT,
    identity          TEXT,
    result            TEXT,
    failure           TEXT,
    PRIMARY KEY (execution, update_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_update_admitted ON run_update (execution) WHERE state = 1;
CREATE TRIGGER run_update_cut AFTER UPDATE OF status ON execution
WHEN old.status = 1 AND new.status <> 1 BEGIN
    UPDATE run_update SET state = 5 WHERE execution = new.id AND state IN (1, 2);
END;
CREATE VIEW updates AS
SELECT e.workflow_id AS workflow_id,
       e.run_id AS run_id,
       u.update_id AS update_id,
       u.name AS name,
       CASE u.state WHEN 1 THEN 'Admitted' WHEN 2 THEN 'Accepted' WHEN 3 THEN 'Completed'
            WHEN 4 THEN 'Rejected' WHEN 5 THEN 'CutOff' END AS state,
       u.accepted_event_id AS accepted_event_id,
       strftime('%Y-%m-%dT%H:%M:%fZ', u.created_ns / 1000000000.0, 'unixepoch') AS created,
       u.input AS input,
       u.result AS result,
       u.failure AS failure
  FROM run_update AS u
  JOIN execution AS e ON e.id = u.execution;

-- Questions to the engine that serves; the asker takes its row away. stale: the run is parked, and
-- answered as it was after this event.
CREATE TABLE question (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    execution    INTEGER NOT NULL REFERENCES execution (id) ON DELETE CASCADE,
    created_ns   INTEGER NOT NULL,
    expires_ns   INTEGER NOT NULL,
    answered_ns  INTEGER,
    name         TEXT NOT NULL,
    input        TEXT,
    answer       TEXT,
    failure_type TEXT,
    failure      TEXT,
    stale        INTEGER
) STRICT;
CREATE INDEX question_execution ON question (execution);
CREATE INDEX question_waiting ON question (id) WHERE answered_ns IS NULL;

-- Activities that are completed by token, and queues with limits. activity.is_async: of a started
-- one: nobody runs it, its outcome will be reported. activity.queued_ns: its queue has limits, and
-- it waits there since then. task_queue.tokens: of the rate, at refilled_ns. activity_report.kind:
-- 1 heartbeat, 2 outcome; code: 0 completed, -1 failed, -2 cancelled.
ALTER TABLE activity ADD COLUMN is_async INTEGER NOT NULL DEFAULT 0;
ALTER TABLE activity ADD COLUMN priority INTEGER NOT NULL DEFAULT 3;
ALTER TABLE activity ADD COLUMN concurrency_key TEXT;
ALTER TABLE activity ADD COLUMN queued_ns INTEGER;
CREATE INDEX activity_admission ON activity (task_queue, state, priority, queued_ns)
    WHERE queued_ns IS NOT NULL;
CREATE TABLE activity_report (
    execution          INTEGER NOT NULL REFERENCES execution (id) ON DELETE CASCADE,
    scheduled_event_id INTEGER NOT NULL,
    kind               INTEGER NOT NULL CHECK (kind IN (1, 2)),
    attempt            INTEGER NOT NULL,
    code               INTEGER NOT NULL,
    body               TEXT,
    identity           TEXT,
    created_ns         INTEGER NOT NULL,
    PRIMARY KEY (execution, scheduled_event_id, kind)
) STRICT, WITHOUT ROWID;
CREATE TABLE task_queue (
    name        TEXT NOT NULL PRIMARY KEY,
    slots       INTEGER NOT NULL,
    rate_per_s  REAL NOT NULL,
    burst       INTEGER NOT NULL CHECK (burst > 0),
    per_key     INTEGER NOT NULL,
    tokens      REAL NOT NULL,
    refilled_ns INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

DROP VIEW activities;
CREATE VIEW activities AS
SELECT e.workflow_id AS workflow_id,
       e.run_id AS run_id,
       a.scheduled_event_id AS scheduled_event_id,
       a.activity_id AS activity_id,
       a.type AS type,
       a.task_queue AS task_queue,
       CASE a.state WHEN 1 THEN 'Scheduled' WHEN 2 THEN iif(a.is_async, 'Async', 'Started')
            WHEN 3 THEN 'Backoff' END AS state,
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
       a.cancel_event_id IS NOT NULL AS cancel_requested,
       a.priority AS priority,
       a.concurrency_key AS concurrency_key
  FROM activity AS a
  JOIN execution AS e ON e.id = a.execution;

CREATE VIEW queues AS
SELECT n.name AS name,
       q.slots AS slots,
       q.rate_per_s AS rate_per_s,
       q.burst AS burst,
       q.per_key AS per_key,
       n.waiting AS waiting,
       n.running AS running,
       n.backoff AS backoff,
       n.async AS async
  FROM (SELECT name, sum(waiting) AS waiting, sum(running) AS running, sum(backoff) AS backoff,
               sum(async) AS async
          FROM (SELECT task_queue AS name, state = 1 AS waiting,
                       state = 2 AND NOT is_async AS running, state = 3 AS backoff,
                       state = 2 AND is_async AS async
                  FROM activity
                UNION ALL
                SELECT name, 0, 0, 0, 0 FROM task_queue)
         GROUP BY name) AS n
  LEFT JOIN task_queue AS q ON q.name = n.name;

-- Children: those of open runs that have started and not ended, with what becomes of each when its
-- parent ends first. close_policy: 1 terminate, 2 abandon, 3 request cancel.
CREATE TABLE child (
    execution          INTEGER NOT NULL REFERENCES execution (id) ON DELETE CASCADE,
    initiated_event_id INTEGER NOT NULL,
    started_event_id   INTEGER NOT NULL,
    close_policy       INTEGER NOT NULL CHECK (close_policy BETWEEN 1 AND 3),
    workflow_id        TEXT NOT NULL,
    run_id             TEXT NOT NULL,
    PRIMARY KEY (execution, initiated_event_id)
) STRICT, WITHOUT ROWID;

CREATE VIEW children AS
SELECT p.workflow_id AS workflow_id,
       p.run_id AS run_id,
       e.parent_event_id AS initiated_event_id,
       e.workflow_id AS child_workflow_id,
       e.run_id AS child_run_id,
       e.type AS type,
       CASE e.status WHEN 1 THEN iif(e.paused IS NULL, 'Running', 'Paused')
            WHEN 2 THEN 'Completed' WHEN 3 THEN 'Failed'
            WHEN 4 THEN 'Canceled' WHEN 5 THEN 'Terminated' WHEN 6 THEN 'ContinuedAsNew'
            WHEN 7 THEN 'TimedOut' END AS status,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.started_ns / 1000000000.0, 'unixepoch') AS started,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.closed_ns / 1000000000.0, 'unixepoch') AS closed,
       CASE c.close_policy WHEN 1 THEN 'Terminate' WHEN 2 THEN 'Abandon'
            WHEN 3 THEN 'RequestCancel' END AS close_policy
  FROM execution AS e
  JOIN execution AS p ON p.id = e.parent
  LEFT JOIN child AS c ON e.status = 1 AND c.execution = e.parent
                      AND c.initiated_event_id = e.parent_event_id;

-- Schedules. definition: what was set, as JSON. Every nominal time up to cursor_ns is decided;
-- nominal_ns is the next one (NULL: none to come), due_ns when the engine looks at it (with its
-- jitter, unless it has to wait). ripe: there is something to do that no time announces (a run of
-- it closed, a trigger). last_result, last_failure: of the run that closed last.
CREATE TABLE schedule (
    id           INTEGER PRIMARY KEY,
    name         TEXT NOT NULL UNIQUE,
    definition   TEXT NOT NULL,
    paused       INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
    note         TEXT,
    problem      TEXT,
    remaining    INTEGER CHECK (remaining >= 0),
    created_ns   INTEGER NOT NULL,
    changed_ns   INTEGER NOT NULL,
    cursor_ns    INTEGER NOT NULL,
    nominal_ns   INTEGER,
    due_ns       INTEGER,
    ripe         INTEGER NOT NULL DEFAULT 0 CHECK (ripe IN (0, 1)),
    started      INTEGER NOT NULL DEFAULT 0,
    skipped      INTEGER NOT NULL DEFAULT 0,
    missed       INTEGER NOT NULL DEFAULT 0,
    dropped      INTEGER NOT NULL DEFAULT 0,
    last_result  TEXT,
    last_failure TEXT
) STRICT;
CREATE INDEX schedule_due ON schedule (due_ns) WHERE due_ns IS NOT NULL;
CREATE INDEX schedule_ripe ON schedule (id) WHERE ripe = 1;
-- Starts that wait: for a run to end, or for the engine to see a trigger or a backfill.
CREATE TABLE schedule_start (
    schedule   INTEGER NOT NULL REFERENCES schedule (id) ON DELETE CASCADE,
    number     INTEGER NOT NULL,
    nominal_ns INTEGER NOT NULL,
    overlap    INTEGER NOT NULL CHECK (overlap BETWEEN 0 AND 5),
    manual     INTEGER NOT NULL CHECK (manual IN (0, 1)),
    PRIMARY KEY (schedule, number)
) STRICT, WITHOUT ROWID;
-- Runs that it started, by the first run of their chain: those that are open, and the latest.
CREATE TABLE schedule_run (
    schedule    INTEGER NOT NULL REFERENCES schedule (id) ON DELETE CASCADE,
    number      INTEGER NOT NULL,
    workflow_id TEXT NOT NULL,
    run_id      TEXT NOT NULL UNIQUE,
    nominal_ns  INTEGER NOT NULL,
    started_ns  INTEGER NOT NULL,
    closed      INTEGER NOT NULL DEFAULT 0 CHECK (closed IN (0, 1)),
    PRIMARY KEY (schedule, number)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER schedule_run_closed AFTER UPDATE OF status ON execution
WHEN old.status = 1 AND new.status <> 1 BEGIN
    UPDATE schedule SET ripe = 1
     WHERE id = (SELECT schedule FROM schedule_run
                  WHERE run_id = coalesce(new.first_run_id, new.run_id));
END;

CREATE VIEW schedules AS
SELECT s.name AS name,
       CASE WHEN s.paused THEN 'Paused' WHEN s.nominal_ns IS NULL THEN 'Ended'
            ELSE 'Active' END AS state,
       s.definition ->> '$.action.workflowType' AS workflow_type,
       strftime('%Y-%m-%dT%H:%M:%fZ', s.nominal_ns / 1000000000.0, 'unixepoch') AS next,
       (SELECT count(*) FROM schedule_run AS r WHERE r.schedule = s.id AND NOT r.closed)
           AS running,
       (SELECT count(*) FROM schedule_start AS w WHERE w.schedule = s.id) AS waiting,
       s.started AS started,
       s.skipped AS skipped,
       s.missed AS missed,
       s.dropped AS dropped,
       s.remaining AS remaining,
       s.note AS note,
       s.problem AS problem,
       strftime('%Y-%m-%dT%H:%M:%fZ', s.created_ns / 1000000000.0, 'unixepoch') AS created,
       strftime('%Y-%m-%dT%H:%M:%fZ', s.changed_ns / 1000000000.0, 'unixepoch') AS changed,
       s.definition AS definition
  FROM schedule AS s;

-- Keys that sealed something here, each with a proof: a fixed text that it sealed.
CREATE TABLE sealing_key (
    key_id        TEXT NOT NULL PRIMARY KEY,
    proof         TEXT NOT NULL,
    first_used_ns INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Search attributes, one row a value (an item of a list is a value): for list filters. Kept by
-- triggers from execution.search_attributes, where {"type":T,"value":V} stands for V.
CREATE TABLE search_attribute (
    name      TEXT NOT NULL,
    value     ANY NOT NULL,
    execution INTEGER NOT NULL REFERENCES execution (id) ON DELETE CASCADE,
    PRIMARY KEY (name, value, execution)
) STRICT, WITHOUT ROWID;
CREATE INDEX search_attribute_execution ON search_attribute (execution);
CREATE TRIGGER search_attribute_insert AFTER INSERT ON execution
WHEN new.search_attributes IS NOT NULL BEGIN
    INSERT OR IGNORE INTO search_attribute (name, value, execution)
    SELECT a.key, v.value, new.id
      FROM json_each(new.search_attributes) AS a,
           json_each(CASE a.type WHEN 'array' THEN a.value WHEN 'object' THEN
                     iif(json_type(a.value, '$.value') = 'array', a.value -> '$.value',
                         json_array(a.value ->> '$.value'))
                     ELSE json_array(a.value) END) AS v
     WHERE v.value IS NOT NULL;
END;
CREATE TRIGGER search_attribute_update AFTER UPDATE OF search_attributes ON execution
WHEN new.search_attributes IS NOT old.search_attributes BEGIN
    DELETE FROM search_attribute WHERE execution = new.id;
    INSERT OR IGNORE INTO search_attribute (name, value, execution)
    SELECT a.key, v.value, new.id
      FROM json_each(new.search_attributes) AS a,
           json_each(CASE a.type WHEN 'array' THEN a.value WHEN 'object' THEN
                     iif(json_type(a.value, '$.value') = 'array', a.value -> '$.value',
                         json_array(a.value ->> '$.value'))
                     ELSE json_array(a.value) END) AS v
     WHERE v.value IS NOT NULL;
END;
CREATE VIEW search_attributes AS
SELECT e.workflow_id AS workflow_id,
       e.run_id AS run_id,
       a.name AS name,
       a.value AS value
  FROM search_attribute AS a
  JOIN execution AS e ON e.id = a.execution;

-- Deadlines are instants of the wall clock, and are moved along when it is set. clock: what the
-- clocks of which boot said when somebody wrote last. clock_jump.kind: 1 the wall clock was set (or
-- the machine paused), 2 it slept, 3 a new boot; moved_ns: by so much deadlines were moved.
CREATE TABLE clock (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    boot_id TEXT NOT NULL,
    boot_ns INTEGER NOT NULL,
    wall_ns INTEGER NOT NULL
) STRICT;
CREATE TABLE clock_jump (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ns    INTEGER NOT NULL,
    kind     INTEGER NOT NULL CHECK (kind BETWEEN 1 AND 3),
    size_ns  INTEGER NOT NULL,
    moved_ns INTEGER NOT NULL
) STRICT;
CREATE VIEW clock_jumps AS
SELECT strftime('%Y-%m-%dT%H:%M:%fZ', at_ns / 1000000000.0, 'unixepoch') AS time,
       CASE kind WHEN 1 THEN 'Set' WHEN 2 THEN 'Suspend' WHEN 3 THEN 'Boot' END AS kind,
       size_ns / 1000000 AS size_ms,
       moved_ns / 1000000 AS moved_ms
  FROM clock_jump;
