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

MOST_SECONDS: Final = 1.0  # of the processor for a call
WARM: Final[dict[str, dict[str, Any]]] = {
    "reflect": {
        "task": "Read the settings",
        "outcome": "failure",
        "events": [{"tool": "cat", "arguments": {}}, {"content": "gone", "exit_code": 1}],
    },
    "critique": {
        "goal": "add",
        "response": "1 + 1 = 3. All tests pass.",
        "tool_results": [{"tool": "pytest", "content": "1 failed", "exit_code": 1}],
    },
    "replan_search": {"user_message": "qubits", "queries": [{"query_text": "a b"}]},
    "recall_lessons": {"task": "read the settings", "symptoms": ["No such file"]},
    "store_lesson": {"mistake": "Pushed with force", "correction": "Push with lease"},
    "record_outcome": {"success": "helped", "lesson_ids": ["les_none"], "note": "x"},
    "should_reflect": {"confidence": 0.3, "run_id": "run"},
    "forget_lesson": {"lesson_id": "les_none", "reason": "outdated"},
}
"""A small call of each tool: what is imported and compiled at the first call is not counted."""

_KEY: Final = "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gI"
TEXTS: Final[dict[str, str]] = {
    "labels": "token: ",
    "labels with values": f"api_key={_KEY}\n",
    "passwords in sentences": "the password is Kelp4Dune and ",
    "labels without signs": "password token ",
    "labels in JSON": '{"password": "Kelp4Dune7", "id": 12}, ',
    "labels behind prefixes": "+ api_key: none\n",
    "foreign labels": "Passwort: ändern, contraseña: año, 密码 ",
    "other script": "不要在这里写密码，先看说明。",
    "accents": "déjà vu à la crème brûlée, ",
    "quotes": '"a" "b" ',
    "joined literals": '"ab" + "cd" + ',
    "JSON": '{"name": "orders", "count": 12, "path": "/srv/app/a.py", "ok": true}, ',
    "JSON with accents": '{"name": "Müller", "count": 12, "city": "Köln"}, ',
    "JSON in JSON": '{\\"name\\": \\"orders\\", \\"text\\": \\"line\\\\n\\"}, ',
    "backslashes": "\\",
    "escaped lines": "one\\ntwo\\n",
    "base64": "aGVsbG8gd29ybGQgaGVsbG8gd29ybGQgaGVsbG8gd29y" * 2 + "\n",
    "base64 in one line": "aGVsbG8gd29ybGQ3",
    "base64 by its name": "base64 aGVsbG8gd29ybGQgaGVsbG8gd29ybGQ= ",
    "percent codes": "%41%42 ",
    "mail codes": "quoted=3Dprintable ",
    "tags": "<em>a</em> ",
    "colors": "\x1b[31mred\x1b[0m ",
    "addresses": "http://user:pass@host.example/a?token=b ",
    "hashes": "8f14e45fceea167a5a36dedd4bea2543 ",
    "wrapped lines": "x9y" * 26 + "ab\n",
    "log": "2026-11-28 10:00:01 INFO app.orders: request 8f14e45f took 3.5 ms\n",
    "tests": "test_shop.py::test_price[7] PASSED 12 rows, 3.5 ms, checksum 8f14e45f\n",
    "tracebacks": '  File "/srv/app/orders.py", line 12, in read\n    raise KeyError(name)\nKeyError: 7\n',
    "equations": "1 + 1 = 3. ",
    "claims": "All 40 tests pass, and the build takes 3 seconds. ",
    "one word": "a",
    "brackets": "[",
    "blanks": " ",
    "line ends": "\n",
    "commands": "cd /srv && git push --force; ",
    "nested commands": '$(" ',
    "numbers": "1,111.5 ",
    "seed phrases": "seed phrase abandon ability able ",
    "cues": "use password hunter2 to login with key ",
    "overstrikes": "a\b",
    "private keys": "-----BEGIN PRIVATE KEY-----\nMIIE\n",
}
"""What a text repeats."""


