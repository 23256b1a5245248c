-- Whether an agent gave a lesson as a person's word: it is shown so until a person keeps the lesson.
ALTER TABLE lessons ADD COLUMN told INTEGER NOT NULL DEFAULT 0 CHECK (told IN (0, 1));
