"""Fenced code and data that does not parse."""

from mcp_reflect.critique.checks.code.checker import CodeChecker

__all__ = ["CodeChecker"]
