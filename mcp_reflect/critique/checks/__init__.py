"""Checkers, one file each: pure, deterministic, and unchecked where they are not sure."""
