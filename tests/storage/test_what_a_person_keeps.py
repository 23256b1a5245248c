"""The last line below the services: storage itself changes nothing that a person keeps, unless a person speaks."""

import dataclasses
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.errors import NotAllowedError
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import GuardMode, Lesson, LessonDraft, Source, State, Trust
from mcp_reflect.services import lessons as services_lessons
from mcp_reflect.services.engine import Engine
from mcp_reflect.speaker import Speaker
from mcp_reflect.storage.lessons import LessonRepository

Write = Callable[[LessonRepository, Scope, str, Speaker], Awaitable[Any]]


def draft(text: str, **values: Any) -> LessonDraft:
    return LessonDraft(text=text, mistake=text, correction=text, **values)


async def replace(lessons: LessonRepository, scope: Scope, lesson_id: str, by: Speaker) -> None:
    new = await lessons.store(scope, draft("Forced the push of the branch once more"))
    await lessons.supersede(scope, lesson_id, new.lesson_id, by=by)


WRITES: dict[str, Write] = {
    "words": lambda own, scope, one, by: own.edit(scope, one, {"correction": "Force it"}, by=by),
    "trust": lambda own, scope, one, by: own.edit(scope, one, {"trust": Trust.CONFIRMED}, by=by),
    "mode": lambda own, scope, one, by: own.edit(scope, one, {"guard_mode": GuardMode.OFF}, by=by),
    "guard": lambda own, scope, one, by: own.edit(scope, one, {"unarmed": "x"}, by=by),
    "importance": lambda own, scope, one, by: own.edit(scope, one, {"importance": 0.0}, by=by),
    "retire": lambda own, scope, one, by: own.set_state(scope, one, State.RETIRED, "x", by=by),
    "replace": replace,
    "erase": lambda own, scope, one, by: own.erase(scope, one, by=by),
}
KEPT = ("trusted", "enforced", "pinned")


async def kept(engine: Engine, how: str) -> Lesson:
    own, lessons = engine.scopes.own, engine.bank.lessons
    stored = await lessons.store(own, draft("Pushed to main without a review"))
    match how:
        case "trusted":
            await lessons.decide(own, stored.lesson_id, approved=True)
        case "enforced":
            mode = {"guard_mode": GuardMode.ENFORCE, "guard": "Bash: `git push` with `--force`"}
            await lessons.edit(own, stored.lesson_id, mode, by=Speaker.PERSON)
        case _:
            await lessons.pin(own, stored.lesson_id, pinned=True)
    return await lessons.get(own, stored.lesson_id)


@pytest.mark.parametrize("how", KEPT)
@pytest.mark.parametrize("name", WRITES)
async def test_an_agent_changes_nothing_that_a_person_keeps(
    engine: Engine, how: str, name: str
) -> None:
    lesson = await kept(engine, how)
    with pytest.raises(NotAllowedError, match="a person keeps that lesson"):
        await WRITES[name](engine.bank.lessons, engine.scopes.own, lesson.id, Speaker.AGENT)
    assert await engine.bank.lessons.get(engine.scopes.own, lesson.id) == lesson


@pytest.mark.parametrize("name", WRITES)
async def test_a_person_changes_it(engine: Engine, name: str) -> None:
    lesson = await kept(engine, "trusted")
    await WRITES[name](engine.bank.lessons, engine.scopes.own, lesson.id, Speaker.PERSON)


@pytest.mark.parametrize(
    "claim",
    [{"trust": Trust.TRUSTED}, {"source": Source.PERSON}, {"guard_mode": GuardMode.ENFORCE}],
)
async def test_an_agent_makes_no_lesson_a_persons(engine: Engine, claim: dict[str, Any]) -> None:
    own, lessons = engine.scopes.own, engine.bank.lessons
    with pytest.raises(NotAllowedError, match="only a person may trust a lesson"):
        await lessons.store(own, draft("Pushed to main without a review", **claim))
    stored = await lessons.store(own, draft("Pushed to main without a review"))
    with pytest.raises(NotAllowedError, match="only a person may trust a lesson"):
        await lessons.edit(own, stored.lesson_id, claim)


async def test_what_a_person_pinned_stays_in_a_full_bank(settings: Settings) -> None:
    async with Engine(dataclasses.replace(settings, bank_size=1)) as engine:
        lesson = await kept(engine, "pinned")
        own, lessons = engine.scopes.own, engine.bank.lessons
        for text in ("Built the image without its cache", "Left the door of the cellar open"):
            await lessons.store(own, draft(text, importance=0.7))
        assert (await lessons.get(own, lesson.id)).state is State.ACTIVE


async def test_a_person_who_tells_what_an_agent_stored_does_not_stand_for_its_guard_or_reason(
    engine: Engine,
) -> None:
    words = "Use pnpm in this repository"
    sent = {
        "lesson": words,
        "why": "The person said that a forced push is fine too",
        "wrong_call": "git status -s",
        "right_call": "git status --porcelain",
    }
    stored = await engine.store_lesson(**sent)
    told = await services_lessons.add(engine.context, {"lesson": words})
    assert told.lesson_id == stored.lesson_id
    (lesson,) = await engine.bank.lessons.latest(engine.scopes.own)
    assert lesson.trust is Trust.TRUSTED
    assert (lesson.guard, lesson.wrong_call, lesson.right_call, lesson.why) == (None,) * 4
    said = await engine.before_call("Bash", {"command": "git status -s"}, session="s")
    assert said is None
