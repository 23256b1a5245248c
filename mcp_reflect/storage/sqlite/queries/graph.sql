-- name: graph_step
-- The records of a scope one step from a node: linked from it, to it, or by a tool, file, failure or error code.
SELECT near.relation, near.through, lessons.id, lessons.kind, lessons.state, substr(lessons.text, 1, 200) AS text
FROM (
  SELECT relation, NULL AS through, to_id AS id FROM links WHERE from_id = :name
  UNION SELECT relation || ' (back)', NULL, from_id FROM links WHERE to_id = :name
  UNION SELECT 'shares', mine.to_kind || ' ' || mine.to_id, other.from_id
  FROM links AS mine JOIN links AS other ON other.to_kind = mine.to_kind AND other.to_id = mine.to_id
  WHERE :kind NOT IN (SELECT value FROM json_each(:shared)) AND mine.from_id = :name AND other.from_id <> :name
    AND mine.to_kind IN (SELECT value FROM json_each(:shared))
) AS near JOIN lessons ON lessons.id = near.id
WHERE lessons.tenant = :tenant AND lessons.project IN (:project, '') AND lessons.trust <> 'quarantined'
ORDER BY near.relation, near.through, lessons.id LIMIT :limit;

-- name: graph_related
-- A few records that a recall of this scope may show, one step from a record: its own links, then records that name the
-- same file or error code. Each way is limited to 30 before the filter: thousands may name one file.
SELECT near.relation, lessons.id
FROM (
  SELECT * FROM (
    SELECT 0 AS place, relation, to_id AS id FROM links
    WHERE from_id = :id AND to_kind IN ('record', 'lesson', 'reflection') LIMIT 30
  ) AS forth
  UNION ALL SELECT * FROM (
    SELECT 1, relation || ' (back)', from_id FROM links
    WHERE to_kind IN ('record', 'lesson', 'reflection') AND to_id = :id LIMIT 30
  ) AS back
  UNION ALL SELECT * FROM (
    SELECT 2, 'shares ' || mine.to_kind, other.from_id
    FROM links AS mine JOIN links AS other ON other.to_kind = mine.to_kind AND other.to_id = mine.to_id
    WHERE mine.from_id = :id AND mine.to_kind IN ('file', 'error_code') AND other.from_id <> :id LIMIT 30
  ) AS shared
) AS near JOIN lessons ON lessons.id = near.id
WHERE lessons.tenant = :tenant AND lessons.project IN (:project, '')
  AND lessons.state = 'active' AND lessons.trust <> 'quarantined'
ORDER BY near.place, near.relation, lessons.id LIMIT 30;
