-- name: recall_add
-- Store a recall with the lessons that it showed.
INSERT INTO recalls (id, tenant, project, task, lesson_ids, held_out, holdout, created_at)
VALUES (:id, :tenant, :project, :task, :lesson_ids, :held_out, :holdout, :now)
ON CONFLICT DO NOTHING;

-- name: recall_by_id
-- A recall of this project, or a global one.
SELECT * FROM recalls WHERE id = :id AND tenant = :tenant AND project IN (:project, '');

-- name: irrelevant_tasks
-- The tasks that lessons were said not to fit.
SELECT links.from_id, recalls.task FROM links JOIN recalls ON recalls.id = links.to_id
WHERE links.from_id IN (SELECT value FROM json_each(:ids)) AND links.relation = 'irrelevant_to';

-- name: outcome_add
-- Store the outcome of using a lesson; the latest of a recall and lesson wins.
INSERT INTO outcomes (recall_id, lesson_id, success, evidence, weight, note, created_at)
VALUES (:recall_id, :lesson_id, :success, :evidence, :weight, :note, :now)
ON CONFLICT (lesson_id, recall_id) DO UPDATE SET
  success = excluded.success, evidence = excluded.evidence, weight = excluded.weight, note = excluded.note,
  created_at = excluded.created_at;

-- name: outcomes_measured
-- How often the calls after a warning or a guard followed its lesson (success 1), of all that could be judged.
SELECT count(*) AS told, coalesce(sum(outcomes.success), 0) AS followed FROM outcomes
JOIN lessons ON lessons.id = outcomes.lesson_id
WHERE lessons.tenant = :tenant AND lessons.project IN (:project, '') AND outcomes.evidence = 'metric'
  AND outcomes.note = 'seen in the calls after a warning';

-- name: outcome_list
-- Every outcome of a lesson, in the order in which they were first recorded.
SELECT success, evidence, weight, note, recall_id, created_at FROM outcomes WHERE lesson_id = :lesson_id ORDER BY row;

-- name: outcome_page
-- Every outcome of some lessons, in the order in which they were first recorded.
SELECT lesson_id, recall_id, success, evidence, weight, note, created_at FROM outcomes
WHERE lesson_id IN (SELECT value FROM json_each(:ids)) ORDER BY row;

-- name: lessons_to_follow
-- Lessons in use that name calls, of those with some ids and of those that recalls showed lately.
SELECT * FROM lessons
WHERE tenant = :tenant AND project IN (:project, '') AND state = 'active' AND trust <> 'quarantined'
  AND (right_call IS NOT NULL OR guard IS NOT NULL)
  AND id IN (
    SELECT value FROM json_each(:ids)
    UNION SELECT shown.value FROM recalls, json_each(recalls.lesson_ids) AS shown
    WHERE recalls.tenant = :tenant AND recalls.project = :project AND recalls.created_at >= :since
  )
LIMIT :limit;

-- name: followed_in
-- Whether a session followed a lesson, and by which calls.
SELECT worked, calls FROM followed WHERE tenant = :tenant AND lesson_id = :lesson_id AND session = :session;

-- name: followed_put
-- Note how the latest call of a session that follows a lesson ended.
INSERT INTO followed (tenant, project, lesson_id, session, worked, calls, updated_at)
VALUES (:tenant, :project, :lesson_id, :session, :worked, :calls, :now)
ON CONFLICT (tenant, lesson_id, session) DO UPDATE SET
  worked = excluded.worked, calls = excluded.calls, updated_at = excluded.updated_at;

-- name: followed_lately
-- The lessons that sessions followed lately, by how that ended.
SELECT DISTINCT lesson_id, worked FROM followed
WHERE tenant = :tenant AND updated_at >= :since AND lesson_id IN (SELECT value FROM json_each(:ids));

-- name: followed_sessions
-- In how many sessions a lesson was followed and that worked.
SELECT count(*) AS count FROM followed WHERE tenant = :tenant AND lesson_id = :lesson_id AND worked = 1;

-- name: followed_erase
-- Remove the proof of a record at a person's request.
DELETE FROM followed WHERE lesson_id = :id AND tenant = :tenant;

-- name: outcome_fold
-- The outcomes of a record, and of the records that were merged into it, directly or not.
WITH RECURSIVE merged (id) AS (
  SELECT id FROM lessons WHERE id = :lesson_id
  UNION SELECT lessons.id FROM merged
  JOIN links ON links.from_id = merged.id AND links.relation = 'merged_from'
  JOIN lessons ON lessons.id = links.to_id AND lessons.state = 'archived'
)
SELECT success, evidence, weight FROM outcomes JOIN merged ON merged.id = outcomes.lesson_id ORDER BY outcomes.row;

