-- name: index_sizes
-- How many rows there are to find in some scopes, and how many telling terms they hold in all.
SELECT scope, found, length FROM sizes WHERE scope IN (SELECT value FROM json_each(:scopes));

-- name: index_terms
-- In how many rows of some scopes each of some terms is; terms that are nowhere have no row.
SELECT scope, term, found FROM terms
WHERE scope IN (SELECT value FROM json_each(:scopes)) AND term IN (SELECT value FROM json_each(:terms))
  AND found > 0;

-- name: index_terms_from
-- Terms of a scope that begin alike, with how many rows they are in.
SELECT term, found FROM terms
WHERE scope = :scope AND term >= :from AND term < :to AND found > 0 LIMIT :limit;

-- name: index_postings
-- The rows that satisfy an expression of terms, oldest first, as one JSON list.
SELECT json_group_array(rowid) FROM (SELECT rowid FROM search WHERE search MATCH :match LIMIT :limit);

-- name: index_newest
-- The newest rows that satisfy an expression of terms, as one JSON list.
SELECT json_group_array(rowid) FROM (
  SELECT rowid FROM search WHERE search MATCH :match ORDER BY rowid DESC LIMIT :limit
);

-- name: index_features
-- The analysed terms of some rows.
SELECT row, length, terms FROM features WHERE row IN (SELECT value FROM json_each(:rows));

-- name: index_lessons
-- The records of some rows that a scope may see and recall may show.
SELECT * FROM lessons
WHERE row IN (SELECT value FROM json_each(:rows)) AND tenant = :tenant AND project IN (:project, '')
  AND state = 'active';

-- name: index_of
-- What the index holds of a record.
SELECT features.* FROM features JOIN lessons ON lessons.row = features.row WHERE lessons.id = :id;

-- name: index_add_terms
-- Make a row findable by its terms.
INSERT INTO search (rowid, terms) SELECT row, :terms FROM lessons WHERE id = :id;

-- name: index_add_features
-- Keep what the exact score of a row is made of.
INSERT INTO features (row, scope, length, terms) SELECT row, :scope, :length, :terms FROM lessons WHERE id = :id;

-- name: index_remove_terms
-- Take a row out; the index needs exactly the terms that went in.
INSERT INTO search (search, rowid, terms) VALUES ('delete', :row, :terms);

-- name: index_remove_features
-- Forget what a row's score was made of.
DELETE FROM features WHERE row = :row;

-- name: index_count
-- Count the rows of a scope that terms came into: pairs of a term and how many rows.
INSERT INTO terms (scope, term, found)
SELECT :scope, json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:terms) WHERE true
ON CONFLICT DO UPDATE SET found = found + excluded.found;

-- name: index_uncount
-- Count the rows of a scope that terms left: pairs of a term and how many rows.
UPDATE terms SET found = max(found - gone.rows, 0)
FROM (SELECT json_extract(value, '$[0]') AS term, json_extract(value, '$[1]') AS rows FROM json_each(:terms)) AS gone
WHERE scope = :scope AND terms.term = gone.term;

-- name: index_resize
-- Count rows and telling terms that came into a scope or left it.
INSERT INTO sizes (scope, found, length) VALUES (:scope, max(:found, 0), max(:length, 0))
ON CONFLICT DO UPDATE SET found = max(found + :found, 0), length = max(length + :length, 0);

-- name: index_forget
-- Drop words that are in no row any more.
DELETE FROM terms WHERE scope = :scope AND found = 0;

-- name: index_optimize
-- Rewrite the index without what was removed from it, so that erased words leave the file.
INSERT INTO search (search) VALUES ('optimize');
