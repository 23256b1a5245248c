"""Inputs that were made to stall, to exhaust or to confuse: each call is answered or refused in words, in bounded work."""

import asyncio
import copy
import gc
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client
from mcp.types import CallToolResult, TextContent

from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.evidence.background import task_end
from mcp_reflect.evidence.judging import read_opinion
from mcp_reflect.security.injection import suspicion
from mcp_reflect.security.redact import clean_text
from mcp_reflect.server.app import build
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.lesson_blocks import block_in
from mcp_reflect.sessions.hosts.codex_scripts import calls_in
from tests.fuzz.random_calls import GOOD
from tests.fuzz.watch import Watch

MOST_SECONDS: Final = 1.0  # of the processor for a call
SECONDS_OF_A_TOOL: Final = 6.0
MOST_BLOCKED: Final = 0.1
"""Seconds of the event loop's own thread between two of its turns."""

# What stalled a server once, and its neighbors: each is repeated to the length that an argument may have.
UNITS: Final = (
    "(", '$(" ', "((", "$((", "true;", "cat <<EOF\nline\n", " ", "\t", "\n", "不要", "ー", ". ", "“", '"a ', "[", "{", "<",
    "`", "-", "= ", "a.", "1,", "1,111", "to a ", "--A", "a_", "\\", "\\\n", "%41", "e\u0301", "\x1b[31m", "password ",
    "key=",
    "use ", "password>", "login(a,", "with key ",
    "seed phrase ", "passphrase is ", "app password ", "default=", "http://a", "curl ", "and ", "now ", "one ",
)  # fmt: skip
LENGTHS: Final = (19_000, 4_900, 1_900, 190)
"""Characters that are tried, the longest first, until one is not refused."""


