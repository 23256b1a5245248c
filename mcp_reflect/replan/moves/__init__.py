"""The moves: each gives queries that could be run instead of a failed one, the best first."""
