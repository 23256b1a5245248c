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

-- In which sessions hooks saw a call that does as a lesson says, after the lesson was shown there: the proof of a lesson.
CREATE TABLE followed (
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  lesson_id TEXT NOT NULL REFERENCES lessons (id) ON DELETE CASCADE,
  session TEXT NOT NULL,
  worked INTEGER NOT NULL CHECK (worked IN (0, 1)),  -- how the latest of these calls ended
  digest BLOB NOT NULL,  -- of its output
  calls TEXT NOT NULL CHECK (json_valid(calls)),  -- their ids: a call is reported once
  updated_at REAL NOT NULL,
  PRIMARY KEY (tenant, lesson_id, session)
) STRICT, WITHOUT ROWID;

-- The transcript of a session, as the host's own command named it: what a tool says of a session is compared with it.
ALTER TABLE sessions ADD COLUMN transcript TEXT;