def bad_texts(length: int) -> Iterator[str]:
    """Texts of about that length, always in the same order."""
    for unit in UNITS:
        yield unit * (length // len(unit))
    yield " " * (length - 1) + "x"
    yield "x" + " " * (length - 2) + "x"
    yield "cat <<EOF\n" + "line\n" * (length // 5 - 4) + "EOF\n"
    yield "[" * min(100, length // 2) + "]" * min(100, length // 2)


CALLS: Final[dict[str, list[dict[str, Any]]]] = {
    **GOOD,
    "store_lesson": [
        {
            "mistake": "Pushed with force",
            "correction": "Push with lease",
            "wrong_call": {"tool": "Bash", "arguments": {"command": "git push --force"}},
            "right_call": {"tool": "Bash", "arguments": {"command": "git push --force-with-lease"}},
        }
    ],
}


def spots(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of texts in a JSON value."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, dict):
        for name, item in cast("dict[str, Any]", value).items():
            yield from spots(item, (*path, name))
    elif isinstance(value, list):
        for place, item in enumerate(cast("list[Any]", value)):
            yield from spots(item, (*path, place))


def with_text(value: dict[str, Any], path: tuple[Any, ...], text: str) -> dict[str, Any]:
    """A copy of the value with another text at a place."""
    changed = copy.deepcopy(value)
    inner: Any = changed
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = text
    return changed


@pytest.fixture
def few_objects() -> Iterator[None]:
    """Keep what the whole suite has made out of the collections of garbage, which count for the thread that they stop."""
    gc.freeze()
    yield
    gc.unfreeze()


async def answered(client: Client, tool: str, arguments: dict[str, Any], watch: Watch) -> str:
    """Call a tool, check its work, and return what it said against the call; nothing if it took it."""
    watch.longest_turn, began = 0.0, time.process_time()
    found = await client.call_tool(tool, arguments)
    work = time.process_time() - began
    assert work < MOST_SECONDS, (tool, work, str(arguments)[:300])
    assert watch.longest_turn < MOST_BLOCKED, (tool, watch.longest_turn, str(arguments)[:300])
    assert isinstance(found, CallToolResult)
    if not found.is_error:
        return ""
    (content,) = found.content
    assert isinstance(content, TextContent)
    assert "failed inside" not in content.text
    return content.text


@pytest.mark.fuzz
@pytest.mark.usefixtures("few_objects")
@pytest.mark.parametrize("tool", CALLS)
async def test_no_text_made_to_stall_takes_a_tool_long(settings: Settings, tool: str) -> None:
    """Some seconds for each tool, with other texts first on every day; FUZZ_SECONDS=1000 tries them all."""
    watch = Watch()
    seconds = float(os.environ.get("FUZZ_SECONDS", SECONDS_OF_A_TOOL))
    async with Engine(settings) as engine, Client(build(engine=engine)) as client:
        for good in CALLS[tool]:
            # What is imported with the first call is not counted.
            await client.call_tool(tool, good)
        ticking = asyncio.create_task(watch.ticks())
        tries = [
            (good, path, texts)
            for good in CALLS[tool]
            for path in spots(good)
            for texts in zip(*map(bad_texts, LENGTHS), strict=True)
        ]
        random.Random(datetime.now(UTC).toordinal()).shuffle(tries)
        ends = time.monotonic() + seconds
        for good, path, texts in tries:
            for text in texts:
                said = await answered(client, tool, with_text(good, path, text), watch)
                if "characters" not in said:
                    break
            if time.monotonic() > ends:
                break
        ticking.cancel()


@pytest.mark.usefixtures("few_objects")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("reflect", {"task": "不要" * 9_500, "outcome": "failure"}),
        ("critique", {"steps": ["1 + 1 = 2"], "analysis": " " * 19_000 + "x"}),
        ("critique", {"goal": "x", "response": ". " * 9_000}),
        ("recall_lessons", {"task": '$(" ' * 500}),
        (
            "store_lesson",
            {
                "mistake": "It hung",
                "correction": "Do not",
                "wrong_call": {"tool": "Bash", "arguments": {"command": '$(" ' * 500}},
            },
        ),
        ("replan_search", {"user_message": "x", "queries": [{"query_text": "a" * 3_900}]}),
        (
            "record_outcome",
            {
                "success": "helped",
                "lesson_ids": ["les_none"],
                "evidence": "test",
                "tool_results": [{"tool": "pytest", "content": "test_a[7] PASSED, 3 ms\n" * 40_000}]
                * 3,
            },
        ),
        ("recall_lessons", {"task": "x", **dict.fromkeys(map(str, range(30_000)), 0)}),
        ("recall_lessons", {"task": "x", "extra": [{"a": 1}] * 30_000}),
        ("store_lesson", {"mistake": "x", "correction": "y", "extra": [[0]] * 50_000}),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
async def test_what_stalled_a_server_is_answered_at_once(
    settings: Settings, tool: str, arguments: dict[str, Any]
) -> None:
    watch = Watch()
    async with Engine(settings) as engine, Client(build(engine=engine)) as client:
        for good in CALLS[tool]:
            await client.call_tool(tool, good)
        ticking = asyncio.create_task(watch.ticks())
        await answered(client, tool, arguments, watch)
        ticking.cancel()


@pytest.mark.parametrize(
    "unit", ["key=", "KEY=&", "seed phrase ", "seed phrase ab cd ", "passphrase is ", "-", "--A"]
)
def test_what_begins_over_and_over_takes_the_gate_a_part_of_a_second(unit: str) -> None:
    clean_text("password=abc, seed phrase: a b c")  # patterns are compiled at their first use
    suspicion(["x"])
    began = time.process_time()
    text = unit * (19_000 // len(unit))
    clean_text(text)
    suspicion([text])
    assert time.process_time() - began < MOST_SECONDS


def test_an_opinion_of_blanks_is_read_at_once() -> None:
    began = time.process_time()
    with suppress(InputError):
        read_opinion(" " * 190_000 + "x", "analysis")
    assert time.process_time() - began < MOST_SECONDS


PIECES: Final = st.lists(st.sampled_from(UNITS) | st.text(max_size=8), max_size=6).map("".join)


@pytest.mark.fuzz
@given(PIECES.filter(bool), st.integers(500, 5_000))
def test_reading_a_text_is_linear_whatever_it_repeats(piece: str, length: int) -> None:
    """Four times the text takes no more than some four times the work; the square would take sixteen times."""

    def work(size: int, end: str) -> float:
        """The work of a reading; another sign at the end keeps it out of the caches."""
        text = piece * (size // len(piece) + 1) + end
        began = time.process_time()
        clean_text(text)
        suspicion([text])
        return time.process_time() - began

    work(200, "x")  # patterns are compiled at their first use
    short = max(min(work(length, "x"), work(length, "y")), 0.02)
    # A second reading is for a machine that was busy at the first one.
    assert any(work(4 * length, end) < 12 * short for end in "xy")


@pytest.mark.parametrize(
    ("read", "unit"),
    [
        (partial(task_end, code=None, failed=False), "<output>"),
        (calls_in, "/* "),
        (calls_in, "`\\"),
        (calls_in, "\"\\'"),
        (partial(block_in, name="CLAUDE.md"), "<!-- mcp-reflect: lessons 0123456789ab"),
    ],
    ids=["outputs", "comments", "templates", "strings", "markers"],
)
def test_what_is_opened_over_and_over_and_never_closed_is_read_once(
    read: Callable[[str], object], unit: str
) -> None:
    began = time.process_time()
    with suppress(InputError):
        read(unit * (190_000 // len(unit)))
    assert time.process_time() - began < MOST_SECONDS