-- name: merged_into
-- The record that an archived one of this scope was merged into.
SELECT kept.* FROM links
JOIN lessons AS gone ON gone.id = links.from_id AND gone.state = 'archived'
JOIN lessons AS kept ON kept.id = links.to_id
WHERE links.from_id = :lesson_id AND links.relation = 'merged_into'
  AND kept.tenant = :tenant AND kept.project IN (:project, '')
ORDER BY kept.id LIMIT 1;

-- name: task_outcome_add
-- Store the outcome of a task whose lessons were recalled; the latest wins.
INSERT INTO task_outcomes (recall_id, success, evidence, created_at) VALUES (:recall_id, :success, :evidence, :now)
ON CONFLICT (recall_id) DO UPDATE SET
  success = excluded.success, evidence = excluded.evidence, created_at = excluded.created_at;

-- name: task_arms
-- Tasks under hold-out that had lessons to show, by whether these were shown, and the sum of their successes.
SELECT held, count(*) AS cases, sum(success) AS good FROM (
  SELECT recalls.held_out > 0 AS held, avg(task_outcomes.success) AS success
  FROM task_outcomes JOIN recalls ON recalls.id = task_outcomes.recall_id
  WHERE recalls.tenant = :tenant AND recalls.project IN (:project, '') AND holdout > 0
    AND (held_out > 0 OR lesson_ids <> '[]')
  GROUP BY held, recalls.task
) AS tasks GROUP BY held;

-- name: stats_lessons
-- Records by kind, state and trust.
SELECT kind, state, trust, count(*) AS count, sum(times_applied) AS applied,
  sum(effectiveness) AS effectiveness, count(effectiveness) AS with_outcome
FROM lessons WHERE tenant = :tenant AND project IN (:project, '') GROUP BY kind, state, trust ORDER BY kind, state, trust;

-- name: stats_reflections
-- Reflections by thinker, outcome, error category and trigger.
SELECT thinker, outcome, json_extract(body, '$.error_category') AS category,
  json_extract(body, '$.triggered_by') AS trigger, count(*) AS count
FROM reflections WHERE tenant = :tenant AND project IN (:project, '') GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4;

-- name: stats_counts
-- Other counts.
SELECT
  (SELECT coalesce(sum(json_extract(body, '$.retries')), 0) FROM critique_sessions
    WHERE tenant = :tenant AND project IN (:project, '')) AS retries_triggered,
  (SELECT coalesce(sum(json_extract(body, '$.improvements')), 0) FROM critique_sessions
    WHERE tenant = :tenant AND project IN (:project, '')) AS improvements_made,
  (SELECT count(*) FROM critique_sessions
    WHERE tenant = :tenant AND project IN (:project, '')) AS critiques,
  (SELECT count(*) FROM searches WHERE tenant = :tenant AND project IN (:project, '')) AS searches,
  (SELECT coalesce(sum(tokens), 0) FROM spending WHERE tenant = :tenant) AS tokens,
  (SELECT count(*) FROM recalls WHERE tenant = :tenant AND project IN (:project, '')) AS recalls,
  (SELECT count(DISTINCT signature) FROM failures WHERE tenant = :tenant AND project IN (:project, '')) AS failures,
  (SELECT coalesce(sum(times), 0) FROM failures WHERE tenant = :tenant AND project IN (:project, '')) AS failing_calls,
  (SELECT coalesce(sum(json_array_length(body, '$.findings')), 0) FROM reflections
    WHERE tenant = :tenant AND project IN (:project, '') AND thinker = 'rules') AS findings_without_lesson,
  (SELECT count(*) FROM outcomes JOIN lessons ON lessons.id = outcomes.lesson_id
    WHERE tenant = :tenant AND project IN (:project, '')) AS outcomes;

-- name: spent_on
-- The tokens that language models used on a day.
SELECT tokens FROM spending WHERE tenant = :tenant AND day = :day;

-- name: spend_add
-- Add to the tokens of a day, or give some back.
INSERT INTO spending (tenant, day, tokens, cost)
VALUES (:tenant, :day, CASE WHEN :tokens > 0 THEN :tokens ELSE 0 END, 0)
ON CONFLICT (tenant, day) DO UPDATE
SET tokens = CASE WHEN spending.tokens + :tokens > 0 THEN spending.tokens + :tokens ELSE 0 END;

-- name: recall_drop_old
-- Drop the oldest recalls without an outcome.
DELETE FROM recalls WHERE id IN (
  SELECT id FROM recalls WHERE told = 0 AND created_at < :before ORDER BY created_at LIMIT :most
);
