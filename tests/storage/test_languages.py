"""Recall in six languages: the right lesson among the first three, and no answer in another language's words."""

import pytest

from mcp_reflect.services.engine import Engine
from tests.storage.languages import CASES


@pytest.fixture
async def told(engine: Engine) -> dict[str, str]:
    """The id of each lesson by its task, all in one bank."""
    lines = [(place, {"mistake": case[1], "correction": case[2]}) for place, case in enumerate(CASES, start=1)]
    stored = [one async for batch in engine.import_lessons(lines) for one in batch]
    return {case[3]: one.lesson_id for case, one in zip(CASES, stored, strict=True)}


async def test_a_task_in_other_words_finds_its_lesson_among_three_in_every_language(
    engine: Engine, told: dict[str, str]
) -> None:
    missed: list[str] = []
    for task, lesson_id in told.items():
        found = await engine.recall(task=task)
        if lesson_id not in [hit.id for hit in found.lessons]:
            missed.append(task)
    assert len(CASES) - len(missed) >= 27, missed


@pytest.mark.parametrize(
    "task",
    [
        "Water the tomatoes on the balcony",
        "Das Fahrrad putzen",
        "Choisir un vin pour le dîner",
        "Reservar mesa en la playa",
        "周末去爬山看日出",
        "猫のえさを買いに行く",
    ],
)
async def test_nothing_fits_a_task_from_elsewhere_strongly_in_any_language(
    engine: Engine, told: dict[str, str], task: str
) -> None:
    assert told
    assert not [hit for hit in (await engine.recall(task=task)).lessons if hit.fit == "strong"]
