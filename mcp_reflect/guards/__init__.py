"""Guards: which calls go against a lesson, derived from its text and calls. Pure functions on plain values."""
