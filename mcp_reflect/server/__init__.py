"""The MCP server: the only place that knows MCP."""
