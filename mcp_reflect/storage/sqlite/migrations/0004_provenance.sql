-- Whose words a record has: they repeat the output of a tool, and the program whose agent stored them.
ALTER TABLE lessons ADD COLUMN outside INTEGER NOT NULL DEFAULT 0 CHECK (outside IN (0, 1));
ALTER TABLE lessons ADD COLUMN agent TEXT;
