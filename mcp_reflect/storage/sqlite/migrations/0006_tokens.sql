-- The tokens of a team's service. Only the SHA-256 digest of a token is stored: it is random, so nobody can guess it.
CREATE TABLE tokens (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  digest BLOB NOT NULL,
  projects TEXT NOT NULL CHECK (json_valid(projects)),
  role TEXT NOT NULL CHECK (role IN ('reader', 'writer', 'admin')),
  created_at REAL NOT NULL,
  expires_at REAL,
  revoked_at REAL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX tokens_by_name ON tokens (name) WHERE revoked_at IS NULL;
