"""SQLite: the file of a bank, its queries and its migrations."""
