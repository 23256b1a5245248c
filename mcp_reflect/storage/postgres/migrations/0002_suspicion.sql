-- The verdict of the rules on suspicious text on each record, and the version of the rules (0: not judged yet): hooks and
-- prompts do not show what is suspicious, whoever wrote it.
ALTER TABLE lessons ADD COLUMN suspicion words;
ALTER TABLE lessons ADD COLUMN rules_version INTEGER NOT NULL DEFAULT 0 CHECK (rules_version >= 0);
CREATE INDEX lessons_by_rules ON lessons (tenant, rules_version);
