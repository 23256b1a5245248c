-- name: session_by_id
-- A session that is watched.
SELECT id, held_out, calls AS step, changed, worked, shown, notes FROM sessions
WHERE tenant = :tenant AND project = :project AND id = :id;

-- name: session_begin
-- Begin to watch a session.
INSERT INTO sessions (tenant, project, id, held_out, worked, shown, started_at, updated_at)
VALUES (:tenant, :project, :id, :held_out, '{}', '[]', :now, :now)
ON CONFLICT DO NOTHING;

-- name: session_called
-- Count a call, and what came of it.
UPDATE sessions SET
  calls = calls + 1, failures = failures + :failed, recurrences = recurrences + :recurrence,
  changed = CASE WHEN :changed = 1 THEN calls + 1 ELSE changed END, worked = :worked, updated_at = :now
WHERE tenant = :tenant AND project = :project AND id = :id;

-- name: session_shown
-- Remember what a session has been shown.
UPDATE sessions SET shown = :shown, updated_at = :now WHERE tenant = :tenant AND project = :project AND id = :id;

-- name: session_noted
-- Keep the notes of a session.
UPDATE sessions SET notes = :notes, updated_at = :now WHERE tenant = :tenant AND project = :project AND id = :id;

-- name: session_notes
-- What hooks noted of the sessions in which they said something about a last message.
SELECT notes FROM sessions
WHERE tenant = :tenant AND project IN (:project, '') AND notes LIKE '%"said": ["%';

-- name: sessions_shown
-- The ids of the lessons that each session was shown.
SELECT shown FROM sessions WHERE tenant = :tenant AND project IN (:project, '') AND shown <> '[]';

-- name: session_counts
-- The sessions that made a call and their recurrences, by whether they were held out.
SELECT held_out, count(*) AS sessions, CAST(sum(recurrences) AS INTEGER) AS recurrences FROM sessions
WHERE tenant = :tenant AND project IN (:project, '') AND calls > 0 GROUP BY held_out;

-- name: warning_add
-- Note a warning, given or held out.
INSERT INTO warnings (
  id, tenant, project, session, failure, lesson_id, match, certainty, exact, call_id, shown, characters, created_at
) VALUES (
  :id, :tenant, :project, :session, :failure, :lesson_id, :match, :certainty, :exact, :call_id, :shown, :characters,
  :now
);

-- name: warning_open
-- Warnings of a session that wait for what is done next, and those of this call that seemed heeded.
SELECT * FROM warnings
WHERE tenant = :tenant AND project = :project AND session = :session
  AND (sequel IS NULL OR (sequel = 'heeded' AND exact = :exact))
ORDER BY id DESC LIMIT 20;

-- name: warning_settle
-- Store the sequel of a warning.
UPDATE warnings SET sequel = :sequel, settled_at = :now WHERE id = :id AND tenant = :tenant;

-- name: warning_counts
-- Warnings by whether they were given, how they matched and what came of them.
SELECT shown, match, sequel, count(*) AS count, sum(characters) AS characters FROM warnings
WHERE tenant = :tenant AND project IN (:project, '') GROUP BY shown, match, sequel;

-- name: session_drop_old
-- Drop the oldest sessions that nothing was heard of for long.
DELETE FROM sessions WHERE (tenant, project, id) IN (
  SELECT tenant, project, id FROM sessions WHERE updated_at < :before ORDER BY updated_at LIMIT :most
);

-- name: warning_drop_old
-- Drop the oldest warnings.
DELETE FROM warnings WHERE id IN (
  SELECT id FROM warnings WHERE created_at < :before ORDER BY created_at LIMIT :most
);

-- name: sessions_since
-- The calls that worked in the sessions that were watched since then.
SELECT worked FROM sessions WHERE tenant = :tenant AND project = :project AND updated_at >= :since;

-- name: session_transcript
-- The transcript of a session, as the host's own command named it.
SELECT transcript FROM sessions WHERE tenant = :tenant AND id = :id AND transcript IS NOT NULL
ORDER BY updated_at DESC LIMIT 1;

-- name: session_name_transcript
-- Keep the name of a session's transcript.
UPDATE sessions SET transcript = :transcript WHERE tenant = :tenant AND project = :project AND id = :id;
