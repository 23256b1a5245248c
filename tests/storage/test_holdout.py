"""Hold-out: lessons are not shown in a share of the tasks, chosen by the task itself."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.models.common import Scope
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.recalls import withheld

LESSON: dict[str, Any] = {"mistake": "Deployed without the migration", "correction": "Run the migration first"}
TASK = "deploy with a migration"
APP = Scope(project="app")


@given(st.text(), st.floats(0, 1), st.floats(0, 1))
def test_the_same_task_is_always_in_the_same_arm_and_a_larger_share_keeps_it(
    task: str, share: float, more: float
) -> None:
    assert withheld(APP, task, share) == withheld(APP, f"  {task} ", share)
    assert not withheld(APP, task, min(share, more)) or withheld(APP, task, max(share, more))


def test_the_share_of_tasks_is_the_one_that_is_set() -> None:
    held = sum(withheld(APP, f"task {number}", 0.2) for number in range(5000))
    assert 0.18 < held / 5000 < 0.22
    assert not any(withheld(APP, f"task {number}", 0) for number in range(1000))
    assert all(withheld(APP, f"task {number}", 1) for number in range(1000))


async def test_what_is_held_out_is_counted_but_neither_shown_nor_applied(settings: Settings) -> None:
    async with Engine(replace(settings, holdout=1.0)) as engine:
        stored = await engine.store_lesson(**LESSON)
        found = await engine.recall(task=TASK)
        assert (found.lessons, found.hidden["held_out"]) == ((), 1)
        lesson = await engine.bank.lessons.get(engine.scopes.own, stored.lesson_id)
        assert lesson.times_applied == 0


async def test_an_outcome_without_lessons_is_told_for_the_comparison_and_moves_none(settings: Settings) -> None:
    async with Engine(replace(settings, holdout=1.0)) as engine:
        stored = await engine.store_lesson(**LESSON)
        found = await engine.recall(task=TASK)
        told = await engine.record_outcome(success=True, recall_id=found.recall_id)
        assert (told.updated, told.reason) == (
            (),
            "the lessons of that recall were held out: counted for the comparison",
        )
        assert (await engine.bank.lessons.get(engine.scopes.own, stored.lesson_id)).effectiveness is None
        with pytest.raises(InputError, match="was not among"):
            await engine.record_outcome(success=True, recall_id=found.recall_id, lesson_ids=[stored.lesson_id])


async def test_nothing_is_held_out_unless_it_is_set(engine: Engine) -> None:
    stored = await engine.store_lesson(**LESSON)
    assert [hit.id for hit in (await engine.recall(task=TASK)).lessons] == [stored.lesson_id]
    nothing = await engine.recall(task="?!")
    with pytest.raises(InputError, match="showed nothing"):
        await engine.record_outcome(success=True, recall_id=nothing.recall_id)
