-- name: critique_session_by_id
-- The state that an earlier call of critique saved.
SELECT body FROM critique_sessions WHERE id = :id AND tenant = :tenant AND project = :project;

-- name: critique_session_keep
-- Save the state for the next call of critique.
INSERT INTO critique_sessions (id, tenant, project, body, created_at, updated_at)
VALUES (:id, :tenant, :project, :body, :now, :now)
ON CONFLICT (id) DO UPDATE SET body = excluded.body, updated_at = excluded.updated_at;

-- name: critique_session_drop_old
-- Drop the oldest states that no call of critique has used for long.
DELETE FROM critique_sessions WHERE id IN (
  SELECT id FROM critique_sessions WHERE updated_at < :before ORDER BY updated_at LIMIT :most
);
