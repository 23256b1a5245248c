-- What agents want changed of lessons that a person keeps; it waits for a person. `body` has the new lesson or fields.
CREATE TABLE proposals (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  lesson_id TEXT NOT NULL REFERENCES lessons (id) ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('replace', 'edit', 'retire', 'disarm')),
  state TEXT NOT NULL CHECK (state IN ('open', 'approved', 'rejected')),
  reason TEXT NOT NULL,
  body TEXT NOT NULL CHECK (json_valid(body)),
  agent TEXT,
  created_at REAL NOT NULL,
  decided_at REAL
) STRICT, WITHOUT ROWID;
CREATE INDEX proposals_by_lesson ON proposals (lesson_id, state);
CREATE INDEX proposals_by_state ON proposals (tenant, project, state);
