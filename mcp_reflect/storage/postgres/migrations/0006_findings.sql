-- The last calls of a session, and what rules found hard-won in it; see storage/sqlite/migrations/0012_findings.sql.
CREATE TABLE session_calls (
  tenant words NOT NULL,
  project words NOT NULL,
  session words NOT NULL,
  number INTEGER NOT NULL,
  call document NOT NULL,
  PRIMARY KEY (tenant, project, session, number),
  FOREIGN KEY (tenant, project, session) REFERENCES sessions ON DELETE CASCADE
);

CREATE TABLE findings (
  id words NOT NULL,
  tenant words NOT NULL,
  project words NOT NULL,
  session words NOT NULL,
  thing words NOT NULL,
  state words NOT NULL CHECK (state IN ('open', 'kept', 'dropped')),
  sessions INTEGER NOT NULL,
  asked INTEGER NOT NULL,
  body document NOT NULL,
  lesson_id words,
  created_at DOUBLE PRECISION NOT NULL,
  updated_at DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (tenant, id),
  UNIQUE (tenant, project, thing)
);
CREATE INDEX findings_by_state ON findings (tenant, project, state, updated_at);
CREATE INDEX findings_by_session ON findings (tenant, project, session);
SELECT secure_tables();
