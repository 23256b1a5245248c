"""Days of the week, differences, additions, leap years, and times with offsets."""

from mcp_reflect.critique.checks.dates.checker import DatesChecker

__all__ = ["DatesChecker"]
