-- name: recall_add
-- Note what a recall showed.
INSERT INTO recalls (id, tenant, project, task, lesson_ids, created_at)
VALUES (:id, :tenant, :project, :task, :lesson_ids, :now)
ON CONFLICT DO NOTHING;

-- name: recall_by_id
-- What a recall of this project, or a global one, showed.
SELECT * FROM recalls WHERE id = :id AND tenant = :tenant AND project IN (:project, '');

-- name: outcome_add
-- Note what became of using a lesson; the latest word of a recall and lesson wins.
INSERT INTO outcomes (recall_id, lesson_id, success, evidence, weight, note, created_at)
VALUES (:recall_id, :lesson_id, :success, :evidence, :weight, :note, :now)
ON CONFLICT (lesson_id, recall_id) DO UPDATE SET
  success = excluded.success, evidence = excluded.evidence, weight = excluded.weight, note = excluded.note,
  created_at = excluded.created_at;

-- name: outcome_list
-- Every outcome of a lesson, in the order in which they were first told.
SELECT success, evidence, weight, note, recall_id, created_at FROM outcomes WHERE lesson_id = :lesson_id ORDER BY row;

-- name: base_rate
-- How often lessons of a scope worked: the weight of what did, and of all.
SELECT coalesce(sum(wins), 0) AS wins, coalesce(sum(wins + losses), 0) AS told
FROM lessons WHERE tenant = :tenant AND project IN (:project, '') AND effectiveness IS NOT NULL;

-- name: stats_lessons
-- Records by kind, state and trust.
SELECT kind, state, trust, count(*) AS count, sum(times_applied) AS applied,
  sum(effectiveness) AS effectiveness, count(effectiveness) AS with_outcome
FROM lessons WHERE tenant = :tenant AND project IN (:project, '') GROUP BY kind, state, trust ORDER BY kind, state, trust;

-- name: stats_reflections
-- Reflections by thinker, outcome and error category.
SELECT thinker, outcome, json_extract(body, '$.error_category') AS category, count(*) AS count
FROM reflections WHERE tenant = :tenant AND project IN (:project, '') GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;

-- name: stats_counts
-- What else there is to count.
SELECT
  (SELECT count(*) FROM recalls WHERE tenant = :tenant AND project IN (:project, '')) AS recalls,
  (SELECT count(DISTINCT signature) FROM failures WHERE tenant = :tenant AND project IN (:project, '')) AS failures,
  (SELECT coalesce(sum(times), 0) FROM failures WHERE tenant = :tenant AND project IN (:project, '')) AS failing_calls,
  (SELECT count(*) FROM outcomes JOIN lessons ON lessons.id = outcomes.lesson_id
    WHERE tenant = :tenant AND project IN (:project, '')) AS outcomes;

-- name: spent_on
-- What language models took on a day.
SELECT tokens, cost FROM spending WHERE tenant = :tenant AND day = :day;

-- name: spend_add
-- Count a completion towards its day.
INSERT INTO spending (tenant, day, tokens, cost) VALUES (:tenant, :day, :tokens, :cost)
ON CONFLICT (tenant, day) DO UPDATE SET tokens = tokens + excluded.tokens, cost = cost + excluded.cost;
