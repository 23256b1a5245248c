-- What a lesson was true of when it was stored: lines of files and versions of packages, as JSON of models.root.Roots.
CREATE TABLE roots (
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  lesson_id TEXT NOT NULL REFERENCES lessons (id) ON DELETE CASCADE,
  body TEXT NOT NULL CHECK (json_valid(body)),
  planted_at REAL NOT NULL,
  PRIMARY KEY (tenant, lesson_id)
) STRICT, WITHOUT ROWID;

-- In which sessions a lesson was shown, or would have been shown but was held out, and how these sessions ended.
CREATE TABLE shown_in (
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  lesson_id TEXT NOT NULL REFERENCES lessons (id) ON DELETE CASCADE,
  session TEXT NOT NULL,
  held_out INTEGER NOT NULL CHECK (held_out IN (0, 1)),
  ending INTEGER CHECK (ending IN (0, 1)),  -- 1: the last run that decides passed, 0: it failed; NULL: not known
  updated_at REAL NOT NULL,
  PRIMARY KEY (tenant, lesson_id, session)
) STRICT, WITHOUT ROWID;
CREATE INDEX shown_in_session ON shown_in (tenant, session);
