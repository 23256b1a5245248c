-- Queries whose SQL differs from SQLite's, by the same names: storage/sqlite/queries has the others and all comments.

-- name: board_recall_days
SELECT floor(recalls.created_at / 86400)::bigint AS day,
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

-- name: board_warning_days
SELECT floor(created_at / 86400)::bigint AS day,
  CASE WHEN shown = 0 THEN 'held_out' ELSE coalesce(sequel, 'open') END AS became, count(*) AS count
FROM warnings WHERE tenant = :tenant AND project IN (:project, '') GROUP BY 1, 2 ORDER BY 1, 2;

-- name: critique_session_keep
INSERT INTO critique_sessions (id, tenant, project, body, created_at, updated_at)
VALUES (:id, :tenant, :project, :body, :now, :now)
ON CONFLICT (tenant, id) DO UPDATE SET body = excluded.body, updated_at = excluded.updated_at;

-- name: index_terms
SELECT scope, term, rows FROM terms WHERE scope = ANY(:scopes) AND term = ANY(:terms) AND rows > 0;

-- name: index_search
SELECT row FROM lesson_terms WHERE terms @@ CAST(:match AS tsquery) ORDER BY row DESC LIMIT :limit;

-- name: index_add_terms
INSERT INTO lesson_terms (row, terms)
SELECT row, array_to_tsvector(ARRAY(SELECT hashed_term(term) FROM unnest(string_to_array(:terms, ' ')) AS term))
FROM lessons WHERE id = :id;

-- name: index_remove_terms
DELETE FROM lesson_terms WHERE row = :row;

-- name: index_rewrite
-- Autovacuum removes what an erased row leaves in the index.
SELECT 1;

-- name: index_count
INSERT INTO terms (scope, term, rows)
SELECT :scope, key, value::integer FROM json_each_text(CAST(:terms AS json)) WHERE value <> '0' ORDER BY key COLLATE "C"
ON CONFLICT (tenant, scope, term) DO UPDATE SET rows = terms.rows + excluded.rows;

-- name: index_forget
DELETE FROM terms
WHERE scope = :scope AND term = ANY(ARRAY(SELECT json_array_elements_text(CAST(:terms AS json)))) AND rows <= 0;

-- name: index_resize
INSERT INTO sizes (scope, rows, length) VALUES (:scope, greatest(:rows, 0), greatest(:length, 0))
ON CONFLICT (tenant, scope)
DO UPDATE SET rows = greatest(sizes.rows + :rows, 0), length = greatest(sizes.length + :length, 0);

-- name: lessons_applied
UPDATE lessons SET times_applied = times_applied + 1
WHERE id = ANY(ARRAY(SELECT json_array_elements_text(CAST(:ids AS json)))) AND tenant = :tenant;

-- name: lesson_over_size
SELECT * FROM lessons
WHERE tenant = :tenant AND project = :project AND kind = :kind AND state = 'active'
  AND trust NOT IN ('quarantined', 'trusted') AND source <> 'person'
  AND coalesce(guard_mode, '') NOT IN ('hold', 'enforce') AND pinned_at IS NULL AND importance < :never
  AND id <> coalesce(:spare, '')
ORDER BY importance >= :first, round(((wins + 2) / (wins + losses + 4))::numeric, 3), updated_at, id
LIMIT greatest(0, (SELECT count(*) FROM lessons
  WHERE tenant = :tenant AND project = :project AND kind = :kind AND state = 'active' AND trust <> 'quarantined')
  - :size);

-- name: lesson_browse
SELECT * FROM lessons
WHERE tenant = :tenant AND project IN (:project, '')
  AND (CAST(:kind AS text) IS NULL OR kind = :kind) AND (CAST(:state AS text) IS NULL OR state = :state)
  AND (CAST(:held AS bigint) IS NULL OR (:held = 1) = (trust = 'quarantined'))
  AND (CAST(:task_type AS text) IS NULL OR task_type = :task_type)
  AND (CAST(:tag AS text) IS NULL OR tags::jsonb ? :tag)
  AND (CAST(:min_effectiveness AS double precision) IS NULL OR effectiveness >= :min_effectiveness)
  AND NOT EXISTS (
    SELECT 1 FROM unnest(CAST(:words AS text[])) AS word
    WHERE strpos(lower(lessons.id || ' ' || text || ' ' || coalesce(why, '') || ' ' || coalesce(task_type, '') || ' '
      || coalesce(context, '') || ' ' || symptoms || ' ' || keywords || ' ' || tags), lower(word)) = 0
  )
ORDER BY id DESC LIMIT :limit OFFSET :offset;

