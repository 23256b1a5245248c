"""An import keeps nobody from the bank, and brings no lesson twice."""

import asyncio
from pathlib import Path

from mcp_reflect.config import Settings
from mcp_reflect.models.lesson import State, Stored
from mcp_reflect.services.engine import Engine


def lines_of(many: int) -> list[tuple[int, dict[str, str]]]:
    return [
        (place, {"mistake": f"Flushed cache {place} of shard {place % 7}", "correction": f"Warm cache {place} before"})
        for place in range(many)
    ]


async def test_others_write_and_recall_while_an_import_goes_on(engine: Engine, bank_path: Path) -> None:
    lines = lines_of(600)
    written, over = 0, False

    async def imported() -> None:
        nonlocal written, over
        async for batch in engine.import_lessons(lines):
            written += len(batch)
        over = True

    async with Engine(Settings(bank=bank_path, project="app")) as other:
        task = asyncio.create_task(imported())
        for place in range(3):
            stored = await other.store_lesson(mistake=f"Left door {place} open", correction="Close doors at night")
            found = await other.recall(task=f"close door {place} at night")
            assert stored.lesson_id in [hit.id for hit in found.lessons]
            assert not over
        await task
    assert written == len(lines)


DOOR: dict[str, object] = {"mistake": "Left the door open", "correction": "Close doors at night", "tags": ["night"]}


async def imported(engine: Engine, *lines: dict[str, object]) -> list[Stored]:
    return [one async for batch in engine.import_lessons(enumerate(lines, start=1)) for one in batch]


async def test_a_lesson_that_is_there_word_for_word_is_not_imported_again(engine: Engine) -> None:
    first, second = await imported(engine, DOOR, DOOR)
    (again,) = await imported(engine, DOOR)
    assert first.status == "stored"
    assert [(one.status, one.lesson_id) for one in (second, again)] == [("duplicate", first.lesson_id)] * 2
    assert len(await engine.bank.lessons.latest(engine.scopes.own, limit=9)) == 1


async def test_what_an_agent_stored_and_learnt_again_since_is_a_duplicate_of_its_line(engine: Engine) -> None:
    stored = await engine.store_lesson(**DOOR)
    await engine.store_lesson(**{**DOOR, "tags": ["security"], "symptoms": ["the alarm rang"]})
    assert [one.lesson_id for one in await imported(engine, DOOR)] == [stored.lesson_id]


async def test_a_line_that_says_anything_more_or_else_is_a_lesson_of_its_own(engine: Engine) -> None:
    other = [
        {"tags": ["security"]},
        {"symptoms": ["the alarm rang"]},
        {"task_type": "closing"},
        {"why": "Thieves come at night"},
        {"context": "the shop"},
        {"external_id": "7"},
        {"visibility": "global"},
        {"project": "shop"},
        {"correction": "Close doors at night."},
    ]
    lines = [DOOR, *({**DOOR, **more} for more in other)]
    assert {one.status for one in await imported(engine, *lines)} == {"stored"}
    assert {one.status for one in await imported(engine, *lines)} == {"duplicate"}


async def test_a_forgotten_lesson_stays_forgotten_when_its_line_comes_again(engine: Engine) -> None:
    (stored,) = await imported(engine, DOOR)
    await engine.forget_lesson(lesson_id=stored.lesson_id, reason="the door is gone")
    assert [one.status for one in await imported(engine, DOOR)] == ["duplicate"]
    assert (await engine.bank.lessons.get(engine.scopes.own, stored.lesson_id)).state is State.RETIRED


async def test_a_line_with_a_secret_is_known_again_without_it(engine: Engine) -> None:
    line = {**DOOR, "context": "password: hunter2-correct-horse"}
    (stored,) = await imported(engine, line)
    assert [one.lesson_id for one in await imported(engine, line)] == [stored.lesson_id]


async def test_an_export_brought_back_into_its_bank_is_all_duplicates(engine: Engine) -> None:
    (stored,) = await imported(engine, {**DOOR, "why": "Thieves come at night", "symptoms": ["the alarm rang"]})
    await engine.edit_lesson(stored.lesson_id, {"correction": "Lock doors at night"})
    lines = [line async for line in engine.bank.transfer.export(engine.scopes.own.tenant, None)]
    assert [(one.status, one.lesson_id) for one in await imported(engine, *lines)] == [("duplicate", stored.lesson_id)]
