"""Processor time of calls that are large, or made to stall: python -m benchmarks.heavy_calls.

Each tool is called through a client in this process with its largest arguments, filled with texts that cost much to
read: thousands of labels, quotes, backslashes, names of secrets, other scripts, base64, one long line. A call is counted
whole, in time of the processor of all threads of the process; beside it stands the longest turn of the event loop, in
time of its own thread. `--words TEXT` names a part of the cases' names, `--least SECONDS` what is printed.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

from mcp import Client
from mcp.types import TextContent

from mcp_reflect.config import Settings
from mcp_reflect.server.app import build
from mcp_reflect.services.engine import Engine
from tests.fuzz.large_calls import TEXTS, WARM, shapes
from tests.fuzz.watch import Watch

MOST_SECONDS: Final = 1.0  # of the processor for a call


def calls() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield cases: the name of each, its tool, and its arguments."""
    for name, unit in TEXTS.items():
        for shape, tool, arguments in shapes(unit):
            yield f"{tool}, {shape}: {name}", tool, arguments
    yield from _many_values()


def _many_values() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield calls with very many small values."""
    for tool, good in WARM.items():
        yield f"{tool}, 140,000 numbers", tool, {**good, "extra": [*range(140_000)]}
        yield f"{tool}, 70,000 lists", tool, {**good, "extra": [[0]] * 70_000}
        names = {f"password {place}": f"Kelp{place}" for place in range(60_000)}
        yield f"{tool}, 60,000 names", tool, {**good, "extra": names}
        names = {f"name {place}": f"word {place}" for place in range(60_000)}
        yield f"{tool}, 60,000 fields", tool, {**good, "extra": names}
    run = {"task": "Read the settings", "outcome": "failure"}
    small = [
        event
        for place in range(20_000)
        for event in (
            {"tool": "read", "arguments": {"path": f"a{place}.py"}},
            {"content": f"line {place}", "exit_code": 0},
        )
    ]
    yield "reflect, 40,000 events", "reflect", {**run, "events": small}
    yield "reflect, 6,000 calls that fail", "reflect", {**run, "events": _failing_calls(6_000)}
    yield from _many_claims()
    outputs = [{"tool": f"pytest {place}", "content": f"{place} passed"} for place in range(10_000)]
    work = {"goal": "x", "response": "All 40 tests pass.", "tool_results": outputs}
    yield "critique, 10,000 outputs", "critique", work
    results = [f"row {place}" for place in range(10_000)]
    queries = [{"query_text": "a b", "results": results}]
    search = {"user_message": "qubits", "queries": queries}
    yield "replan_search, 10,000 results", "replan_search", search


def _failing_calls(count: int) -> list[dict[str, Any]]:
    """Return the events of calls each of which fails in its own way."""
    events: list[dict[str, Any]] = []
    for place in range(count):
        command = {"command": f"make target{place}"}
        events.append({"tool": "Bash", "arguments": command})
        events.append({"content": f"Error: no rule {place}", "exit_code": 1})
    return events


def _many_claims() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield a work of very many claims with as many outputs as are read."""
    claims = " ".join(
        f"The module{place} has {place} tests and all {place} of them pass." for place in range(60)
    )
    outputs = [
        {
            "tool": f"pytest tests/module{place}",
            "content": f"module{place}: {place} passed in {place} s\n" * 20,
            "exit_code": 0,
        }
        for place in range(400)
    ]
    work = {"goal": "x", "response": claims, "tool_results": outputs}
    yield "critique, 60 claims and 400 outputs", "critique", work


async def timed(
    client: Client, tool: str, arguments: Mapping[str, Any], watch: Watch
) -> tuple[float, float, str]:
    """Return the time of the processor that a call took, the longest turn, and what was said against the call."""
    began, watch.longest_turn = time.process_time(), 0.0
    found = await client.call_tool(tool, dict(arguments))
    took = time.process_time() - began
    said = ""
    if found.is_error:
        said = " ".join(part.text for part in found.content if isinstance(part, TextContent))
    return took, watch.longest_turn, said


async def run(words: str, least: float, most: int | None) -> int:
    """Print the cases that take `least` seconds and more; return how many take more than a call may."""
    count = over = blocked = 0
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(bank=Path(folder) / "bank.db")
        async with Engine(settings) as engine, Client(build(engine=engine)) as client:
            for tool, arguments in WARM.items():
                await client.call_tool(tool, arguments)
            watch = Watch()
            ticking = asyncio.create_task(watch.ticks())
            chosen = (case for case in calls() if words in case[0])
            for name, tool, arguments in islice(chosen, most):
                if (
                    len(json.dumps(arguments, ensure_ascii=False).encode())
                    > settings.max_message_bytes
                ):
                    continue  # such a line is refused before it is read
                took, turn, said = await timed(client, tool, arguments, watch)
                count += 1
                over += took > MOST_SECONDS
                blocked += turn > 0.1
                if took >= least or turn > 0.1:
                    print(f"{took:6.2f} s, turn {turn:.3f} s  {name}  {said[:90]}", flush=True)
            ticking.cancel()
    print(
        f"{count} calls, {over} over {MOST_SECONDS:.0f} s of the processor, {blocked} turns over .1 s"
    )
    return over


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--words", default="", help="a part of the names of cases")
    parser.add_argument("--least", type=float, default=0.5, help="seconds of a case that is shown")
    parser.add_argument("--most", type=int, help="how many cases are tried")
    options = parser.parse_args()
    asyncio.run(run(options.words, options.least, options.most))
    return 0


if __name__ == "__main__":
    sys.exit(main())
