-- What hooks note of a session beside its calls, as JSON (models/warning.py: SessionNotes).
ALTER TABLE sessions ADD COLUMN notes TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(notes));
