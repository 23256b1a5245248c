-- The proof of lessons, and the transcripts of sessions; see storage/sqlite/migrations/0018_followed.sql.
CREATE TABLE followed (
  tenant words NOT NULL,
  project words NOT NULL,
  lesson_id words NOT NULL,
  session words NOT NULL,
  worked INTEGER NOT NULL CHECK (worked IN (0, 1)),
  calls document NOT NULL,
  updated_at DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (tenant, lesson_id, session),
  FOREIGN KEY (tenant, lesson_id) REFERENCES lessons (tenant, id) ON DELETE CASCADE
);

ALTER TABLE sessions ADD COLUMN transcript words;
DROP TABLE outputs;
SELECT secure_tables();
