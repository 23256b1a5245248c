-- What the calls of a lesson are, the guard made of them, why it is not armed, and how often it was passed by.
ALTER TABLE lessons ADD COLUMN wrong_call TEXT;
ALTER TABLE lessons ADD COLUMN right_call TEXT;
ALTER TABLE lessons ADD COLUMN guard TEXT;
ALTER TABLE lessons ADD COLUMN unarmed TEXT;
ALTER TABLE lessons ADD COLUMN guard_mode TEXT CHECK (guard_mode IN ('enforce', 'hold', 'tell', 'off'));
ALTER TABLE lessons ADD COLUMN guard_repeats INTEGER NOT NULL DEFAULT 0 CHECK (guard_repeats >= 0);

-- The armed guards of active lessons by the program, file or tool of the calls that they may meet.
CREATE TABLE guards (
  tenant TEXT NOT NULL,
  project TEXT NOT NULL,
  key TEXT NOT NULL,
  lesson_id TEXT NOT NULL,
  PRIMARY KEY (tenant, project, key, lesson_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX guards_of_lesson ON guards (lesson_id);
