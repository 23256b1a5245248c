"""A lesson is found by its task type where the task names it, however the type is written."""

from collections.abc import AsyncGenerator

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.models.recall import Fit, RecallQuery
from mcp_reflect.services.engine import Engine
from tests.held_clock import HeldClock

TERRAFORM = {
    "mistake": "Ran it before the state lock was released",
    "correction": "Wait for the lock, then plan again",
    "task_type": "terraform",
}
API = {
    "mistake": "Returned 200 with an error body",
    "correction": "Use problem details",
    "task_type": "API Design",
}
OTHERS = (
    "Opened the oven early",
    "Sent the newsletter twice",
    "Deleted rows without a backup",
    "Left out a comma in the list",
)


@pytest.fixture
async def engine(settings: Settings, clock: HeldClock) -> AsyncGenerator[Engine]:
    async with Engine(settings, clock=clock) as engine:
        for lesson in (TERRAFORM, API):
            await engine.store_lesson(**lesson)
        for mistake in OTHERS:
            await engine.store_lesson(mistake=mistake, correction="Look twice", task_type="coding")
        yield engine


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("Apply the new terraform module in prod", "terraform"),
        ("TERRAFORM", "terraform"),
        ("Design an API for orders", "API Design"),
        ("api_design of the orders service", "API Design"),
    ],
)
async def test_a_task_that_names_a_task_type_finds_its_lesson(
    engine: Engine, task: str, expected: str
) -> None:
    (hit,) = (await engine.recall(task=task)).lessons
    assert (hit.task_type, hit.fit) == (expected, Fit.WEAK)
    assert f"the task names its type ({expected})" in hit.why


@pytest.mark.parametrize(
    "task",
    ["Plan the birthday of a colleague", "An API for orders", "Some coding for the weekend"],
)
async def test_part_of_a_type_or_a_type_that_most_lessons_have_names_none(
    engine: Engine, task: str
) -> None:
    assert (await engine.recall(task=task)).lessons == ()


@pytest.mark.parametrize("task_type", ["api_design", "API Design", "api-design"])
async def test_a_task_type_is_the_same_whatever_its_case_and_signs(
    engine: Engine, task_type: str
) -> None:
    (hit,) = (await engine.recall(task="Review the endpoints", task_type=task_type)).lessons
    assert hit.task_type == "API Design"


async def test_a_prompt_brings_no_lesson_for_its_type_alone(engine: Engine) -> None:
    ask = RecallQuery(task="Apply the new terraform module in prod", strong_only=True)
    found = await engine.bank.recalls.recall(engine.scopes.own, ask)
    assert found.lessons == ()
