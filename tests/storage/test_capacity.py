"""A bank of a set size archives exactly to its limit; what only helps to go on is dropped long after its last use."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.errors import NotFoundError
from mcp_reflect.models.common import Json
from mcp_reflect.models.lesson import RecordKind, State
from mcp_reflect.services.engine import Engine
from tests.clients.forked import Forked
from tests.held_clock import HeldClock
from tests.imported import imported

NAMES = "amber birch cedar daisy elder fern grape hazel iris jade kiwi lilac".split()
BAD: dict[str, Any] = {
    "evidence": "test",
    "tool_results": [{"content": "1 failed", "exit_code": 1}],
}


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


async def test_in_a_band_what_has_worked_least_goes_first_then_what_is_oldest(
    engine: Engine,
) -> None:
    ids = [
        await store(engine, name, importance)
        for name, importance in zip(NAMES, (0.4, 0.7, 0.5), strict=False)
    ]
    await engine.record_outcome(success=False, lesson_ids=[ids[1]], **BAD)
    await store(engine, NAMES[3], 0.4)
    assert ids[1] not in await active(engine)
    await store(engine, NAMES[4], 0.4)
    assert ids[0] not in await active(engine)


async def test_what_matters_most_and_what_a_person_trusts_is_never_archived_by_itself(
    engine: Engine,
) -> None:
    ids = [await store(engine, name, 0.8, evidence="user") for name in NAMES[:4]]
    assert await active(engine) == set(ids)
    at_once = await engine.store_lesson(
        mistake="Forgot the tulip", correction="Water the tulip", importance=0.79
    )
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
    lines = [
        {"mistake": f"Shipped {name} late", "correction": f"Ship {name} on Monday"}
        for name in NAMES
    ]
    await imported(engine, *lines)
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
    env = {
        "MCP_REFLECT_BANK": str(bank),
        "MCP_REFLECT_PROJECT": "app",
        "MCP_REFLECT_BANK_SIZE": "4",
    }
    started = [Forked([word], env, code=FILLING) for word in ("one", "two", "tri")]
    ended = [one.wait(timeout=60) for one in started]
    for one in started:
        one.close()
    return ended


async def test_the_limit_is_exact_when_processes_write_at_once(bank_path: Path) -> None:
    assert await asyncio.to_thread(filled_by_three, bank_path) == [0, 0, 0]
    async with Engine(Settings(bank=bank_path, project="app")) as engine:
        assert len(await active(engine)) == 4
        every = await engine.bank.lessons.latest(engine.scopes.own, state=None)
        assert json.dumps(sorted({one.state for one in every})) == '["active", "archived"]'
        assert len(every) == 18


DAY = 86_400.0
KEPT = ("recalls", "searches", "critique_sessions", "sessions", "warnings", "steps")
FAILED: dict[str, Any] = {"queries": [{"table": "t", "search_mode": "AND", "query_text": "hens"}]}
AGAIN = [{"table": "t", "search_mode": "OR", "query_text": "hens"}]
PUSH: Json = {"command": "git push origin main"}


def counts(path: Path, *tables: str) -> dict[str, int]:
    with closing(sqlite3.connect(path)) as connection:
        return {
            name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0]  # noqa: S608
            for name in tables
        }


async def used(engine: Engine, name: str) -> dict[str, Any]:
    """One of each kind, and the ids to go on with."""
    critique = await engine.critique(goal=f"Add the figures of {name}", steps=["1 + 1 = 3"])
    plan = await engine.replan(user_message="Find hens", **FAILED)
    recalled = await engine.recall(task="push the branch")
    await engine.should_reflect(confidence=0.1, run_id=name)
    await engine.after_call(
        "Bash", PUSH, error="GH006: Protected branch update failed", session=name
    )
    await engine.before_call("Bash", PUSH, session=name)
    return {
        "critique": critique.critique_id,
        "search": plan.search_id,
        "recall": recalled.recall_id,
    }


async def test_after_its_days_it_gives_way_to_new_ones(
    settings: Settings, clock: HeldClock, bank_path: Path
) -> None:
    async with Engine(replace(settings, keep_days=30), clock=clock) as engine:
        stored = await engine.store_lesson(
            mistake="Pushed to main", correction="Push the branch, open a request"
        )
        old = await used(engine, "old")
        before = counts(bank_path, *KEPT)
        assert all(before.values()), before
        clock.time += 29 * DAY
        await used(engine, "young")
        assert counts(bank_path, *KEPT)["searches"] == 2 * before["searches"]
        clock.time += 2 * DAY
        await used(engine, "new")
        assert counts(bank_path, *KEPT) == {name: 2 * count for name, count in before.items()}
        with pytest.raises(NotFoundError, match="search_id"):
            await engine.replan(user_message="Find hens", search_id=old["search"], **FAILED)
        assert (await engine.recall(task="push the branch")).lessons[0].id == stored.lesson_id


async def test_what_is_gone_on_with_stays(
    settings: Settings, clock: HeldClock, bank_path: Path
) -> None:
    async with Engine(replace(settings, keep_days=30), clock=clock) as engine:
        first = await engine.replan(user_message="Find hens", **FAILED)
        clock.time += 20 * DAY
        plan = await engine.replan(
            user_message="Find hens", search_id=first.search_id, queries=AGAIN
        )
        assert plan.search_id == first.search_id
        clock.time += 20 * DAY
        await engine.replan(user_message="Find cocks", **FAILED)
        assert counts(bank_path, "searches") == {"searches": 2}


async def test_a_recall_whose_outcome_was_told_stays(
    settings: Settings, clock: HeldClock, bank_path: Path
) -> None:
    async with Engine(replace(settings, keep_days=30), clock=clock) as engine:
        await engine.store_lesson(
            mistake="Pushed to main", correction="Push the branch, open a request"
        )
        told = await engine.recall(task="push the branch")
        await engine.recall(task="push the branch to main")
        await engine.record_outcome(
            recall_id=told.recall_id, success=True, lesson_ids=[told.lessons[0].id]
        )
        clock.time += 31 * DAY
        await engine.recall(task="push another branch")
        assert counts(bank_path, "recalls", "outcomes") == {"recalls": 2, "outcomes": 1}


async def test_for_ever_where_that_is_set(
    settings: Settings, clock: HeldClock, bank_path: Path
) -> None:
    async with Engine(replace(settings, keep_days=0), clock=clock) as engine:
        await used(engine, "old")
        before = counts(bank_path, *KEPT)
        clock.time += 9_000 * DAY
        await used(engine, "new")
        assert counts(bank_path, *KEPT) == {name: 2 * count for name, count in before.items()}
