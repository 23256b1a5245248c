-- name: graph_step
-- The records of a scope one step from a node: linked from it, to it, or by a tool or failure.
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
