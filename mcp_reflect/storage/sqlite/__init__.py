"""SQLite: the only package with SQL."""
