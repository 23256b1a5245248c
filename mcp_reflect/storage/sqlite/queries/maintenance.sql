-- name: maintenance_lessons
-- Every lesson of the bank in order of id, a page at a time, to make its words findable anew.
SELECT * FROM lessons WHERE id > :after ORDER BY id LIMIT :limit;
