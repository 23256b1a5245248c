"""The bank: what was learned, kept in one file, and found again."""
