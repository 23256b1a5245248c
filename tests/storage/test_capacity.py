"""A bank of a set size: it archives by importance and evidence, exactly to its limit, and deletes nothing."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.models.lesson import RecordKind, State
from mcp_reflect.services.engine import Engine
from tests.held_clock import HeldClock

ROOT = Path(__file__).parent.parent.parent
NAMES = "amber birch cedar daisy elder fern grape hazel iris jade kiwi lilac".split()
BAD: dict[str, Any] = {"evidence": "test", "tool_results": [{"content": "1 failed", "exit_code": 1}]}


@pytest.fixture
async def engine(settings: Settings, clock: HeldClock) -> AsyncIterator[Engine]:
    async with Engine(replace(settings, bank_size=3), clock=clock) as made:
        yield made


async def store(engine: Engine, name: str, importance: float, **more: Any) -> str:
    assert isinstance(engine.clock, HeldClock)
    engine.clock.time += 1
    found = await engine.store_lesson(
        mistake=f"Shipped the {name} module untested",
        correction=f"Test the {name} module",
        importance=importance,
        **more,
    )
    return found.lesson_id


async def active(engine: Engine, kind: RecordKind = RecordKind.LESSON) -> set[str]:
    return {one.id for one in await engine.bank.lessons.latest(engine.scopes.own, kind=kind)}


async def test_below_three_tenths_goes_first_whatever_is_older(engine: Engine) -> None:
    kept = [await store(engine, name, 0.5) for name in NAMES[:2]]
    low = await store(engine, NAMES[2], 0.29)
    new = await store(engine, NAMES[3], 0.5)
    assert await active(engine) == {*kept, new}
    lesson = await engine.bank.lessons.get(engine.scopes.own, low)
    (version,) = await engine.bank.lessons.history(engine.scopes.own, low)
    assert (lesson.state, version["reason"]) == (State.ARCHIVED, "archived: the bank is full")


async def test_in_a_band_what_has_worked_least_goes_first_then_what_is_oldest(engine: Engine) -> None:
    ids = [await store(engine, name, importance) for name, importance in zip(NAMES, (0.4, 0.7, 0.5), strict=False)]
    await engine.record_outcome(success=False, lesson_ids=[ids[1]], **BAD)
    await store(engine, NAMES[3], 0.4)
    assert ids[1] not in await active(engine)
    await store(engine, NAMES[4], 0.4)
    assert ids[0] not in await active(engine)


async def test_what_matters_most_and_what_a_person_trusts_is_never_archived_by_itself(engine: Engine) -> None:
    ids = [await store(engine, name, 0.8) for name in NAMES[:4]]
    assert await active(engine) == set(ids)
    at_once = await engine.store_lesson(mistake="Forgot the tulip", correction="Water the tulip", importance=0.79)
    assert at_once.status == "stored"
    assert at_once.reason == "archived at once: the bank is full of more important lessons"
    assert await active(engine) == set(ids)


async def test_what_is_restored_stays_and_another_makes_room(engine: Engine) -> None:
    ids = [await store(engine, name, 0.5) for name in NAMES[:4]]
    assert ids[0] not in await active(engine)
    await engine.bank.lessons.set_state(engine.scopes.own, ids[0], State.ACTIVE, "restored")
    assert await active(engine) == {ids[0], ids[2], ids[3]}


async def test_each_project_and_each_kind_has_its_own_room(engine: Engine) -> None:
    for name in NAMES[:4]:
        await store(engine, name, 0.5)
        await store(engine, name, 0.5, project="other")
        analysis = {"reflection": f"{name} was the cause", "strategy": f"Look at {name} first"}
        await engine.reflect(task=f"Mend {name}", outcome="failure", analysis=analysis)
    assert [len(await active(engine, kind)) for kind in RecordKind] == [3, 3, 3]
    other = engine.scopes.named("other")
    assert len(await engine.bank.lessons.latest(other)) == 3
    assert (await engine.get_stats())["total_reflections"] == 4


async def test_an_import_fills_the_bank_to_its_size_and_no_further(engine: Engine) -> None:
    lines = [{"mistake": f"Shipped {name} late", "correction": f"Ship {name} on Monday"} for name in NAMES]
    async for _ in engine.import_lessons(enumerate(lines, start=1)):
        pass
    assert len(await active(engine)) == 3
    assert len(await engine.bank.lessons.latest(engine.scopes.own, state=None)) == len(NAMES)


FILLING = """
import asyncio, sys
from mcp_reflect.services.engine import Engine
async def main():
    async with Engine() as engine:
        for number in range(6):
            word = sys.argv[1] + "bcdfgh"[number] * 5
            await engine.store_lesson(mistake=f"Shipped {word} late", correction=f"Ship {word} on Monday")
asyncio.run(main())
"""


def filled_by_three(bank: Path) -> list[int]:
    """How three processes ended that stored six lessons each at the same time."""
    env = {"MCP_REFLECT_BANK": str(bank), "MCP_REFLECT_PROJECT": "app", "MCP_REFLECT_BANK_SIZE": "4"}
    started = [
        subprocess.Popen([sys.executable, "-c", FILLING, word], cwd=ROOT, env=env) for word in ("one", "two", "tri")
    ]
    return [one.wait(timeout=60) for one in started]


async def test_the_limit_is_exact_when_processes_write_at_once(bank_path: Path) -> None:
    assert await asyncio.to_thread(filled_by_three, bank_path) == [0, 0, 0]
    async with Engine(Settings(bank=bank_path, project="app")) as engine:
        assert len(await active(engine)) == 4
        every = await engine.bank.lessons.latest(engine.scopes.own, state=None)
        assert json.dumps(sorted({one.state for one in every})) == '["active", "archived"]'
        assert len(every) == 18
