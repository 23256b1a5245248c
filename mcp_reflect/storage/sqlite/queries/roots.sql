-- name: roots_put
-- Keep what a lesson is true of, in place of what it was before.
INSERT INTO roots (tenant, project, lesson_id, body, planted_at)
VALUES (:tenant, :project, :lesson_id, :body, :now)
ON CONFLICT (tenant, lesson_id) DO UPDATE SET body = excluded.body, planted_at = excluded.planted_at;

-- name: roots_of
-- The roots of some lessons, and by what a person keeps them.
SELECT roots.lesson_id, body, lessons.trust, lessons.source, lessons.guard_mode, lessons.pinned_at FROM roots
JOIN lessons ON lessons.id = roots.lesson_id AND lessons.tenant = roots.tenant
WHERE roots.tenant = :tenant AND roots.project = :project
  AND roots.lesson_id IN (SELECT value FROM json_each(:ids));

-- name: roots_of_project
-- The roots of all lessons of a project that are in use.
SELECT roots.lesson_id, body, lessons.trust, lessons.source, lessons.guard_mode, lessons.pinned_at FROM roots
JOIN lessons ON lessons.id = roots.lesson_id AND lessons.tenant = roots.tenant
WHERE roots.tenant = :tenant AND roots.project = :project AND lessons.state = 'active'
  AND lessons.trust <> 'quarantined' LIMIT :limit;

-- name: roots_cut
-- Forget what a lesson is true of.
DELETE FROM roots WHERE tenant = :tenant AND lesson_id = :id;

-- name: project_give_roots
-- Give the roots of a project's lessons to another project.
UPDATE roots SET project = :project WHERE tenant = :tenant AND project = :old;

-- name: shown_in_put
-- Note that a session was shown a lesson, or would have been but for the comparison.
INSERT INTO shown_in (tenant, project, lesson_id, session, held_out, updated_at)
SELECT :tenant, :project, lessons.id, :session, :held_out, :now FROM lessons
WHERE lessons.tenant = :tenant AND lessons.id = :lesson_id
ON CONFLICT (tenant, lesson_id, session) DO NOTHING;

-- name: shown_in_end
-- Note how a session ended.
UPDATE shown_in SET ending = :ending, updated_at = :now WHERE tenant = :tenant AND session = :session;

-- name: shown_in_counts
-- How sessions with a known ending went: those that were shown a lesson and followed it, and those from which it was
-- held out.
SELECT shown_in.lesson_id, held_out, count(*) AS sessions, sum(ending) AS good,
  lessons.trust, lessons.source, lessons.guard_mode, lessons.pinned_at
FROM shown_in
JOIN lessons ON lessons.id = shown_in.lesson_id AND lessons.tenant = shown_in.tenant AND lessons.state = 'active'
LEFT JOIN followed ON followed.tenant = shown_in.tenant AND followed.lesson_id = shown_in.lesson_id
  AND followed.session = shown_in.session
WHERE shown_in.tenant = :tenant AND shown_in.project IN (:project, '') AND ending IS NOT NULL
  AND (held_out = 1 OR followed.session IS NOT NULL)
  AND (:all_lessons = 1 OR shown_in.lesson_id IN (SELECT value FROM json_each(:ids)))
GROUP BY shown_in.lesson_id, held_out, lessons.trust, lessons.source, lessons.guard_mode, lessons.pinned_at;

-- name: shown_in_erase
-- Remove where a record was shown at a person's request.
DELETE FROM shown_in WHERE lesson_id = :id AND tenant = :tenant;

-- name: project_give_shown_in
-- Give where a project's lessons were shown to another project.
UPDATE shown_in SET project = :project WHERE tenant = :tenant AND project = :old;
