"""The bank: lessons and all records that belong to them, stored in one file and retrieved."""
