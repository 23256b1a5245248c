"""A host that shows questions: its person decides at once about what an agent wants of a lesson that they keep."""

from typing import Any

import pytest
from mcp import Client, types

from mcp_reflect import services
from mcp_reflect.models.lesson import State, Trust
from mcp_reflect.server.app import build
from mcp_reflect.services.engine import Engine
from tests.conftest import Era
from tests.server.calls import told

OLD = {"mistake": "Pushed to main", "correction": "Open a pull request"}
NEW = {
    "mistake": "Pushed to main",
    "correction": "Push to a topic branch, then open a pull request",
}


class Person:
    """Answers each question in the same way, and keeps what was asked."""

    def __init__(self, action: Any, *, agrees: bool = True) -> None:
        self.asked: list[str] = []
        self._answer = types.ElicitResult(
            action=action, content={"confirm": agrees} if action == "accept" else None
        )

    async def __call__(self, context: Any, params: Any) -> types.ElicitResult:
        del context
        self.asked.append(params.message)
        return self._answer


async def test_a_yes_replaces_the_lesson_and_the_new_one_is_trusted(
    engine: Engine, era: Era
) -> None:
    old = await services.lessons.add(engine.context, OLD)
    person = Person("accept")
    async with Client(build(engine=engine), mode=era, elicitation_callback=person) as client:
        answer = await told(client, "store_lesson", {**NEW, "replaces": old.lesson_id})
    assert (answer["status"], answer["reason"]) == ("stored", "the person confirmed it")
    (question,) = person.asked
    assert OLD["correction"] in question
    assert NEW["correction"] in question
    (left,) = await engine.bank.lessons.latest(engine.scopes.own)
    assert (left.correction, left.trust) == (NEW["correction"], Trust.TRUSTED)
    assert await engine.bank.proposals.waiting(engine.scopes.own) == []


@pytest.mark.parametrize(
    ("person", "waits"),
    [
        (Person("decline"), 0),
        (Person("accept", agrees=False), 0),
        (Person("cancel"), 1),
        (None, 1),
    ],
)
async def test_without_a_yes_the_lesson_stays(
    engine: Engine, era: Era, person: Person | None, waits: int
) -> None:
    kept = await services.lessons.add(engine.context, OLD)
    async with Client(build(engine=engine), mode=era, elicitation_callback=person) as client:
        answer = await told(client, "forget_lesson", {"lesson_id": kept.lesson_id})
    assert answer["state"] == "active"
    assert ("said no" in answer["reason"]) is (waits == 0)
    lesson = await engine.bank.lessons.get(engine.scopes.own, kept.lesson_id)
    assert lesson.state is State.ACTIVE
    assert len(await engine.bank.proposals.waiting(engine.scopes.own)) == waits
