-- name: dream_records
-- The records of a project that a dream looks over: active, out of quarantine, the important recent ones.
SELECT * FROM lessons
WHERE tenant = :tenant AND project = :project AND state = 'active' AND trust <> 'quarantined'
ORDER BY importance DESC, updated_at DESC, id LIMIT :limit;

-- name: dream_add
-- Keep a dream: its plan, and what undoes it.
INSERT INTO dreams (id, tenant, project, state, plan, changes, digest, tokens, idle, created_at)
VALUES (:id, :tenant, :project, 'applied', :plan, :changes, :digest, :tokens, :idle, :now);

-- name: dream_by_id
-- One dream of a project.
SELECT * FROM dreams WHERE id = :id AND tenant = :tenant AND project = :project;

-- name: dream_last
-- The state in which the last dream left the records.
SELECT digest FROM dreams WHERE tenant = :tenant AND project = :project ORDER BY id DESC LIMIT 1;

-- name: dream_list
-- The dreams of a project, newest first.
SELECT id, state, plan, tokens, idle, created_at FROM dreams
WHERE tenant = :tenant AND project = :project ORDER BY id DESC LIMIT :limit;

-- name: dream_undone
-- Mark a dream as undone.
UPDATE dreams SET state = 'undone' WHERE id = :id AND tenant = :tenant AND project = :project;

-- name: dreams_since
-- The number of dreams at idle since a time, and the tokens of all dreams.
SELECT coalesce(sum(idle), 0) AS idle, coalesce(sum(tokens), 0) AS tokens
FROM dreams WHERE tenant = :tenant AND project = :project AND created_at >= :since;

-- name: link_remove
-- Cut one tie.
DELETE FROM links WHERE from_id = :from_id AND relation = :relation AND to_kind = :to_kind AND to_id = :to_id;

-- name: lease_take
-- Take a lease that is free, has run out, or is one's own; changes no row where another process holds it.
INSERT INTO leases (tenant, project, name, holder, until) VALUES (:tenant, :project, :name, :holder, :until)
ON CONFLICT (tenant, project, name) DO UPDATE SET holder = excluded.holder, until = excluded.until
WHERE leases.until <= :now OR leases.holder = excluded.holder;

-- name: lease_drop
-- Give a lease back.
DELETE FROM leases WHERE tenant = :tenant AND project = :project AND name = :name AND holder = :holder;
