-- name: guard_add
-- Store a key under which the guard of a lesson is looked up.
INSERT INTO guards (tenant, project, key, lesson_id) VALUES (:tenant, :project, :key, :lesson_id) ON CONFLICT DO NOTHING;

-- name: guard_cut
-- Remove the keys of a lesson's guard.
DELETE FROM guards WHERE lesson_id = :id AND tenant = :tenant;

-- name: guards_met
-- The lessons whose guards may meet a call, those of a person first; one by two of its keys twice.
SELECT lessons.* FROM guards JOIN lessons ON lessons.id = guards.lesson_id
WHERE guards.tenant = :tenant AND guards.project IN (:project, '')
  AND guards.key IN (SELECT value FROM json_each(:keys))
ORDER BY CASE lessons.source WHEN 'person' THEN 0 ELSE 1 END, lessons.id DESC LIMIT :limit;

-- name: guards_enforced
-- The lessons of a project that a person enforces, the newest first.
SELECT * FROM lessons
WHERE tenant = :tenant AND project IN (:project, '') AND guard_mode = 'enforce'
  AND id IN (SELECT lesson_id FROM guards WHERE tenant = :tenant AND project IN (:project, '') AND key <> '')
ORDER BY id DESC LIMIT :limit;

-- name: guard_keys
-- The keys of a lesson's guard.
SELECT key FROM guards WHERE lesson_id = :id AND tenant = :tenant;

-- name: guard_keys_of_project
-- The keys of all guards that are on in a project.
SELECT DISTINCT key FROM guards WHERE tenant = :tenant AND project IN (:project, '') AND key <> '';

-- name: guard_projects
-- The projects that have guards which are on.
SELECT DISTINCT project FROM guards WHERE tenant = :tenant AND key <> '' AND project <> '';

-- name: guards_mode
-- What guards do in a project, which stands where the id of a lesson would, under the key that no guard has.
SELECT lesson_id AS mode FROM guards WHERE tenant = :tenant AND project = :project AND key = '' LIMIT 1;

-- name: guards_mode_cut
-- Forget what guards do in a project.
DELETE FROM guards WHERE tenant = :tenant AND project = :project AND key = '';

-- name: guards_unarmed
-- The active lessons whose guards wait for a person, newest first.
SELECT * FROM lessons
WHERE tenant = :tenant AND project IN (:project, '') AND state = 'active' AND unarmed IS NOT NULL AND guard IS NOT NULL
  AND trust <> 'quarantined'
ORDER BY id DESC LIMIT :limit;

-- name: guard_passed
-- Note whether a call against a guard was made all the same and worked, and turn it off after the last of a row.
UPDATE lessons SET guard_repeats = :repeats, unarmed = :unarmed WHERE id = :id AND tenant = :tenant;

-- name: failing_calls
-- The latest failing calls of a project.
SELECT tool, arguments FROM failures WHERE tenant = :tenant AND project IN (:project, '') ORDER BY row DESC LIMIT :limit;
