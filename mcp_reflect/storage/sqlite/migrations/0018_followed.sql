-- In which sessions hooks saw a call that does as a lesson says, after the lesson was shown there: the proof of a lesson.
CREATE TABLE followed (
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  lesson_id TEXT NOT NULL REFERENCES lessons (id) ON DELETE CASCADE,
  session TEXT NOT NULL,
  worked INTEGER NOT NULL CHECK (worked IN (0, 1)),  -- how the latest of these calls ended
  calls TEXT NOT NULL CHECK (json_valid(calls)),  -- their ids: a call is reported once
  updated_at REAL NOT NULL,
  PRIMARY KEY (tenant, lesson_id, session)
) STRICT, WITHOUT ROWID;

-- The transcript of a session, as the host's own command named it: what a tool says of a session is compared with it.
ALTER TABLE sessions ADD COLUMN transcript TEXT;

-- Typed outputs are no longer compared with what hooks saw: a call that follows the lesson is its proof.
DROP TABLE outputs;
