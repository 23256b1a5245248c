"""Thousands of random calls: each is answered in words, nothing leaks, and the next good call works.

The suite plays a few hundred of each kind; `pytest -m fuzz` plays 50,000.
"""

import asyncio
import gc
import os
import random
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.types import (
    CallToolResult,
    TextContent,
)

from mcp_reflect.config import Settings
from mcp_reflect.server.app import build
from mcp_reflect.services.engine import Engine
from tests.clients.stdio import Era as RawEra
from tests.conftest import Era
from tests.fuzz.random_calls import URIS, arguments, line, tool_name, value
from tests.server.calls import told as told_by
from tests.server.servers import LESSON, server, told

OURS = ("failed inside", "Error executing tool", "Traceback")
SHORT, WHOLE = 100, 20_000
RAW_SHORT, RAW_WHOLE = 75, 5_000


def one(source: random.Random, client: Client) -> Any:
    """A coroutine that makes one random call."""
    match source.randrange(12):
        case 0:
            return client.read_resource(source.choice(URIS))
        case 1:
            return client.get_prompt(
                source.choice(("start_task", "review_task", "critique_answer", "x", "")),
                {source.choice(("task", "goal", "tsk")): str(value(source))[:3_000]},
            )
        case _:
            name = tool_name(source)
            return client.call_tool(name, arguments(source, name))


async def played(source: random.Random, client: Client, *, cancel: bool) -> str | None:
    """What was said against one random call, null where nothing was; only words or a protocol error may be."""
    call = asyncio.ensure_future(one(source, client))
    if cancel:
        for _ in range(source.randrange(30)):
            await asyncio.sleep(0)
        call.cancel()
    try:
        found = await call
    except asyncio.CancelledError:
        return "cancelled"
    except MCPError as error:
        return str(error)
    if isinstance(found, CallToolResult) and found.is_error:
        (content,) = found.content
        assert isinstance(content, TextContent)
        return content.text
    return None


async def many(settings: Settings, era: Era, count: int) -> None:
    source = random.Random(f"{era} {count}")
    async with Engine(settings) as engine, Client(build(engine=engine), mode=era) as client:
        await told_by(client, "store_lesson", LESSON)
        handles, tasks, memory, worked = 0, 0, 0, 0
        for number in range(count):
            said = await played(source, client, cancel=source.random() < 0.1)
            worked += said is None
            assert not any(fault in (said or "") for fault in OURS), (number, said)
            if number == count // 5:
                gc.collect()
                handles, tasks, memory = open_files(), len(asyncio.all_tasks()), resident()
        assert worked > count // 5  # else only the refusals would have been tried
        gc.collect()
        assert (await told_by(client, "recall_lessons", {"task": "deploy on a Friday"}))[
            "recall_id"
        ]
        assert open_files() <= handles + 2
        assert len(asyncio.all_tasks()) <= tasks + 2
        assert resident() - memory < 200


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def resident() -> int:
    """Memory of this process in MiB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // (1 << 20)


async def test_hundreds_of_random_calls_are_answered_in_words(settings: Settings, era: Era) -> None:
    await many(settings, era, SHORT)


@pytest.mark.fuzz
async def test_forty_thousand_random_calls_are_answered_in_words(
    settings: Settings, era: Era
) -> None:
    await many(settings, era, WHOLE)


def raw(bank: Path, era: RawEra, count: int) -> None:
    source = random.Random(f"{era} {count}")
    with server(bank, era=era) as running:
        running.timeout = 120
        for number in range(count):
            running.send_raw(
                line(source, 1_000 + number, running.envelope).replace(b"\n", b" ") + b"\n"
            )
            if number % 25 == 24:
                assert running.call_tool("recall_lessons", {"task": "deploy"}).get(
                    "structuredContent"
                )
                assert not any(
                    fault in str(message) for message in running.notifications for fault in OURS
                )
                running.notifications.clear()
        told(running, "store_lesson", LESSON)
        assert told(running, "recall_lessons", {"task": "deploy on a Friday"})["lessons"]
        assert running.close(30) == 0
    assert "tool_failed" not in running.stderr
    assert "Traceback" not in running.stderr


@pytest.mark.parametrize("era", RawEra)
def test_lines_that_only_look_like_the_protocol_leave_the_server_at_work(
    bank_path: Path, era: RawEra
) -> None:
    raw(bank_path, era, RAW_SHORT)


@pytest.mark.fuzz
@pytest.mark.parametrize("era", RawEra)
def test_ten_thousand_lines_that_only_look_like_the_protocol(bank_path: Path, era: RawEra) -> None:
    raw(bank_path, era, RAW_WHOLE)
