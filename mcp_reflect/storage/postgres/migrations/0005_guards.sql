-- What the calls of a lesson are, the guard made of them, why it is not armed, and how often it was passed by.
ALTER TABLE lessons ADD COLUMN wrong_call words;
ALTER TABLE lessons ADD COLUMN right_call words;
ALTER TABLE lessons ADD COLUMN guard words;
ALTER TABLE lessons ADD COLUMN unarmed words;
ALTER TABLE lessons ADD COLUMN guard_mode words CHECK (guard_mode IN ('enforce', 'hold', 'tell', 'off'));
ALTER TABLE lessons ADD COLUMN guard_repeats INTEGER NOT NULL DEFAULT 0 CHECK (guard_repeats >= 0);

-- The armed guards of active lessons by the program, file or tool of the calls that they may meet.
CREATE TABLE guards (
  tenant words NOT NULL,
  project words NOT NULL,
  key words NOT NULL,
  lesson_id words NOT NULL,
  PRIMARY KEY (tenant, project, key, lesson_id)
);
CREATE INDEX guards_of_lesson ON guards (lesson_id);
SELECT secure_tables();
