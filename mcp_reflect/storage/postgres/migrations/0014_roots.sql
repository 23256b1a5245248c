-- What lessons were true of, and in which sessions they were shown; see storage/sqlite/migrations/0020_roots.sql.
CREATE TABLE roots (
  tenant words NOT NULL,
  project words NOT NULL,
  lesson_id words NOT NULL,
  body document NOT NULL,
  planted_at DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (tenant, lesson_id),
  FOREIGN KEY (tenant, lesson_id) REFERENCES lessons (tenant, id) ON DELETE CASCADE
);

CREATE TABLE shown_in (
  tenant words NOT NULL,
  project words NOT NULL,
  lesson_id words NOT NULL,
  session words NOT NULL,
  held_out INTEGER NOT NULL CHECK (held_out IN (0, 1)),
  ending INTEGER CHECK (ending IN (0, 1)),
  updated_at DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (tenant, lesson_id, session),
  FOREIGN KEY (tenant, lesson_id) REFERENCES lessons (tenant, id) ON DELETE CASCADE
);
CREATE INDEX shown_in_session ON shown_in (tenant, session);
SELECT secure_tables();
