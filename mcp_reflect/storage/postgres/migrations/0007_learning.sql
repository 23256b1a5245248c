-- What past sessions showed of a finding, the sessions that were read, and the blocks that were written into a project's
-- instruction files; see storage/sqlite/migrations/0013_learning.sql.
ALTER TABLE findings ADD COLUMN seen document NOT NULL DEFAULT '[]';
ALTER TABLE findings ADD COLUMN weight DOUBLE PRECISION NOT NULL DEFAULT 1 CHECK (weight >= 0);

CREATE TABLE sessions_read (
  tenant words NOT NULL,
  file words NOT NULL,
  size BIGINT NOT NULL,
  changed DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (tenant, file)
);

CREATE TABLE promotions (
  tenant words NOT NULL,
  project words NOT NULL,
  file words NOT NULL,
  body document NOT NULL,
  updated_at DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (tenant, project, file)
);
-- Nothing reads these any more.
DROP TABLE payoffs;
DROP TABLE leases;
DROP TRIGGER rates_changed ON lessons;
DROP TRIGGER rates_erased ON lessons;
DROP FUNCTION change_rates();
DROP TABLE rates;

-- Each process keeps the signs of vectors itself: a search by pgvector on the server took longer.
DROP TRIGGER IF EXISTS signs_added ON vectors;
DROP FUNCTION IF EXISTS add_signs();
DROP TABLE IF EXISTS lesson_signs;
SELECT secure_tables();
