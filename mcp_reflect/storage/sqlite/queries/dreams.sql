-- name: dream_records
-- The records of a project that a dream looks over: active, out of quarantine, the important recent ones.
SELECT * FROM lessons
WHERE tenant = :tenant AND project = :project AND state = 'active' AND trust <> 'quarantined'
ORDER BY importance DESC, updated_at DESC, id LIMIT :limit;

-- name: dream_add
-- Keep a dream: its plan, and what undoes it.
INSERT INTO dreams (id, tenant, project, state, plan, changes, digest, tokens, idle, created_at)
VALUES (:id, :tenant, :project, 'applied', :plan, :changes, :digest, :tokens, 0, :now);

-- name: dream_by_id
-- One dream of a project.
SELECT * FROM dreams WHERE id = :id AND tenant = :tenant AND project = :project;

-- name: dream_last
-- The state in which the last whole dream left the records, and when.
SELECT digest, created_at FROM dreams
WHERE tenant = :tenant AND project = :project AND digest <> '' ORDER BY id DESC LIMIT 1;

-- name: dream_list
-- The dreams of a project, newest first.
SELECT id, state, plan, tokens, created_at FROM dreams
WHERE tenant = :tenant AND project = :project ORDER BY id DESC LIMIT :limit;

-- name: dream_undone
-- Mark a dream as undone.
UPDATE dreams SET state = 'undone' WHERE id = :id AND tenant = :tenant AND project = :project;

-- name: link_remove
-- Remove one link.
DELETE FROM links WHERE from_id = :from_id AND relation = :relation AND to_kind = :to_kind AND to_id = :to_id;
