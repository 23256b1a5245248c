-- name: failure_add
-- Store a failing call, or count that a known one failed again; `again` is 0 where that was counted before.
INSERT INTO failures (
  tenant, project, signature, tool, call, head, exact, bare, loose, fingerprint, arguments, category, error, worked,
  reflection_id, last_session, last_step, first_at, last_at
) VALUES (
  :tenant, :project, :signature, :tool, :call, :head, :exact, :bare, :loose, :fingerprint, :arguments, :category,
  :error, :worked, :reflection_id, :session, :step, :now, :now
)
ON CONFLICT (tenant, project, signature, exact) DO UPDATE SET
  times = times + :again,
  cases = cases + (:again AND last_session IS NOT :session),
  last_at = iif(:again, :now, last_at),
  worked_at = iif(:again, NULL, worked_at),
  last_session = iif(:again, :session, last_session),
  last_step = iif(:again, :step, last_step),
  reflection_id = coalesce(excluded.reflection_id, reflection_id),
  worked = coalesce(excluded.worked, worked);

-- name: failure_worked
-- The same call worked: it is not known to fail until it fails again.
UPDATE failures SET works = works + 1, worked_at = :now
WHERE tenant = :tenant AND project IN (:project, '') AND bare = :bare AND exact = :exact;

-- name: failure_corrected
-- Another call was seen to work instead.
UPDATE failures SET worked = :worked WHERE row = :row AND tenant = :tenant;

-- name: failure_was_wrong
-- A warning that rested on this failure was wrong; the third such warning retires it.
UPDATE failures SET wrong = wrong + 1, retired_at = iif(wrong + 1 >= :most, :now, retired_at)
WHERE row = :row AND tenant = :tenant;

-- name: failure_calls
-- Failures of the same call, or of one that differs in what changes from day to day.
SELECT * FROM failures
WHERE tenant = :tenant AND project IN (:project, '') AND retired_at IS NULL AND (bare = :bare OR loose = :loose)
ORDER BY last_at DESC LIMIT 50;

-- name: failure_heads
-- The failures of this session that have the same head as a call.
SELECT * FROM failures
WHERE tenant = :tenant AND project IN (:project, '') AND retired_at IS NULL AND last_session = :session AND head = :head
ORDER BY last_step DESC LIMIT 20;

-- name: failure_by_error
-- Failures of a tool with the same error of which a correction may be known, the latest first.
SELECT * FROM failures
WHERE tenant = :tenant AND project IN (:project, '') AND retired_at IS NULL AND fingerprint = :fingerprint
  AND tool = :tool COLLATE NOCASE AND (worked IS NOT NULL OR reflection_id IS NOT NULL)
ORDER BY last_at DESC LIMIT 20;

-- name: failure_lesson
-- The lessons that the reflection on a failure brought, the most useful first.
SELECT * FROM lessons
WHERE tenant = :tenant AND project IN (:project, '') AND kind = 'lesson' AND state = 'active'
  AND trust <> 'quarantined' AND reflection_id = :reflection_id
ORDER BY wins - losses DESC, importance DESC, id LIMIT 5;

-- name: failure_erase
-- Remove the failing calls that a reflection noted; a person asked for it.
DELETE FROM failures WHERE reflection_id = :id AND tenant = :tenant;
