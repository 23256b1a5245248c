-- name: embedder_add
-- Note an embedding model, where it is new.
INSERT OR IGNORE INTO embedders (name, dims, background, used_at) VALUES (:name, :dims, :background, :now);

-- name: embedder_by_name
-- An embedding model of so many dimensions.
SELECT * FROM embedders WHERE name = :name AND dims = :dims;

-- name: embedder_claim
-- Become the one process that writes a model's vectors, unless another one is at it.
UPDATE embedders SET keeper = :keeper, kept_until = :until, used_at = :now
WHERE id = :embedder AND (kept_until <= :now OR keeper = :keeper);

-- name: embedder_release
-- Let another process write a model's vectors.
UPDATE embedders SET keeper = NULL, kept_until = 0 WHERE id = :embedder AND keeper = :keeper;

-- name: vector_put
-- Keep the vector of a lesson, if it is still there, out of quarantine, and still says what was embedded.
INSERT INTO vectors (lesson, embedder, scale, vector)
SELECT row, :embedder, :scale, :vector FROM lessons
WHERE row = :lesson AND state = 'active' AND trust <> 'quarantined' AND updated_at = :updated_at
ON CONFLICT (lesson, embedder) DO NOTHING;

-- name: vector_again
-- A lesson that changed while it was embedded, or that had nothing to embed (a null time) and now has, comes again.
INSERT OR IGNORE INTO unembedded (lesson, embedder)
SELECT row, :embedder FROM lessons
WHERE row = :lesson AND state = 'active' AND trust <> 'quarantined' AND updated_at IS NOT :updated_at;

-- name: unembedded_done
-- A changed lesson was embedded, or has nothing to embed any more.
DELETE FROM unembedded WHERE lesson = :lesson AND embedder = :embedder;

-- name: embedded_upto
-- Note how far the lessons of a project were embedded.
INSERT INTO embedded (embedder, tenant, project, upto) VALUES (:embedder, :tenant, :project, :upto)
ON CONFLICT (embedder, tenant, project) DO UPDATE SET upto = max(upto, excluded.upto);

-- name: unembedded_list
-- Changed lessons of some projects that may wait for a vector: only what is `findable` gets one.
SELECT lessons.row, lessons.text, lessons.symptoms, lessons.keywords, lessons.updated_at,
  lessons.state = 'active' AND lessons.trust <> 'quarantined' AS findable
FROM unembedded JOIN lessons ON lessons.row = unembedded.lesson
WHERE unembedded.embedder = :embedder AND lessons.tenant = :tenant
  AND lessons.project IN (SELECT value FROM json_each(:projects))
ORDER BY lessons.row LIMIT :limit;

-- name: lessons_after
-- The lessons of a project that come after the last one that was embedded. The signs keep it to the order of rows.
SELECT row, text, symptoms, keywords, updated_at, state = 'active' AND trust <> 'quarantined' AS findable FROM lessons
WHERE +tenant = :tenant AND +project = :project AND row > (
  SELECT coalesce(max(upto), 0) FROM embedded
  WHERE embedder = :embedder AND tenant = :tenant AND project = :project
)
ORDER BY row LIMIT :limit;

-- name: newest_lesson
-- The last row there is.
SELECT coalesce(max(row), 0) AS row FROM lessons;

-- name: vectors_after
-- The vectors of a scope that were written after one, oldest first.
SELECT vectors.seq, vectors.lesson, vectors.scale, vectors.vector
FROM vectors JOIN lessons ON lessons.row = vectors.lesson
WHERE vectors.seq > :after AND vectors.embedder = :embedder
  AND lessons.tenant = :tenant AND lessons.project IN (:project, '')
ORDER BY vectors.seq LIMIT :limit;

-- name: vectors_kept
-- Those of some lessons that still have a vector: what was forgotten, changed or put into quarantine has none.
SELECT lesson FROM vectors
WHERE embedder = :embedder AND lesson IN (SELECT value FROM json_each(:lessons));

-- name: vectors_of
-- The vectors of some lessons.
SELECT lesson, scale, vector FROM vectors
WHERE embedder = :embedder AND lesson IN (SELECT value FROM json_each(:lessons));

-- name: vector_counts
-- How many active lessons out of quarantine a scope has, and how many of them have a vector of a model (by name).
SELECT count(*) AS lessons, count(vectors.seq) AS vectors
FROM lessons LEFT JOIN vectors ON vectors.lesson = lessons.row
  AND vectors.embedder = (SELECT id FROM embedders WHERE name = :name ORDER BY used_at DESC LIMIT 1)
WHERE lessons.tenant = :tenant AND lessons.project IN (:project, '')
  AND lessons.state = 'active' AND lessons.trust <> 'quarantined';

-- name: vectors_drop
-- Remove vectors of models that nobody used since a time, some at once.
DELETE FROM vectors WHERE seq IN (
  SELECT seq FROM vectors WHERE embedder IN (SELECT id FROM embedders WHERE used_at < :before) LIMIT :limit
);

-- name: embedders_drop
-- Forget models that nobody used since a time, when their vectors are gone.
DELETE FROM embedders
WHERE used_at < :before AND NOT EXISTS (SELECT 1 FROM vectors WHERE vectors.embedder = embedders.id);
