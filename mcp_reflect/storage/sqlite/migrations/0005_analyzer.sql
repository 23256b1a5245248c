-- The version of the analysis that made an index entry (ANALYZER in storage/retrieval/index.py): recall indexes older
-- entries anew.
ALTER TABLE features ADD COLUMN analyzer INTEGER NOT NULL DEFAULT 0;
CREATE INDEX features_by_analyzer ON features (analyzer);
