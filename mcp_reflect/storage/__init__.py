"""The bank: lessons and all records that belong to them, stored on SQLite or PostgreSQL, and retrieved."""
