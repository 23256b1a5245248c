"""mcp-reflect: an agent looks back at what it did, and starts its next task with what it learned."""

__version__ = "0.1.0"
