-- The last calls of a session as hooks saw them, each with the most telling line of its answer; they are dropped when it
-- ends.
CREATE TABLE session_calls (
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  session TEXT NOT NULL,
  number INTEGER NOT NULL,
  call TEXT NOT NULL CHECK (json_valid(call)),
  PRIMARY KEY (tenant, project, session, number),
  FOREIGN KEY (tenant, project, session) REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- What rules found hard-won in a session: it is never recalled, and waits for somebody to make a lesson of it. `body` has
-- the calls, their lines and the draft; `asked` counts how often its session was asked about it.
CREATE TABLE findings (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  session TEXT NOT NULL,
  thing TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('open', 'kept', 'dropped')),
  sessions INTEGER NOT NULL,
  asked INTEGER NOT NULL,
  body TEXT NOT NULL CHECK (json_valid(body)),
  lesson_id TEXT,
  created_at REAL NOT NULL,
  updated_at REAL NOT NULL,
  UNIQUE (tenant, project, thing)
) STRICT, WITHOUT ROWID;
CREATE INDEX findings_by_state ON findings (tenant, project, state, updated_at);
CREATE INDEX findings_by_session ON findings (tenant, project, session);
