-- name: embedder_add
-- Note an embedding model, where it is new, and that it is in use.
INSERT INTO embedders (name, dims, background, used_at) VALUES (:name, :dims, :background, :now)
ON CONFLICT (name, dims) DO UPDATE SET used_at = excluded.used_at;

-- name: embedder_by_name
-- An embedding model of so many dimensions.
SELECT * FROM embedders WHERE name = :name AND dims = :dims;

-- name: vector_add_words
-- Store the vector that a lesson's words give.
INSERT INTO vectors (lesson, embedder, scope, signs, vector)
SELECT row, 1, :scope, :signs, :vector FROM lessons WHERE id = :id
ON CONFLICT (lesson, embedder) DO NOTHING;

-- name: vector_remove_words
-- Remove the vector that a lesson's words gave.
DELETE FROM vectors WHERE lesson = (SELECT row FROM lessons WHERE id = :id) AND embedder = 1;

-- name: vector_put
-- Store the vector of an indexed lesson, if it still says what was embedded.
INSERT INTO vectors (lesson, embedder, scope, signs, vector)
SELECT row, :embedder, features.scope, :signs, :vector FROM lessons JOIN features USING (row)
WHERE row = :lesson AND updated_at = :updated_at
ON CONFLICT (lesson, embedder) DO NOTHING;

-- name: unembedded_list
-- The next rows of some projects; of those that lack a vector of a model, and may have one, with their texts.
SELECT row, updated_at, text, mistake, symptoms, keywords FROM lessons
WHERE row > :after AND +tenant = :tenant AND +project IN (SELECT value FROM json_each(:projects))
  AND +state = 'active' AND +trust <> 'quarantined'
  AND NOT EXISTS (SELECT 1 FROM vectors WHERE lesson = lessons.row AND embedder = :embedder)
ORDER BY row LIMIT :limit;

-- name: vectors_after
-- The signs of a scope's vectors that were written after one, oldest first.
SELECT seq, lesson, signs FROM vectors
WHERE embedder = :embedder AND scope = :scope AND seq > :after ORDER BY seq;

-- name: vectors_of
-- The vectors of some lessons.
SELECT lesson, vector FROM vectors
WHERE embedder = :embedder AND lesson IN (SELECT value FROM json_each(:lessons));

-- name: vector_counts
-- The number of a scope's active lessons out of quarantine, and of those that have a vector of a model (by name).
SELECT count(*) AS lessons, count(vectors.seq) AS vectors
FROM lessons LEFT JOIN vectors ON vectors.lesson = lessons.row
  AND vectors.embedder = (SELECT id FROM embedders WHERE name = :name ORDER BY used_at DESC LIMIT 1)
WHERE lessons.tenant = :tenant AND lessons.project IN (:project, '')
  AND lessons.state = 'active' AND lessons.trust <> 'quarantined';
