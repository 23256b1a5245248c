"""`mcp-reflect demo`: a failing run, its lesson, a new server, the lesson recalled, and its worth moving."""

import asyncio
import tempfile
from pathlib import Path
from typing import Any, Final

from mcp_reflect.cli.common import parser, say, say_json

TASK: Final = "Run the tests of the billing service and push the fix"
_MISSING: Final = "ModuleNotFoundError: No module named 'billing'"
EVENTS: Final[list[dict[str, Any]]] = [
    {"type": "tool_call", "tool": "bash", "arguments": {"command": "pytest tests/billing"}},
    {"type": "tool_response", "tool": "bash", "content": _MISSING, "metadata": {"exit_code": 4}},
    {"type": "tool_call", "tool": "bash", "arguments": {"command": "pytest tests/billing"}},
    {"type": "tool_response", "tool": "bash", "content": _MISSING, "metadata": {"exit_code": 4}},
    {"type": "tool_call", "tool": "bash", "arguments": {"command": "PYTHONPATH=src pytest tests/billing"}},
    {"type": "tool_response", "tool": "bash", "content": "42 passed in 2.41s", "metadata": {"exit_code": 0}},
    {"type": "tool_call", "tool": "bash", "arguments": {"command": "git push origin main"}},
    {
        "type": "tool_response",
        "tool": "bash",
        "content": "remote: error: GH006: Protected branch update failed for refs/heads/main.",
        "metadata": {"exit_code": 1},
    },
]
SIMILAR_TASK: Final = "Run pytest for the billing module after the refund change"
RESULTS: Final = [{"tool": "bash", "content": "43 passed in 2.52s", "exit_code": 0}]


def run(arguments: list[str]) -> int:
    """Play it in a bank of its own, which is gone afterwards."""
    given = parser("demo", "See it learn: everything happens in a bank of its own, gone afterwards.").parse_args(
        arguments
    )
    with tempfile.TemporaryDirectory(prefix="mcp-reflect-demo-") as folder:
        told = asyncio.run(_play(Path(folder), quiet=given.json))
    if given.json:
        say_json(told)
    return 0


async def _play(folder: Path, *, quiet: bool) -> dict[str, Any]:
    from mcp_reflect.server.session import session  # noqa: PLC0415 - only this command is an MCP client

    def tell(text: str) -> None:
        if not quiet:
            say(text)

    env = {"MCP_REFLECT_BANK": str(folder / "bank.db"), "MCP_REFLECT_PROJECT": "demo"}
    tell("A server starts over stdio. An agent's run failed, and it calls reflect with what happened.")
    async with session(env) as first:
        learnt = await first.call("reflect", {"task": TASK, "outcome": "failure", "events": EVENTS})
    lesson = learnt["lessons"][0]["id"]
    tell(f"\n  {learnt['reflection']}\n\nLesson {lesson} is kept. The server stops.\n")
    tell(f"Another day, a new server, and a similar task: {SIMILAR_TASK!r}. The agent calls recall_lessons.")
    async with session(env) as second:
        recalled = await second.call("recall_lessons", {"task": SIMILAR_TASK, "limit": 1})
        hit = recalled["lessons"][0]
        tell(f"\n  {hit['text']}\n  Why: {hit['why']}.\n")
        tell("It runs the tests as the lesson says, they pass, and record_outcome gets what they printed.")
        outcome = {"success": True, "recall_id": recalled["recall_id"], "evidence": "test", "tool_results": RESULTS}
        updated = (await second.call("record_outcome", outcome))["updated"][0]
    tell(f"\n  Effectiveness of {updated['id']}: not known yet → {updated['effectiveness']}\n")
    tell("That is the loop. Register the server in your host: docs/hosts.md.")
    return {"lesson": lesson, "reflection": learnt, "recalled": recalled, "updated": updated}
