"""Every equality and chain of equalities in prose, with exact fractions and no evaluation of code."""

from mcp_reflect.critique.checks.arithmetic.checker import ArithmeticChecker

__all__ = ["ArithmeticChecker"]
