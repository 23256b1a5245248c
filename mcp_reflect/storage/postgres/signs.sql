-- The signs of word vectors for pgvector, made when the extension is there: see Database in database.py.
CREATE TABLE lesson_signs (
  seq BIGINT PRIMARY KEY REFERENCES vectors (seq) ON DELETE CASCADE,
  lesson BIGINT NOT NULL,
  scope BIGINT NOT NULL,
  signs BIT(256) NOT NULL
);
CREATE INDEX lesson_signs_by_scope ON lesson_signs (scope);
-- The vectors of all tenants: the owner of the table sees no row of one otherwise.
ALTER TABLE vectors NO FORCE ROW LEVEL SECURITY;
INSERT INTO lesson_signs SELECT seq, lesson, scope, ('x' || encode(signs, 'hex'))::bit(256) FROM vectors
WHERE embedder = 1;
ALTER TABLE vectors FORCE ROW LEVEL SECURITY;
CREATE INDEX lesson_signs_nearest ON lesson_signs USING hnsw (signs bit_hamming_ops);

CREATE FUNCTION add_signs() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO lesson_signs VALUES (new.seq, new.lesson, new.scope, ('x' || encode(new.signs, 'hex'))::bit(256));
  RETURN NULL;
END $$;
CREATE TRIGGER signs_added AFTER INSERT ON vectors FOR EACH ROW WHEN (new.embedder = 1) EXECUTE FUNCTION add_signs();
