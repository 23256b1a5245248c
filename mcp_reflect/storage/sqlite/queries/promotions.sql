-- name: promotions
-- The blocks of a project's files.
SELECT file, body FROM promotions WHERE tenant = :tenant AND project = :project ORDER BY file;

-- name: promotion_put
-- Keep a file's block.
INSERT INTO promotions (tenant, project, file, body, updated_at) VALUES (:tenant, :project, :file, :body, :now)
ON CONFLICT (tenant, project, file) DO UPDATE SET body = excluded.body, updated_at = excluded.updated_at;

-- name: promotion_drop
-- Forget a file's block.
DELETE FROM promotions WHERE tenant = :tenant AND project = :project AND file = :file;