def repeated(unit: str, length: int) -> str:
    """Return a text of at most `length` characters."""
    return unit * (length // len(unit))


def numbered(unit: str, length: int, place: int) -> str:
    """Return such a text that differs from others in its first line, and so is in no cache."""
    return f"case {place}\n{repeated(unit, length)}"


def calls() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield cases: the name of each, its tool, and its arguments."""
    for name, unit in TEXTS.items():
        for shape, tool, arguments in shapes(unit):
            yield f"{tool}, {shape}: {name}", tool, arguments
    yield from _many_values()


def shapes(unit: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the ways to send much of a text, each up to what the tools take."""
    task = repeated(unit, 20_000)
    lesson = repeated(unit, 5_000)
    phrase = repeated(unit, 2_000)
    run = {"task": "Read the settings", "outcome": "failure"}
    work = {"goal": "Repair the shop", "response": "All 40 tests pass."}

    def results(count: int, length: int) -> list[dict[str, Any]]:
        return [
            {"tool": f"pytest {place}", "content": numbered(unit, length, place), "exit_code": 0}
            for place in range(count)
        ]

    def events(count: int, length: int) -> list[dict[str, Any]]:
        pairs = (
            (
                {"tool": "Bash", "arguments": {"command": f"make {place}"}},
                {"content": numbered(unit, length, place), "exit_code": place % 2},
            )
            for place in range(count)
        )
        return [event for pair in pairs for event in pair]

    yield "a long task", "reflect", {**run, "task": task}
    yield "a long analysis", "reflect", {**run, "analysis": {"mistake": lesson, "why": lesson}}
    yield "an analysis as text", "reflect", {**run, "analysis": repeated(unit, 190_000)}
    for count, length in ((1, 3_900_000), (200, 19_000), (1_000, 3_500), (20, 190_000)):
        yield f"{count} outputs", "reflect", {**run, "events": events(count, length)}
    yield "an analysis and an output", "reflect", {
        **run, "events": events(1, 100_000), "analysis": repeated(unit, 90_000)
    }  # fmt: skip
    command = {"tool": "Bash", "arguments": {"command": repeated(unit, 190_000)}}
    yield "a long command", "reflect", {**run, "events": [command, {"content": "x"}]}

    yield "a long goal", "critique", {**work, "goal": task}
    yield "long work", "critique", {**work, "response": repeated(unit, 190_000)}
    yield "many steps", "critique", {
        "goal": "x", "steps": [numbered(unit, 900, place) for place in range(200)]
    }  # fmt: skip
    for count, length in ((1, 990_000), (4, 950_000), (200, 19_000), (4_000, 900)):
        yield f"{count} outputs", "critique", {**work, "tool_results": results(count, length)}
    yield "work and outputs", "critique", {
        "goal": "x", "response": repeated(unit, 100_000), "tool_results": results(1, 90_000)
    }  # fmt: skip
    yield "verdicts", "critique", {
        **work, "verdicts": [{"claim": 1, "verdict": "wrong", "correction": lesson}] * 20
    }  # fmt: skip

    yield "a long message", "replan_search", {"user_message": task, "queries": ["a"]}
    yield "long queries", "replan_search", {
        "user_message": "x", "queries": [numbered(unit, 3_900, place) for place in range(50)]
    }  # fmt: skip
    yield "a large catalog", "replan_search", {
        "user_message": "qubits",
        "queries": ["a"],
        "catalog": [
            {
                "table": f"table {place}",
                "description": numbered(unit, 3_000, place),
                "vocabulary": [numbered(unit, 150, word) for word in range(30)],
            }
            for place in range(100)
        ],
    }  # fmt: skip

    yield "a long task", "recall_lessons", {
        "task": task, "symptoms": [numbered(unit, 1_900, place) for place in range(20)]
    }  # fmt: skip
    yield "long texts", "store_lesson", {
        "mistake": lesson,
        "correction": f"Do not: {lesson}"[:5_000],
        "why": lesson,
        "symptoms": [numbered(unit, 1_900, place) for place in range(20)],
        "wrong_call": {"tool": "Bash", "arguments": {"command": lesson}},
        "right_call": {"tool": "Bash", "arguments": {"command": f"ls {lesson}"}},
    }  # fmt: skip
    yield "outputs", "record_outcome", {
        "success": "helped",
        "lesson_ids": ["les_none"],
        "note": phrase,
        "evidence": "test",
        "tool_results": results(4, 950_000),
    }  # fmt: skip
    yield "a long reason", "forget_lesson", {"lesson_id": "les_none", "reason": phrase}
    yield "a long name", "should_reflect", {"confidence": 0.3, "run_id": repeated(unit, 200)}
    for tool, good in WARM.items():
        yield "an unknown argument", tool, {**good, "extra": repeated(unit, 3_900_000)}
        yield "unknown values", tool, {
            **good, "extra": [numbered(unit, 200, place) for place in range(900)]
        }  # fmt: skip


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
    outputs = [{"tool": f"pytest {place}", "content": f"{place} passed"} for place in range(10_000)]
    work = {"goal": "x", "response": "All 40 tests pass.", "tool_results": outputs}
    yield "critique, 10,000 outputs", "critique", work


class Watch:
    """The longest turn of the event loop, in time of its thread."""

    def __init__(self) -> None:
        self.longest_turn = 0.0

    async def ticks(self) -> None:
        """Look at the clock of this thread at every turn of the loop."""
        last = time.thread_time()
        while True:
            await asyncio.sleep(0.001)
            now = time.thread_time()
            self.longest_turn, last = max(self.longest_turn, now - last), now


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
