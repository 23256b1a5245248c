-- name: failure_add
-- Store a failing call, or count that a known one failed again; `again` is 0 where that was counted before.
-- One without a session was told: the first session that hooks see is its one case.
INSERT INTO failures (
  tenant, project, signature, tool, call, head, exact, bare, loose, fingerprint, arguments, category, error, worked,
  reflection_id, last_session, last_step, first_at, last_at
) VALUES (
  :tenant, :project, :signature, :tool, :call, :head, :exact_key, :bare_key, :loose_key, :fingerprint, :arguments, :category,
  :error, :worked, :reflection_id, :session, :step, :now, :now
)
ON CONFLICT (tenant, project, signature, exact) DO UPDATE SET
  times = failures.times + :again,
  cases = failures.cases + CASE WHEN :again = 1 AND failures.last_session <> excluded.last_session THEN 1 ELSE 0 END,
  last_at = CASE WHEN :again = 1 THEN excluded.last_at ELSE failures.last_at END,
  worked_at = CASE WHEN :again = 1 THEN NULL ELSE failures.worked_at END,
  last_session = CASE WHEN :again = 1 THEN excluded.last_session ELSE failures.last_session END,
  last_step = CASE WHEN :again = 1 THEN excluded.last_step ELSE failures.last_step END,
  reflection_id = coalesce(excluded.reflection_id, failures.reflection_id),
  worked = coalesce(excluded.worked, failures.worked);

-- name: failure_worked
-- The same call worked: it is not known to fail until it fails again.
UPDATE failures SET works = works + 1, worked_at = :now
WHERE tenant = :tenant AND project IN (:project, '') AND bare = :bare_key AND exact = :exact_key;

-- name: failure_corrected
-- Another call was seen to work instead.
UPDATE failures SET worked = :worked WHERE row = :row AND tenant = :tenant;

-- name: failure_was_wrong
-- A warning that rested on this failure was wrong; the third such warning retires it.
UPDATE failures SET wrong = wrong + 1, retired_at = CASE WHEN wrong + 1 >= :most THEN :now ELSE retired_at END
WHERE row = :row AND tenant = :tenant;

-- name: failure_calls
-- Failures of the same call, or of one that differs in what changes from day to day.
SELECT *, exact AS exact_key, bare AS bare_key, loose AS loose_key FROM failures
WHERE tenant = :tenant AND project IN (:project, '') AND retired_at IS NULL AND (bare = :bare_key OR loose = :loose_key)
ORDER BY last_at DESC LIMIT 50;

-- name: failure_heads
-- The failures of this session that have the same head as a call.
SELECT *, exact AS exact_key, bare AS bare_key, loose AS loose_key FROM failures
WHERE tenant = :tenant AND project IN (:project, '') AND retired_at IS NULL AND last_session = :session AND head = :head
ORDER BY last_step DESC LIMIT 20;

-- name: failure_by_error
-- Failures of a tool with the same error of which a correction may be known, the latest first.
SELECT *, exact AS exact_key, bare AS bare_key, loose AS loose_key FROM failures
WHERE tenant = :tenant AND project IN (:project, '') AND retired_at IS NULL AND fingerprint = :fingerprint
  AND lower(tool) = lower(:tool) AND (worked IS NOT NULL OR reflection_id IS NOT NULL)
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
