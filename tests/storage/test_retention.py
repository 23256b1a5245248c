"""What only helps to go on is dropped long after its last use; what was learned never is."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.errors import NotFoundError
from mcp_reflect.models.common import Json
from mcp_reflect.services.engine import Engine
from tests.held_clock import HeldClock

DAY = 86_400.0
KEPT = ("recalls", "searches", "critique_sessions", "sessions", "warnings", "steps")
FAILED: dict[str, Any] = {"queries": [{"table": "t", "search_mode": "AND", "query_text": "hens"}]}
AGAIN = [{"table": "t", "search_mode": "OR", "query_text": "hens"}]
PUSH: Json = {"command": "git push origin main"}


def counts(path: Path, *tables: str) -> dict[str, int]:
    with closing(sqlite3.connect(path)) as connection:
        return {name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables}  # noqa: S608


async def used(engine: Engine, name: str) -> dict[str, Any]:
    """One of each kind, and the ids to go on with."""
    critique = await engine.critique(goal=f"Add the figures of {name}", steps=["1 + 1 = 3"])
    plan = await engine.replan(user_message="Find hens", **FAILED)
    recalled = await engine.recall(task="push the branch")
    await engine.should_reflect(confidence=0.1, run_id=name)
    await engine.after_call("Bash", PUSH, error="GH006: Protected branch update failed", session=name)
    await engine.before_call("Bash", PUSH, session=name)
    return {"critique": critique.critique_id, "search": plan.search_id, "recall": recalled.recall_id}


async def test_after_its_days_it_gives_way_to_new_ones(settings: Settings, clock: HeldClock, bank_path: Path) -> None:
    async with Engine(replace(settings, keep_days=30), clock=clock) as engine:
        stored = await engine.store_lesson(mistake="Pushed to main", correction="Push the branch, open a request")
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


async def test_what_is_gone_on_with_stays(settings: Settings, clock: HeldClock, bank_path: Path) -> None:
    async with Engine(replace(settings, keep_days=30), clock=clock) as engine:
        first = await engine.replan(user_message="Find hens", **FAILED)
        clock.time += 20 * DAY
        plan = await engine.replan(user_message="Find hens", search_id=first.search_id, queries=AGAIN)
        assert plan.search_id == first.search_id
        clock.time += 20 * DAY
        await engine.replan(user_message="Find cocks", **FAILED)
        assert counts(bank_path, "searches") == {"searches": 2}


async def test_a_recall_whose_outcome_was_told_stays(settings: Settings, clock: HeldClock, bank_path: Path) -> None:
    async with Engine(replace(settings, keep_days=30), clock=clock) as engine:
        await engine.store_lesson(mistake="Pushed to main", correction="Push the branch, open a request")
        told = await engine.recall(task="push the branch")
        await engine.recall(task="push the branch to main")
        await engine.record_outcome(recall_id=told.recall_id, success=True, lesson_ids=[told.lessons[0].id])
        clock.time += 31 * DAY
        await engine.recall(task="push another branch")
        assert counts(bank_path, "recalls", "outcomes") == {"recalls": 2, "outcomes": 1}


async def test_for_ever_where_that_is_set(settings: Settings, clock: HeldClock, bank_path: Path) -> None:
    async with Engine(replace(settings, keep_days=0), clock=clock) as engine:
        await used(engine, "old")
        before = counts(bank_path, *KEPT)
        clock.time += 9_000 * DAY
        await used(engine, "new")
        assert counts(bank_path, *KEPT) == {name: 2 * count for name, count in before.items()}
