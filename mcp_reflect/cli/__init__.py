"""The command line."""

from mcp_reflect.cli.main import main

__all__ = ["main"]
