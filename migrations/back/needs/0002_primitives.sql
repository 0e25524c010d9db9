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
    SELECT 'run ' || e.workflow_id || ' has events that the version before cannot replay: ' ||
           group_concat(DISTINCT coalesce(t.name, v.type))
      FROM execution AS e
      JOIN event AS v ON v.execution = e.id
      LEFT JOIN event_type AS t ON t.id = v.type
     WHERE e.status = 1 AND v.type IN (22, 23, 24, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 41,
                                       43, 47, 58, 59)
     GROUP BY e.id
) LIMIT 20;
