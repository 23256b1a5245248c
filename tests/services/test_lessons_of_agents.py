"""The agent's own words make the lesson of a run, whatever part of an analysis they are."""

from typing import Any

import pytest

from mcp_reflect.models.lesson import Source, State
from mcp_reflect.services.engine import Engine
from tests.server.calls import FAILED_RUN


@pytest.mark.parametrize(
    ("analysis", "text"),
    [
        ({"mistake": "Guessed the name", "correction": "List the folder."}, "Guessed the name. List the folder."),
        ({"mistake": "Guessed the name"}, "Tried without success: Guessed the name"),
        ({"correction": "List the folder first."}, "List the folder first."),
    ],
)
async def test_a_part_of_an_analysis_makes_a_lesson_and_a_reflection(
    engine: Engine, analysis: dict[str, Any], text: str
) -> None:
    reflection = await engine.reflect(**FAILED_RUN, analysis=analysis)
    (learnt,) = reflection.lessons
    lesson = await engine.bank.lessons.get(engine.scopes.own, learnt.id)
    assert (lesson.text, lesson.source) == (text, Source.AGENT)
    assert reflection.reflection == text


async def test_the_lesson_of_an_agent_takes_the_place_of_the_one_that_rules_made(engine: Engine) -> None:
    by_rules = await engine.reflect(**FAILED_RUN)
    (old,) = by_rules.lessons
    analysis = {"mistake": "Guessed the name", "correction": "List the folder."}
    by_agent = await engine.reflect(reflection_id=by_rules.reflection_id, analysis=analysis)
    (new,) = by_agent.lessons
    assert (await engine.bank.lessons.get(engine.scopes.own, old.id)).state is State.RETIRED
    recalled = await engine.recall(task="Read orders/setings.toml", limit=5)
    assert old.id not in {hit.id for hit in recalled.lessons}
    assert (await engine.bank.lessons.get(engine.scopes.own, new.id)).state is State.ACTIVE
