-- What waits for a person about lessons that they keep; see storage/sqlite/migrations/0016_proposals.sql.
CREATE TABLE proposals (
  id words NOT NULL,
  tenant words NOT NULL,
  project words NOT NULL,
  lesson_id words NOT NULL,
  kind words NOT NULL CHECK (kind IN ('replace', 'edit', 'retire', 'disarm')),
  state words NOT NULL CHECK (state IN ('open', 'approved', 'rejected')),
  reason words NOT NULL,
  body document NOT NULL,
  agent words,
  created_at DOUBLE PRECISION NOT NULL,
  decided_at DOUBLE PRECISION,
  PRIMARY KEY (tenant, id),
  FOREIGN KEY (tenant, lesson_id) REFERENCES lessons (tenant, id) ON DELETE CASCADE
);
CREATE INDEX proposals_by_lesson ON proposals (tenant, lesson_id, state);
CREATE INDEX proposals_by_state ON proposals (tenant, project, state);
SELECT secure_tables();
