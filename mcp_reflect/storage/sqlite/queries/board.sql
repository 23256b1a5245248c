-- name: board_lessons
-- The records of a scope that a board shows: what is in use first, then by worth (the prior of four even outcomes).
SELECT * FROM lessons
WHERE tenant = :tenant AND project IN (:project, '')
ORDER BY state = 'active' DESC, (wins + 2) / (wins + losses + 4) DESC, importance DESC, id DESC LIMIT :limit;

-- name: board_lesson_count
-- The number of records of a scope.
SELECT count(*) AS count FROM lessons WHERE tenant = :tenant AND project IN (:project, '');

-- name: board_outcomes
-- The outcomes of these lessons, each lesson's oldest first.
SELECT lesson_id, success, evidence, weight, note, recall_id, created_at FROM outcomes
WHERE lesson_id IN (SELECT value FROM json_each(:ids)) ORDER BY lesson_id, created_at, row;

-- name: board_recalls
-- The latest recalls of a scope, and how their tasks went.
SELECT recalls.id, recalls.created_at AS at, substr(recalls.task, 1, 300) AS task,
  recalls.lesson_ids, recalls.held_out, task_outcomes.success, task_outcomes.evidence
FROM recalls LEFT JOIN task_outcomes ON task_outcomes.recall_id = recalls.id
WHERE recalls.tenant = :tenant AND recalls.project IN (:project, '')
ORDER BY recalls.created_at DESC, recalls.id DESC LIMIT :limit;

-- name: board_recall_days
-- Recalls of a scope by day (since 1970, UTC) and by outcome.
SELECT CAST(recalls.created_at / 86400 AS INTEGER) AS day,
  CASE
    WHEN held_out > 0 THEN 'held_out'
    WHEN lesson_ids = '[]' THEN 'nothing'
    WHEN success IS NULL THEN 'open'
    WHEN success = 1 THEN 'worked'
    WHEN success = 0 THEN 'failed'
    ELSE 'partly'
  END AS became,
  count(*) AS count
FROM recalls LEFT JOIN task_outcomes ON task_outcomes.recall_id = recalls.id
WHERE recalls.tenant = :tenant AND recalls.project IN (:project, '') GROUP BY 1, 2 ORDER BY 1, 2;

-- name: board_warnings
-- The latest warnings of a scope, the call that each was about, and what came of it.
SELECT warnings.created_at AS at, failures.tool, failures.arguments,
  substr(failures.error, 1, 400) AS error, failures.times, warnings.match, warnings.certainty,
  warnings.shown, warnings.sequel, warnings.lesson_id
FROM warnings LEFT JOIN failures ON failures.row = warnings.failure AND failures.tenant = warnings.tenant
WHERE warnings.tenant = :tenant AND warnings.project IN (:project, '')
ORDER BY warnings.created_at DESC, warnings.id DESC LIMIT :limit;

-- name: board_warning_days
-- Warnings of a scope by day (since 1970, UTC) and by what came of them.
SELECT CAST(created_at / 86400 AS INTEGER) AS day,
  CASE WHEN shown = 0 THEN 'held_out' ELSE coalesce(sequel, 'open') END AS became, count(*) AS count
FROM warnings WHERE tenant = :tenant AND project IN (:project, '') GROUP BY 1, 2 ORDER BY 1, 2;

-- name: board_links
-- The links between these lessons.
SELECT from_id, relation, to_id FROM links
WHERE from_id IN (SELECT value FROM json_each(:ids)) AND to_id IN (SELECT value FROM json_each(:ids))
  AND to_kind IN ('record', 'lesson', 'reflection') ORDER BY from_id, relation, to_id;
