"""States that steps work out: stacks of brackets, who holds what, sorted lists, orders of things."""

from mcp_reflect.critique.checks.state.checker import StateChecker

__all__ = ["StateChecker"]
