"""A client of a server that it starts; `mcp-reflect demo` uses it."""

import os
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

from mcp import Client, StdioServerParameters, stdio_client
from mcp.types import TextContent

from mcp_reflect.errors import McpReflectError


class ServerSession:
    """A started server. Calls return what the tool returned; a tool's error is raised."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call a tool; McpReflectError with its words where it refuses."""
        result = await self._client.call_tool(tool, dict(arguments))
        if result.is_error:
            texts = [block.text for block in result.content if isinstance(block, TextContent)]
            raise McpReflectError(f"{tool}: {' '.join(texts)}")
        return cast("dict[str, Any]", result.structured_content)


@asynccontextmanager
async def session(env: Mapping[str, str]) -> AsyncGenerator[ServerSession]:
    """Start this installation's server over stdio with `env` added, and stop it when the block ends."""
    parameters = StdioServerParameters(command=sys.executable, args=["-m", "mcp_reflect"], env={**os.environ, **env})
    async with Client(stdio_client(parameters)) as client:
        yield ServerSession(client)
