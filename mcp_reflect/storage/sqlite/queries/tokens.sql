-- name: token_add
-- Store a token.
INSERT INTO tokens (id, tenant, name, digest, projects, role, created_at, expires_at)
VALUES (:id, :tenant, :name, :digest, :projects, :role, :now, :expires_at);

-- name: token_by_id
-- The token that a request names.
SELECT * FROM tokens WHERE id = :id;

-- name: token_by_name
-- The token in use with that name.
SELECT id FROM tokens WHERE name = :name AND revoked_at IS NULL;

-- name: token_list
-- Every token, oldest first.
SELECT * FROM tokens ORDER BY id;

-- name: token_revoke
-- Revoke a token.
UPDATE tokens SET revoked_at = :now WHERE name = :name AND revoked_at IS NULL;
