-- Whether an agent gave a lesson as a person's word; see storage/sqlite/migrations/0021_told.sql.
ALTER TABLE lessons ADD COLUMN told INTEGER NOT NULL DEFAULT 0 CHECK (told IN (0, 1));
