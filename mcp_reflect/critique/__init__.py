"""Checkers of a piece of work: evidence, arithmetic, units, dates, code."""
