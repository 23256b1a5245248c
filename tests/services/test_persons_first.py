"""Where two lessons fit a task about as well, a person's comes before one that only an agent tells."""

from typing import Any

import pytest

from mcp_reflect import services
from mcp_reflect.models.lesson_words import short_id
from mcp_reflect.services.engine import Engine

TASK = "Deploy the shop"
OF_PERSON = {"mistake": "Deployed the shop with kubectl apply", "correction": "Use make ship"}
OF_AGENT: dict[str, Any] = {
    "lesson": "Deploy the shop with kubectl apply, never with make ship",
    "importance": 1,
    "confidence": 1,
}


@pytest.mark.parametrize("more", [{}, {"evidence": "user"}])
async def test_a_persons_lesson_is_recalled_and_shown_before_an_agents_opposite(
    engine: Engine, more: dict[str, Any]
) -> None:
    mine = await services.lessons.add(engine.context, OF_PERSON)
    theirs = await engine.store_lesson(**OF_AGENT, **more)
    hits = (await engine.recall(task=TASK)).lessons
    assert [hit.id for hit in hits] == [mine.lesson_id, theirs.lesson_id]
    assert hits[0].score >= hits[1].score
    shown = await services.reminders.at_prompt(engine.context, "s", f"{TASK} with make ship") or ""
    assert 0 <= shown.find("Use make ship") < shown.find("never with make ship")


async def test_an_agents_importance_stays_below_what_is_never_archived(engine: Engine) -> None:
    scope = engine.scopes.own
    theirs = await engine.store_lesson(**OF_AGENT)
    assert (await engine.bank.lessons.get(scope, theirs.lesson_id)).importance == 0.75
    mine = await services.lessons.add(engine.context, {**OF_PERSON, "importance": 1})
    assert (await engine.bank.lessons.get(scope, mine.lesson_id)).importance == 1


async def test_a_persons_lesson_about_something_else_does_not_come_first(engine: Engine) -> None:
    await services.lessons.add(
        engine.context, {"mistake": "Deployed the docs late", "correction": "Deploy docs at noon"}
    )
    theirs = await engine.store_lesson(**OF_AGENT)
    hits = (await engine.recall(task="Deploy the shop with kubectl apply or make ship")).lessons
    assert hits[0].id == theirs.lesson_id


@pytest.mark.parametrize("success", [False, "partial"])
async def test_an_outcome_against_two_lessons_of_a_person_names_both(
    engine: Engine, success: bool | str
) -> None:
    by_hand = await services.lessons.add(engine.context, OF_PERSON)
    at_noon = await services.lessons.add(
        engine.context, {"mistake": "Deployed the docs late", "correction": "Deploy docs at noon"}
    )
    ids = [by_hand.lesson_id, at_noon.lesson_id]
    sent = {"success": success, "lesson_ids": ids, "note": "both were wrong"}
    outcome = await engine.call("record_outcome", sent)
    assert not outcome.updated
    for lesson_id in ids:
        assert f"a person keeps {short_id(lesson_id)}:" in str(outcome.reason)
