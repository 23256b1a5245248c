-- What past sessions showed of a finding: `seen` has an entry for each session, with its date, its lines and what it
-- cost. `weight` is what all of them cost, in seconds; a finding without weight is kept to know it again, and not shown.
ALTER TABLE findings ADD COLUMN seen TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(seen));
ALTER TABLE findings ADD COLUMN weight REAL NOT NULL DEFAULT 1 CHECK (weight >= 0);

-- The files of past sessions that were read, by a hash of their path, with the size and the time of their last change.
CREATE TABLE sessions_read (
  tenant TEXT NOT NULL,
  file TEXT NOT NULL,
  size INTEGER NOT NULL,
  changed REAL NOT NULL,
  PRIMARY KEY (tenant, file)
) STRICT, WITHOUT ROWID;

-- The blocks that were written into a project's instruction files: the block as it is there, the one that it replaced,
-- the signs that were put before it, and the ids of its lessons.
CREATE TABLE promotions (
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  file TEXT NOT NULL,
  body TEXT NOT NULL CHECK (json_valid(body)),
  updated_at REAL NOT NULL,
  PRIMARY KEY (tenant, project, file)
) STRICT, WITHOUT ROWID;

-- Nothing reads these any more.
DROP TABLE payoffs;
DROP TABLE leases;
DROP TRIGGER rates_taken;
DROP TRIGGER rates_added;
DROP TRIGGER rates_erased;
DROP TABLE rates;
