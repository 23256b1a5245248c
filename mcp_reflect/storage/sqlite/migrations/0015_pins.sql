-- The lessons that a person pinned: every session begins with them.
ALTER TABLE lessons ADD COLUMN pinned_at REAL;
CREATE INDEX lessons_pinned ON lessons (tenant, project) WHERE pinned_at IS NOT NULL;
