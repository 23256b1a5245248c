-- name: index_sizes
-- The numbers of rows of some scopes, and the total length of their texts in terms.
SELECT scope, rows, length FROM sizes WHERE scope IN (SELECT value FROM json_each(:scopes));

-- name: index_terms
-- The numbers of rows of some scopes that hold each of some terms; a term that no row holds is left out.
-- Joined like this each is found at once; with IN, SQLite first sorts the list.
SELECT scope, term, rows
FROM json_each(:scopes) AS s CROSS JOIN json_each(:terms) AS t CROSS JOIN terms ON scope = s.value AND term = t.value
WHERE rows > 0;

-- name: index_search
-- The newest rows that match an FTS5 expression over terms.
SELECT rowid AS row FROM lesson_terms WHERE lesson_terms MATCH :match ORDER BY rowid DESC LIMIT :limit;

-- name: index_features
-- The terms of some rows.
SELECT row, length, terms FROM features WHERE row IN (SELECT value FROM json_each(:rows));

-- name: index_lessons
-- The records of some rows that a scope may see and recall may show. Found by their rows: + keeps the planner from
-- going through all of the scope instead.
SELECT * FROM lessons
WHERE row IN (SELECT value FROM json_each(:rows)) AND +tenant = :tenant AND +project IN (:project, '')
  AND +state = 'active' AND +trust <> 'quarantined';

-- name: index_of
-- The index entry of a record.
SELECT features.* FROM features JOIN lessons ON lessons.row = features.row WHERE lessons.id = :id;

-- name: index_add_features
-- Store the terms of a record.
INSERT INTO features (row, scope, length, terms, analyzer)
SELECT row, :scope, :length, :terms, :analyzer FROM lessons WHERE id = :id;

-- name: index_outdated
-- Some records whose index entry an older analyzer made.
SELECT lessons.* FROM features JOIN lessons USING (row) WHERE analyzer < :version LIMIT :limit;

-- name: index_add_terms
-- Make a record findable by its terms.
INSERT INTO lesson_terms (rowid, terms) SELECT row, :terms FROM lessons WHERE id = :id;

-- name: index_remove_features
-- Remove the terms of a record.
DELETE FROM features WHERE row = :row;

-- name: index_remove_terms
-- Make a record unfindable: FTS5 needs the terms that were indexed.
INSERT INTO lesson_terms (lesson_terms, rowid, terms) VALUES ('delete', :row, :terms);

-- name: index_rewrite
-- Write the index of terms anew: deleted terms stay in its older segments until then.
INSERT INTO lesson_terms (lesson_terms) VALUES ('optimize');

-- name: index_count
-- Change the counts of terms in a scope: an object of terms and differences.
INSERT INTO terms (scope, term, rows)
SELECT :scope, key, value FROM json_each(:terms) WHERE true
ON CONFLICT DO UPDATE SET rows = terms.rows + excluded.rows;

-- name: index_forget
-- Drop those of some terms that no row holds any more.
DELETE FROM terms WHERE scope = :scope AND term IN (SELECT value FROM json_each(:terms)) AND rows <= 0;

-- name: index_resize
-- Change the number of rows of a scope and the total length of their texts.
INSERT INTO sizes (scope, rows, length) VALUES (:scope, max(:rows, 0), max(:length, 0))
ON CONFLICT DO UPDATE SET rows = max(sizes.rows + :rows, 0), length = max(sizes.length + :length, 0);
