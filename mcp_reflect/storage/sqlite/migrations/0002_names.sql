-- Tables are named as the code names what is in them.
ALTER TABLE workings RENAME TO critique_sessions;
DROP INDEX workings_by_time;
CREATE INDEX critique_sessions_by_time ON critique_sessions (updated_at);
ALTER TABLE catalogues RENAME TO search_catalogs;
