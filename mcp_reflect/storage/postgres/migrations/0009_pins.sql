-- The lessons that a person pinned; see storage/sqlite/migrations/0015_pins.sql.
ALTER TABLE lessons ADD COLUMN pinned_at DOUBLE PRECISION;
CREATE INDEX lessons_pinned ON lessons (tenant, project) WHERE pinned_at IS NOT NULL;
