-- name: lesson_add
-- Store a lesson, a strategy, or the summary of a reflection. The columns are the fields of Lesson, see repository.py.
INSERT INTO lessons (/*columns*/) VALUES (/*values*/);

-- name: lesson_change
-- Write a lesson's changed text, scores, trust or state; its history is kept by version_add.
UPDATE lessons SET /*changes*/
WHERE id = :id AND tenant = :tenant;

-- name: lessons_for_start
-- Lessons for the start of a session: those that a person or an agent told first, rules' last; then the most important
-- and best proven. Words from outside are not among them, unless a person or an outcome vouched for them.
SELECT * FROM lessons
WHERE tenant = :tenant AND project IN (:project, '') AND kind = 'lesson' AND state = 'active'
  AND (trust IN ('trusted', 'confirmed') OR (trust = 'observed' AND source <> 'import' AND outside = 0))
  AND suspicion IS NULL
ORDER BY
  CASE WHEN trust = 'trusted' OR source IN ('person', 'agent') THEN 2 WHEN source = 'rules' THEN 0 ELSE 1 END DESC,
  importance + CASE trust WHEN 'trusted' THEN 0.5 WHEN 'confirmed' THEN 0.25 ELSE 0 END
    + (wins - losses) / (4 + wins + losses) DESC,
  created_at DESC, id DESC
LIMIT :limit;

-- name: lessons_pinned
-- The lessons of a scope that a person pinned, the first pinned first.
SELECT * FROM lessons
WHERE tenant = :tenant AND project IN (:project, '') AND pinned_at IS NOT NULL AND state = 'active'
ORDER BY pinned_at, id LIMIT :limit;

-- name: lesson_outcome
-- Write a lesson's totals over its outcomes.
UPDATE lessons
SET effectiveness = :effectiveness, wins = :wins, losses = :losses, proof = :proof, trust = :trust
WHERE id = :id AND tenant = :tenant;

-- name: lessons_applied
-- Count lessons as shown once more. Found by their ids: + keeps the planner from going through the tenant's.
UPDATE lessons SET times_applied = times_applied + 1
WHERE id IN (SELECT value FROM json_each(:ids)) AND +tenant = :tenant;

-- name: lesson_erase
-- Remove a lesson at a person's request.
DELETE FROM lessons WHERE id = :id AND tenant = :tenant;

-- name: lesson_by_id
-- One lesson that this scope may see: its own project's or a global one.
SELECT * FROM lessons WHERE id = :id AND tenant = :tenant AND project IN (:project, '');

-- name: lesson_ids_taken
-- Those of some ids that records have, of any project and tenant.
SELECT id, tenant FROM lessons WHERE id IN (SELECT value FROM json_each(:ids));

-- name: lesson_ids_like
-- Ids of records of a scope that begin or end with some characters.
SELECT id FROM lessons
WHERE tenant = :tenant AND project IN (:project, '')
  AND (substr(id, 1, length(:part)) = :part OR substr(id, length(id) - length(:end) + 1) = :end)
ORDER BY id LIMIT :limit;

-- name: lesson_projects
-- The projects of a tenant that have active lessons, with their number.
SELECT project, count(*) AS count FROM lessons
WHERE tenant = :tenant AND kind = 'lesson' AND state = 'active' GROUP BY project ORDER BY project;

-- name: lesson_list
-- Lessons of a scope but for those in quarantine, newest first. NULL for kind or state means any.
SELECT * FROM lessons
WHERE tenant = :tenant AND project IN (:project, '')
  AND (CAST(:kind AS TEXT) IS NULL OR kind = :kind) AND (CAST(:state AS TEXT) IS NULL OR state = :state)
  AND trust <> 'quarantined'
ORDER BY id DESC LIMIT :limit;

-- name: lesson_list_held
-- The same of those in quarantine, by an index of their own: each store reads them.
SELECT * FROM lessons
WHERE tenant = :tenant AND project IN (:project, '')
  AND (CAST(:kind AS TEXT) IS NULL OR kind = :kind) AND (CAST(:state AS TEXT) IS NULL OR state = :state)
  AND trust = 'quarantined'
