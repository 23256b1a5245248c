"""Guards: which calls go against a lesson, derived from its words and calls; pure functions of plain values."""
