-- name: calls_seen
-- The latest calls that hooks saw in the sessions of a project, or of every one, with what is remembered of their answers.
SELECT seen.call FROM session_calls AS seen
JOIN sessions ON sessions.tenant = seen.tenant AND sessions.project = seen.project AND sessions.id = seen.session
WHERE seen.tenant = :tenant AND (seen.project = :project OR :every = 1) AND sessions.updated_at >= :since
ORDER BY sessions.updated_at DESC, seen.number DESC LIMIT :limit;

-- name: session_calls
-- The last calls of a session, the first of them first.
SELECT number, call FROM session_calls
WHERE tenant = :tenant AND project = :project AND session = :session ORDER BY number;

-- name: session_call_add
-- Keep a call of a session; one that has its number already could not be read.
INSERT INTO session_calls (tenant, project, session, number, call)
VALUES (:tenant, :project, :session, :number, :call)
ON CONFLICT (tenant, project, session, number) DO UPDATE SET call = excluded.call;

-- name: session_call_trim
-- Drop a session's calls up to a number.
DELETE FROM session_calls
WHERE tenant = :tenant AND project = :project AND session = :session AND number <= :last;

-- name: finding_add
-- Keep a finding, or its newest form where the same was found before.
INSERT INTO findings (
  id, tenant, project, session, thing, state, sessions, asked, body, created_at, updated_at
) VALUES (
  :id, :tenant, :project, :session, :thing, 'open', 1, 0, :body, :now, :now
) ON CONFLICT (tenant, project, thing) DO UPDATE SET
  session = excluded.session, sessions = findings.sessions + 1, asked = 0, body = excluded.body,
  weight = CASE WHEN findings.weight > 0 THEN findings.weight ELSE excluded.weight END, updated_at = excluded.updated_at;

-- name: finding_by_thing
-- What was found about a thing.
SELECT *, body AS finding FROM findings WHERE tenant = :tenant AND project = :project AND thing = :thing;

-- name: finding_by_id
-- One finding, by its id.
SELECT *, body AS finding FROM findings WHERE tenant = :tenant AND project = :project AND id = :id;

-- name: findings_of_session
-- What was found in a session, the first first.
SELECT *, body AS finding FROM findings
WHERE tenant = :tenant AND project = :project AND session = :session ORDER BY created_at, id;

-- name: findings_waiting
-- The open findings, those that cost most first; without those that are kept only to know them again.
SELECT *, body AS finding FROM findings
WHERE tenant = :tenant AND (project = :project OR :every = 1) AND state = 'open' AND weight > 0
ORDER BY weight DESC, updated_at DESC, id LIMIT :limit;

-- name: finding_learn
-- Keep what a past session showed of a thing, beside what others did.
INSERT INTO findings (
  id, tenant, project, session, thing, state, sessions, asked, body, seen, weight, created_at, updated_at
) VALUES (
  :id, :tenant, :project, :session, :thing, 'open', :sessions, 0, :body, :seen, :weight, :now, :now
) ON CONFLICT (tenant, project, thing) DO UPDATE SET
  session = excluded.session, sessions = excluded.sessions, body = excluded.body, seen = excluded.seen,
  weight = excluded.weight, updated_at = excluded.updated_at;

-- name: findings_kept
-- What past sessions showed of findings of which a lesson was made, and when it was.
SELECT findings.seen, lessons.created_at FROM findings
JOIN lessons ON lessons.id = findings.lesson_id AND lessons.tenant = findings.tenant
WHERE findings.tenant = :tenant AND findings.project = :project AND findings.state = 'kept';

-- name: sessions_read
-- The files of sessions that were read.
SELECT file, size, changed FROM sessions_read WHERE tenant = :tenant;

-- name: session_read
-- Note that a file was read.
INSERT INTO sessions_read (tenant, file, size, changed) VALUES (:tenant, :file, :size, :changed)
ON CONFLICT (tenant, file) DO UPDATE SET size = excluded.size, changed = excluded.changed;

-- name: finding_asked
-- Note how often its session was asked about a finding.
UPDATE findings SET asked = :asked, updated_at = :now WHERE tenant = :tenant AND id = :id;

-- name: finding_reword
-- Keep a finding in a model's words.
UPDATE findings SET body = :body, updated_at = :now WHERE tenant = :tenant AND id = :id;

-- name: finding_settle
-- Keep or drop a finding.
UPDATE findings SET state = :state, lesson_id = :lesson_id, updated_at = :now WHERE tenant = :tenant AND id = :id;
