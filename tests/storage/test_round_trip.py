"""What an export has of a lesson comes back: the same words, for a person's own export every field as well."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.models.lesson import Lesson, Source
from mcp_reflect.services import imports, lessons
from mcp_reflect.services.engine import Engine

LESSONS: list[dict[str, Any]] = [
    {"lesson": "Never force-push to main"},
    {"lesson": "Use make deploy"},
    {"lesson": "kubectl apply broke production twice"},
    {"lesson": "I ran npm install. Use pnpm instead."},
    {"mistake": "Ran npm install in the pnpm workspace"},
    {"correction": "Feed the quokka at noon"},
    {"mistake": "Ran kubectl", "correction": "Use make deploy instead"},
    {"lesson": "Force pushes lose work", "wrong_call": "git push --force origin main"},
    {"lesson": "Read the schema first", "task_type": "api", "tags": ["sql"], "importance": 0.9},
]


@pytest.fixture
async def other(tmp_path: Path) -> AsyncIterator[Engine]:
    """Another bank, of the same project."""
    async with Engine(Settings(bank=tmp_path / "other.db", project="app")) as engine:
        yield engine


async def stored(engine: Engine, sent: dict[str, Any], source: Source) -> Lesson:
    """Store a lesson of an agent or a person, and return it."""
    if source is Source.PERSON:
        result = await lessons.add(engine.context, sent)
    else:
        result = await engine.store_lesson(**sent)
    return await engine.bank.lessons.get(engine.scopes.own, result.lesson_id)


async def exported(engine: Engine) -> list[dict[str, Any]]:
    """Return the lines of an export."""
    return [line async for line in engine.bank.transfer.export(engine.scopes.own.tenant, None)]


@pytest.mark.parametrize("source", [Source.AGENT, Source.PERSON])
@pytest.mark.parametrize("sent", LESSONS, ids=str)
async def test_a_persons_own_export_brings_each_field_back(
    engine: Engine, other: Engine, sent: dict[str, Any], source: Source
) -> None:
    lesson = await stored(engine, sent, source)
    await imports.import_own(other.context, enumerate(await exported(engine), 1))
    assert await other.bank.lessons.get(engine.scopes.own, lesson.id) == lesson


@pytest.mark.parametrize("sent", LESSONS, ids=str)
async def test_an_import_brings_the_words_back(
    engine: Engine, other: Engine, sent: dict[str, Any]
) -> None:
    lesson = await stored(engine, sent, Source.AGENT)
    lines = enumerate(await exported(engine), 1)
    batches = [batch async for batch in imports.import_lessons(other.context, lines)]
    copy = await other.bank.lessons.get(engine.scopes.own, batches[0][0].lesson_id)
    assert (copy.text, copy.correction or "") == (lesson.text, lesson.correction or "")


async def test_a_pinned_lesson_comes_back_pinned(engine: Engine, other: Engine) -> None:
    lesson = await stored(engine, {"lesson": "Never force-push to main"}, Source.PERSON)
    pinned = await engine.bank.lessons.pin(engine.scopes.own, lesson.id, pinned=True)
    await imports.import_own(other.context, enumerate(await exported(engine), 1))
    assert await other.bank.lessons.pinned(engine.scopes.own) == [pinned]


async def test_an_older_export_of_a_lesson_in_one_text_keeps_what_it_says(
    engine: Engine, other: Engine
) -> None:
    lesson = await stored(engine, {"lesson": "Never force-push to main"}, Source.PERSON)
    [line] = await exported(engine)
    older = {name: value for name, value in line.items() if name != "lesson"}
    older |= {"mistake": lesson.text, "correction": ""}
    await imports.import_own(other.context, enumerate([older], 1))
    assert (await other.bank.lessons.get(engine.scopes.own, lesson.id)).text == lesson.text


async def test_an_older_line_of_a_lesson_in_one_text_is_not_turned_round(engine: Engine) -> None:
    older = {"mistake": "Never force-push to main", "correction": ""}
    batches = [batch async for batch in imports.import_lessons(engine.context, enumerate([older]))]
    copy = await engine.bank.lessons.get(engine.scopes.own, batches[0][0].lesson_id)
    assert replace(copy, mistake="").text == "Never force-push to main"


async def test_a_line_that_names_a_project_of_any_length_is_refused(engine: Engine) -> None:
    lines = enumerate([{"lesson": "Use make deploy", "project": "x" * 100_000}], 1)
    with pytest.raises(InputError, match="line 1, project"):
        [batch async for batch in imports.import_lessons(engine.context, lines)]
