"""Conversions, and sums of quantities with units, with exact factors."""

from mcp_reflect.critique.checks.units.checker import UnitsChecker

__all__ = ["UnitsChecker"]
