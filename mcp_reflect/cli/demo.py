"""Show the loop: an agent keeps a lesson of its run, a new server recalls it, work is checked, an outcome is recorded."""

import asyncio
import tempfile
from argparse import Namespace
from pathlib import Path
from typing import Any, Final

from mcp_reflect.cli.output import write_json, write_line
from mcp_reflect.models.lesson_words import short_id

TASK: Final = "Run the tests of the billing service"
FAILING: Final = "pytest tests/billing"
WORKING: Final = "PYTHONPATH=src pytest tests/billing"
EVENTS: Final[list[dict[str, Any]]] = [
    {"type": "tool_call", "tool": "bash", "arguments": {"command": FAILING}},
    {
        "type": "tool_response",
        "tool": "bash",
        "content": "ModuleNotFoundError: No module named 'billing'",
        "metadata": {"exit_code": 4},
    },
    {"type": "tool_call", "tool": "bash", "arguments": {"command": WORKING}},
    {
        "type": "tool_response",
        "tool": "bash",
        "content": "42 passed in 2.41s",
        "metadata": {"exit_code": 0},
    },
]
ANALYSIS: Final = {
    "mistake": "Ran pytest for the billing service without its sources on the path",
    "correction": "The services are not installed: run their tests with PYTHONPATH=src",
}
SIMILAR_TASK: Final = "Run pytest for the billing module after the refund change"
RESULTS: Final = [{"tool": "bash", "content": "43 passed in 2.52s", "exit_code": 0}]
REPORT: Final = (
    "All 44 tests of the billing module pass. I pushed it. The refund is 3 × 12.50 = 35.50."
)


def run_demo(options: Namespace) -> None:
    """See it learn, in a temporary bank: an agent keeps a lesson, a new server recalls it, an outcome is recorded."""
    with tempfile.TemporaryDirectory(prefix="mcp-reflect-demo-") as folder:
        result = asyncio.run(_play(Path(folder), quiet=options.json))
    if options.json:
        write_json(result)


async def _play(folder: Path, *, quiet: bool) -> dict[str, Any]:
    """Play the loop with two servers, one after the other, and return what they answered by name.

    Two servers show that a lesson outlives the one that stored it. With `quiet` nothing is printed.
    """
    from mcp_reflect.server.stdio import session  # noqa: PLC0415 - only this command is an MCP client

    def narrate(text: str) -> None:
        """Print what happens, for a person."""
        if not quiet:
            write_line(text)

    env = {"MCP_REFLECT_BANK": str(folder / "bank.db"), "MCP_REFLECT_PROJECT": "demo"}
    narrate("A server starts over stdio. An agent calls reflect with what happened in its run.")
    async with session(env) as first:
        facts = await first("reflect", {"task": TASK, "outcome": "success", "events": EVENTS})
        narrate(
            f"\n  {facts['reflection']}\n\nThese are facts, and the server asks what they mean."
        )
        narrate("The agent says so in its own words, and sends them with the id of the run.\n")
        analysis = {"reflection_id": facts["reflection_id"], "analysis": ANALYSIS}
        reflection = await first("reflect", analysis)
    lesson = reflection["lessons"][0]["id"]
    narrate(f"Lesson {lesson} is stored. The server stops.\n")
    narrate(
        f"Another day, a new server, and a similar task: {SIMILAR_TASK!r}. The agent calls recall_lessons."
    )
    async with session(env) as second:
        recalled = await second("recall_lessons", {"task": SIMILAR_TASK, "limit": 1})
        best_lesson = recalled["lessons"][0]
        narrate(f"\n  {best_lesson['text']}\n  Why: {best_lesson['why']}.\n")
        narrate(
            "It runs the tests as the lesson says, they pass, and record_outcome gets what they printed.\n"
            f"Before it reports {REPORT!r}, it calls critique, which judges no words and shows:"
        )
        outcome = {
            "success": True,
            "recall_id": recalled["recall_id"],
            "evidence": "test",
            "tool_results": RESULTS,
        }
        checked = await second("critique", {"response": REPORT, "tool_results": RESULTS})
        updated = (await second("record_outcome", {**outcome, "detail": True}))["updated"][0]
    for line in (*checked["claims"], *checked["outputs"], *checked["issues"]):
        narrate(f"  {line}")
    narrate(
        f"\n  Effectiveness of {short_id(updated['id'])}: not known yet → {updated['effectiveness']}\n"
    )
    narrate("That is the loop. Register the server in your host: docs/hosts.md.")
    return {
        "lesson": lesson,
        "facts": facts,
        "recalled": recalled,
        "checked": checked,
        "updated": updated,
    }
