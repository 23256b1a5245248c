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

-- name: card_session
-- A session of a project: the one of that name or whose name begins so, else the latest that made a call.
SELECT id, started_at, updated_at, notes FROM sessions
WHERE tenant = :tenant AND project = :project AND calls > 0 AND (:part = '' OR substr(id, 1, length(:part)) = :part)
ORDER BY updated_at DESC LIMIT 1;

-- name: card_followed
-- The lessons that a session was shown and followed by a call that worked.
SELECT lessons.* FROM followed JOIN lessons ON lessons.id = followed.lesson_id AND lessons.tenant = followed.tenant
WHERE followed.tenant = :tenant AND followed.session = :session AND worked = 1 ORDER BY lessons.id;

-- name: card_heeded
-- How many warnings a session heeded.
SELECT count(*) AS count FROM warnings
WHERE tenant = :tenant AND project = :project AND session = :session AND shown = 1 AND sequel = 'heeded';

-- name: card_kept
-- The lessons that were stored while a session ran, or in reply to what was found in it.
SELECT * FROM lessons WHERE tenant = :tenant AND project IN (:project, '') AND kind = 'lesson' AND state = 'active'
  AND trust <> 'quarantined' AND source <> 'import' AND (
    (created_at >= :since AND created_at <= :until)
    OR id IN (SELECT lesson_id FROM findings WHERE tenant = :tenant AND session = :session AND state = 'kept'))
ORDER BY id;
