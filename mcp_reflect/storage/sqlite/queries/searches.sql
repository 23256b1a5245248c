-- name: search_by_id
-- The state that the last call of a search saved.
SELECT body, version FROM searches WHERE id = :id AND tenant = :tenant AND project = :project;

-- name: search_add
-- The first call of a search.
INSERT INTO searches (id, tenant, project, body, created_at, updated_at)
VALUES (:id, :tenant, :project, :body, :now, :now);

-- name: search_replace
-- A later call, unless another call has saved something since it was loaded.
UPDATE searches SET body = :body, updated_at = :now, version = version + 1
WHERE id = :id AND tenant = :tenant AND project = :project AND version = :version;

-- name: catalog_by_digest
-- A catalog, for a call that leaves it out.
SELECT body FROM search_catalogs WHERE tenant = :tenant AND project = :project AND digest = :digest;

-- name: catalog_add
-- Store a catalog once, however many searches name it.
INSERT INTO search_catalogs (tenant, project, digest, body, created_at)
VALUES (:tenant, :project, :digest, :text, :now) ON CONFLICT DO NOTHING;

-- name: catalog_trim
-- The hundred newest of a project stay: one that changes with every call must not fill the disk.
DELETE FROM search_catalogs WHERE tenant = :tenant AND project = :project AND digest IN (
  SELECT digest FROM search_catalogs WHERE tenant = :tenant AND project = :project
  ORDER BY row DESC LIMIT 1000000 OFFSET 100
);

-- name: search_drop_old
-- Drop the oldest searches that no call has continued for long.
DELETE FROM searches WHERE id IN (
  SELECT id FROM searches WHERE updated_at < :before ORDER BY updated_at LIMIT :most
);
