"""The real server as a process, over a bank of the test's own."""

import sys
from pathlib import Path
from typing import Any

from benchmarks.stdio import Era, RawClient, RawServer

ROOT = Path(__file__).parent.parent.parent
SERVE = (sys.executable, "-m", "mcp_reflect")
LESSON: dict[str, Any] = {"mistake": "Deployed on a Friday", "correction": "Deploy on a Tuesday morning"}


def server(bank: Path, *, era: Era = Era.LEGACY, command: tuple[str, ...] = SERVE, **env: str) -> RawServer:
    """A server that has answered its handshake."""
    started = RawServer(
        command,
        env={"MCP_REFLECT_BANK": str(bank), "MCP_REFLECT_PROJECT": "app", **env},
        cwd=ROOT,
    )
    started.open(era)
    return started


def told(running: RawClient, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The structured result of a call that must work."""
    result: dict[str, Any] = running.call_tool(tool, arguments)
    assert not result.get("isError"), result
    return result["structuredContent"]
