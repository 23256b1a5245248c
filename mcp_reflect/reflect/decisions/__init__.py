"""Decisions about components and their execution: the ordered checks, and what the metrics say."""
