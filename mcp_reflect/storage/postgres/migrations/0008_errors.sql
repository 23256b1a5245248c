-- The errors that identify a lesson are terms of its index entry; see storage/sqlite/migrations/0014_errors.sql.
DROP TABLE symptoms;