-- name: recalls_of_lesson
SELECT recalls.id, recalls.task, recalls.created_at, task_outcomes.success, task_outcomes.evidence
FROM recalls LEFT JOIN task_outcomes ON task_outcomes.recall_id = recalls.id
WHERE recalls.tenant = :tenant AND recalls.project IN (:project, '') AND recalls.lesson_ids::jsonb ? :lesson_id
ORDER BY recalls.created_at DESC, recalls.id DESC LIMIT :limit;

-- name: outcome_add
INSERT INTO outcomes (recall_id, lesson_id, success, evidence, weight, note, created_at)
VALUES (:recall_id, :lesson_id, :success, :evidence, :weight, :note, :now)
ON CONFLICT (tenant, lesson_id, recall_id) DO UPDATE SET
  success = excluded.success, evidence = excluded.evidence, weight = excluded.weight, note = excluded.note,
  created_at = excluded.created_at;

-- name: task_outcome_add
INSERT INTO task_outcomes (recall_id, success, evidence, created_at) VALUES (:recall_id, :success, :evidence, :now)
ON CONFLICT (tenant, recall_id) DO UPDATE SET
  success = excluded.success, evidence = excluded.evidence, created_at = excluded.created_at;

-- name: stats_reflections
SELECT thinker, outcome, body::jsonb ->> 'error_category' AS category, body::jsonb ->> 'triggered_by' AS trigger,
  count(*) AS count
FROM reflections WHERE tenant = :tenant AND project IN (:project, '') GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4;

-- name: stats_counts
SELECT
  (SELECT coalesce(sum((body::jsonb ->> 'retries')::integer), 0) FROM critique_sessions
    WHERE tenant = :tenant AND project IN (:project, '')) AS retries_triggered,
  (SELECT coalesce(sum((body::jsonb ->> 'improvements')::integer), 0) FROM critique_sessions
    WHERE tenant = :tenant AND project IN (:project, '')) AS improvements_made,
  (SELECT count(*) FROM critique_sessions
    WHERE tenant = :tenant AND project IN (:project, '')) AS critiques,
  (SELECT count(*) FROM searches WHERE tenant = :tenant AND project IN (:project, '')) AS searches,
  (SELECT coalesce(sum(tokens), 0)::bigint FROM spending WHERE tenant = :tenant) AS tokens,
  (SELECT count(*) FROM recalls WHERE tenant = :tenant AND project IN (:project, '')) AS recalls,
  (SELECT count(DISTINCT signature) FROM failures WHERE tenant = :tenant AND project IN (:project, '')) AS failures,
  (SELECT coalesce(sum(times), 0) FROM failures WHERE tenant = :tenant AND project IN (:project, '')) AS failing_calls,
  (SELECT count(*) FROM reflections, jsonb_path_query(body::jsonb, 'lax $.findings[*]')
    WHERE body::jsonb -> 'findings' <> 'null' AND tenant = :tenant AND project IN (:project, '') AND thinker = 'rules') AS findings_without_lesson,
  (SELECT count(*) FROM outcomes JOIN lessons ON lessons.id = outcomes.lesson_id
    WHERE lessons.tenant = :tenant AND project IN (:project, '')) AS outcomes;

-- name: reflection_of_component
SELECT trace FROM reflections
WHERE tenant = :tenant AND project = :project AND component = :component
  AND trace::jsonb #> '{execution,metrics}' IS NOT NULL
ORDER BY id DESC LIMIT 1;

-- name: reflection_by_importance
SELECT id FROM lessons
WHERE kind = 'reflection' AND state = 'active' AND trust <> 'quarantined'
  AND tenant = :tenant AND project IN (:project, '')
  AND importance >= :min_importance
  AND (cardinality(CAST(:tags AS text[])) = 0 OR EXISTS (
    SELECT 1 FROM jsonb_array_elements_text(tags::jsonb) AS own JOIN unnest(CAST(:tags AS text[])) AS asked
      ON lower(own COLLATE "C") = lower(asked COLLATE "C")
  ))
ORDER BY importance DESC, id DESC LIMIT :limit;

-- name: reflection_findings
SELECT reflections.id AS id, finding ->> 'text' AS text
FROM reflections, jsonb_path_query(body::jsonb, 'lax $.findings[*]') AS finding
WHERE body::jsonb -> 'findings' <> 'null' AND tenant = :tenant AND project IN (:project, '') AND thinker = 'rules' ORDER BY reflections.id DESC LIMIT :limit;

-- name: lessons_to_follow
SELECT * FROM lessons
WHERE tenant = :tenant AND project IN (:project, '') AND state = 'active' AND trust <> 'quarantined'
  AND (right_call IS NOT NULL OR guard IS NOT NULL)
  AND (id IN (SELECT value FROM json_each(:ids)) OR id IN (
    SELECT shown.value FROM recalls, json_array_elements_text(recalls.lesson_ids::json) AS shown
    WHERE recalls.tenant = :tenant AND recalls.project = :project AND recalls.created_at >= :since
  ))
LIMIT :limit;
