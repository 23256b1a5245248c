"""An import is made ready ahead of its writing, by whoever does it, and keeps nobody from the bank."""

import asyncio
from pathlib import Path

from mcp_reflect.bank.preparing import PAGE, ready
from mcp_reflect.engine import Engine
from mcp_reflect.records.lesson import LessonDraft
from mcp_reflect.records.scope import Scope
from mcp_reflect.settings import Settings
from tests.held_clock import HeldClock


def drafts_of(engine: Engine, many: int) -> list[tuple[Scope, LessonDraft]]:
    lines = [
        (place, {"mistake": f"Flushed cache {place} of shard {place % 7}", "correction": f"Warm cache {place} before"})
        for place in range(many)
    ]
    return engine.import_drafts(lines)


async def test_processes_make_ready_what_a_thread_does_and_in_the_same_order(engine: Engine) -> None:
    drafts = drafts_of(engine, 2 * PAGE + 1)
    one = [page async for page in ready(drafts, HeldClock(), 1)]
    two = [page async for page in ready(drafts, HeldClock(), 2, least_shared=1)]
    assert [[lesson.text for _, lesson, _ in page] for page in one] == [
        [draft.text for _, draft in drafts[start : start + PAGE]] for start in range(0, len(drafts), PAGE)
    ]
    assert two == one


async def test_others_write_and_recall_while_an_import_goes_on(engine: Engine, bank_path: Path) -> None:
    drafts = drafts_of(engine, 1200)
    written, over = 0, False

    async def imported() -> None:
        nonlocal written, over
        async for batch in engine.import_lessons(drafts):
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
    assert written == len(drafts)