ORDER BY id DESC LIMIT :limit;

-- name: lesson_over_size
-- The active records of a kind above a project's limit, the first to archive first; quarantine does not count.
SELECT * FROM lessons
WHERE tenant = :tenant AND project = :project AND kind = :kind AND state = 'active'
  AND trust NOT IN ('quarantined', 'trusted') AND source <> 'person'
  AND coalesce(guard_mode, '') NOT IN ('hold', 'enforce') AND pinned_at IS NULL AND importance < :never
  AND id <> coalesce(:spare, '')
ORDER BY importance >= :first, round((wins + 2) / (wins + losses + 4), 3), updated_at, id
LIMIT max(0, (SELECT count(*) FROM lessons
  WHERE tenant = :tenant AND project = :project AND kind = :kind AND state = 'active' AND trust <> 'quarantined')
  - :size);

-- name: lesson_held_same
-- A record of a project with the same text that waits in quarantine.
SELECT id FROM lessons
WHERE tenant = :tenant AND project = :project AND trust = 'quarantined' AND state = 'active' AND kind = :kind
  AND text = :text
ORDER BY id LIMIT 1;

-- name: lesson_same
-- The lessons of a project that have one of some digests, in any state, the oldest first. By itself SQLite would look
-- through all of the project for every batch of an import.
SELECT * FROM lessons INDEXED BY lessons_by_digest
WHERE digest IN (SELECT value FROM json_each(:digests)) AND tenant = :tenant AND project = :project
ORDER BY row;

-- name: lesson_page
-- Every lesson of a tenant in order of id, a page at a time; NULL for project means all projects.
SELECT * FROM lessons
WHERE tenant = :tenant AND (CAST(:project AS TEXT) IS NULL OR project = :project) AND id > :after
ORDER BY id LIMIT :limit;

-- name: lesson_of_reflection
-- The records of a reflection: its summary, its strategy and its lessons.
SELECT * FROM lessons WHERE reflection_id = :reflection_id AND tenant = :tenant ORDER BY id;

-- name: task_types
-- The task types there are, the most frequent first.
SELECT task_type FROM lessons
WHERE tenant = :tenant AND project IN (:project, '') AND state = 'active' AND trust <> 'quarantined'
  AND task_type IS NOT NULL
GROUP BY task_type ORDER BY count(*) DESC, task_type LIMIT 1000;

-- name: lesson_browse
-- The records of a scope that a person filters for, newest first; NULL means any.
SELECT * FROM lessons
WHERE tenant = :tenant AND project IN (:project, '')
  AND (CAST(:kind AS TEXT) IS NULL OR kind = :kind) AND (CAST(:state AS TEXT) IS NULL OR state = :state)
  AND (:held IS NULL OR :held = (trust = 'quarantined'))
  AND (:task_type IS NULL OR task_type = :task_type)
  AND (:tag IS NULL OR EXISTS (SELECT 1 FROM json_each(tags) WHERE value = :tag))
  AND (:min_effectiveness IS NULL OR effectiveness >= :min_effectiveness)
  AND NOT EXISTS (
    SELECT 1 FROM json_each(:words)
    WHERE instr(lower(lessons.id || ' ' || text || ' ' || coalesce(why, '') || ' ' || coalesce(task_type, '') || ' '
      || coalesce(context, '') || ' ' || symptoms || ' ' || keywords || ' ' || tags), lower(value)) = 0
  )
ORDER BY id DESC LIMIT :limit OFFSET :offset;

-- name: recalls_of_lesson
-- The latest recalls that showed a record, and how their tasks went.
SELECT recalls.id, recalls.task, recalls.created_at, task_outcomes.success, task_outcomes.evidence
FROM recalls LEFT JOIN task_outcomes ON task_outcomes.recall_id = recalls.id
WHERE recalls.tenant = :tenant AND recalls.project IN (:project, '')
  AND EXISTS (SELECT 1 FROM json_each(recalls.lesson_ids) WHERE value = :lesson_id)
ORDER BY recalls.created_at DESC, recalls.id DESC LIMIT :limit;
