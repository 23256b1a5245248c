-- The last outputs that hooks saw in a session, as digests (analysis/output_digest.py): they tell typed evidence from
-- evidence that was seen.
CREATE TABLE outputs (
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  session TEXT NOT NULL,
  step INTEGER NOT NULL,
  worked INTEGER NOT NULL CHECK (worked IN (0, 1)),
  digest BLOB NOT NULL,
  PRIMARY KEY (tenant, project, session, step),
  FOREIGN KEY (tenant, project, session) REFERENCES sessions ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
