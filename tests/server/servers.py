"""The real server as a process, over a bank of the test's own."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.clients.forked import forked_server
from tests.clients.stdio import Era, RawClient, RawServer

ROOT = Path(__file__).parent.parent.parent
SERVE = (sys.executable, "-m", "mcp_reflect")
LESSON: dict[str, Any] = {
    "mistake": "Deployed on a Friday",
    "correction": "Deploy on a Tuesday morning",
}


def server(bank: Path, *, era: Era = Era.LEGACY, **env: str) -> RawClient:
    """A server that has answered its handshake."""
    started = forked_server(bank, timeout=30, **env)
    started.open(era)
    return started


def started_server(
    bank: Path, *, era: Era = Era.LEGACY, command: Sequence[str] = SERVE, **env: str
) -> RawServer:
    """The same, started by a command as hosts start it."""
    settings = {"MCP_REFLECT_BANK": str(bank), "MCP_REFLECT_PROJECT": "app", **env}
    started = RawServer(command, env=settings, cwd=ROOT)
    started.open(era)
    return started


def told(running: RawClient, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The structured result of a call that must work."""
    result: dict[str, Any] = running.call_tool(tool, arguments)
    assert not result.get("isError"), result
    return result["structuredContent"]
