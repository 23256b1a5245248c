-- name: index_sizes
-- How many rows there are to find in some scopes, how many telling terms they hold in all, and the places handed out.
SELECT scope, found, length, places FROM sizes WHERE scope IN (SELECT value FROM json_each(:scopes));

-- name: index_terms
-- In how many rows of some scopes each of some terms is, which are named once; terms that are nowhere have no row.
-- Here and below, joined like this each is found at once; with IN, SQLite first puts the list in order.
SELECT scope, term, found
FROM json_each(:scopes) AS s CROSS JOIN json_each(:terms) AS t CROSS JOIN terms ON scope = s.value AND term = t.value
WHERE found > 0;

-- name: index_terms_from
-- Terms of a scope that begin alike, with how many rows they are in.
SELECT term, found FROM terms
WHERE scope = :scope AND term >= :from AND term < :to AND found > 0 LIMIT :limit;

-- name: index_postings
-- Which rows of some blocks of a scope hold each of some terms.
SELECT block, term, found, places
FROM json_each(:blocks) AS b CROSS JOIN json_each(:terms) AS t
CROSS JOIN postings ON scope = :scope AND block = b.value AND term = t.value;

-- name: index_features
-- The analysed terms of some rows, by their places in a scope.
SELECT row, terms FROM json_each(:places) CROSS JOIN features ON scope = :scope AND place = value;

-- name: index_rows
-- The rows at some places of a scope.
SELECT row FROM features WHERE scope = :scope AND place IN (SELECT value FROM json_each(:places));

-- name: index_lessons
-- The records of some rows that a scope may see and recall may show. Found by their rows: + keeps the planner from
-- going through all of the scope instead.
SELECT * FROM lessons
WHERE row IN (SELECT value FROM json_each(:rows)) AND +tenant = :tenant AND +project IN (:project, '')
  AND +state = 'active';

-- name: index_of
-- What the index holds of a record.
SELECT features.* FROM features JOIN lessons ON lessons.row = features.row WHERE lessons.id = :id;

-- name: index_held
-- The postings of some terms in a block, to be written anew.
SELECT row, term, found, places FROM postings
WHERE scope = :scope AND block = :block AND term IN (SELECT value FROM json_each(:terms));

-- name: index_add_posting
-- A term that a block has not held yet.
INSERT INTO postings (scope, block, term, found, places) VALUES (:scope, :block, :term, :found, :places);

-- name: index_change_posting
-- The rows of a block that hold a term now.
UPDATE postings SET found = :found, places = :places WHERE row = :row;

-- name: index_drop_posting
-- A term that no row of a block holds any more.
DELETE FROM postings WHERE row = :row;

-- name: index_add_features
-- Keep what the exact score of a row is made of.
INSERT INTO features (row, scope, place, terms)
SELECT row, :scope, :place, :terms FROM lessons WHERE id = :id;

-- name: index_remove_features
-- Forget what a row's score was made of.
DELETE FROM features WHERE row = :row;

-- name: index_count
-- Count the rows of a scope that terms came into: an object of terms, and how many rows.
INSERT INTO terms (scope, term, found)
SELECT :scope, key, value FROM json_each(:terms) WHERE true
ON CONFLICT DO UPDATE SET found = found + excluded.found;

-- name: index_uncount
-- Count the rows of a scope that terms left: an object of terms, and how many rows.
UPDATE terms SET found = max(found - gone.rows, 0)
FROM (SELECT key AS term, value AS rows FROM json_each(:terms)) AS gone
WHERE scope = :scope AND terms.term = gone.term;

-- name: index_resize
-- Count rows and telling terms that came into a scope or left it, and the places that were handed out.
INSERT INTO sizes (scope, found, length, places) VALUES (:scope, max(:found, 0), max(:length, 0), :places)
ON CONFLICT DO UPDATE
SET found = max(found + :found, 0), length = max(length + :length, 0), places = places + :places;

-- name: index_forget
-- Drop those of some words that are in no row any more.
DELETE FROM terms
WHERE scope = :scope AND term IN (SELECT value FROM json_each(:terms)) AND found = 0;
