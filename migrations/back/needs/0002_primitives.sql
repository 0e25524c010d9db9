-- What in a store needs step 0002: a line of text each, at most 20. Closed runs need nothing: what
-- the step kept of them stands in their histories too.
SELECT line FROM (
    SELECT 'run ' || workflow_id || ' is paused' AS line
      FROM execution WHERE status = 1 AND paused IS NOT NULL
    UNION ALL
    SELECT 'run ' || workflow_id || ' waits for its first workflow task'
      FROM execution WHERE status = 1 AND first_task_ns IS NOT NULL
    UNION ALL
    SELECT 'run ' || workflow_id || ' is a child of another run'
      FROM execution WHERE status = 1 AND parent IS NOT NULL
    UNION ALL
    SELECT 'run ' || workflow_id || ' follows another run of its chain'
      FROM execution WHERE status = 1 AND first_run_id IS NOT NULL
    UNION ALL
    SELECT 'run ' || e.workflow_id || ' is retried or started again by cron'
      FROM execution AS e JOIN event AS v ON v.execution = e.id AND v.event_id = 1
     WHERE e.status = 1
       AND (v.attributes ->> 'retryPolicy' IS NOT NULL OR v.attributes ->> 'cronSchedule' <> '')
    UNION ALL
    SELECT 'run ' || e.workflow_id || ' has events that the version before cannot replay: ' ||
           group_concat(DISTINCT coalesce(t.name, v.type))
      FROM execution AS e
      JOIN event AS v ON v.execution = e.id
      LEFT JOIN event_type AS t ON t.id = v.type
     WHERE e.status = 1 AND
           (v.type IN (22, 23, 24, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 41, 43, 47, 58, 59)
            OR v.type = 40 AND v.attributes ->> '$.searchAttributes.TemporalChangeVersion' IS NULL
            OR v.type = 25 AND v.attributes ->> 'markerName' NOT IN ('SideEffect', 'Version'))
     GROUP BY e.id
    UNION ALL
    SELECT 'run ' || e.workflow_id || ' has the update ' || u.update_id || ' to answer'
      FROM execution AS e JOIN run_update AS u ON u.execution = e.id
     WHERE e.status = 1 AND u.state IN (1, 2)
    UNION ALL
    SELECT 'run ' || e.workflow_id || ' waits for the outcome of ' || a.type || ' by token'
      FROM execution AS e JOIN activity AS a ON a.execution = e.id
     WHERE e.status = 1 AND a.is_async
    UNION ALL
    SELECT 'run ' || e.workflow_id || ' has an activity that waits in a queue with limits'
      FROM execution AS e
     WHERE e.status = 1 AND EXISTS (SELECT 1 FROM activity AS a
                                     WHERE a.execution = e.id AND a.queued_ns IS NOT NULL)
    UNION ALL
    SELECT 'the task queue ' || name || ' has limits' FROM task_queue
    UNION ALL
    SELECT 'the schedule ' || name || ' starts runs' FROM schedule
     WHERE nominal_ns IS NOT NULL OR ripe = 1
    UNION ALL
    SELECT 'payloads are sealed with the key ' || key_id FROM sealing_key
) LIMIT 20;
