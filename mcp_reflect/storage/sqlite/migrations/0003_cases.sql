-- Failures in several sessions are independent cases; several in one session, or one that is read again, are one case.
ALTER TABLE failures ADD COLUMN cases INTEGER NOT NULL DEFAULT 1 CHECK (cases > 0);
