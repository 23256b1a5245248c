"""What holds for every recall: its limits, its order, what is found and what is not, and that nothing is uncounted."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from mcp_reflect.config import Settings
from mcp_reflect.models.lesson import State
from mcp_reflect.services.engine import Engine

WORD = st.sampled_from(
    "cache proxy invoice retry deploy login parser backup tile queue worker token schema export index".split()
)
LESSONS = st.lists(
    st.tuples(st.lists(WORD, min_size=1, max_size=6), st.lists(WORD, min_size=1, max_size=6)), max_size=12
)
TASK = st.lists(WORD, min_size=1, max_size=5)


async def recalled(
    lessons: Sequence[tuple[list[str], list[str]]], task: list[str], limit: int, max_chars: int, retired: int
) -> None:
    with TemporaryDirectory() as folder:
        async with Engine(Settings(bank=Path(folder) / "bank.db", project="app")) as engine:
            lines = [
                (place, {"mistake": f"Mishandled {' '.join(one)}", "correction": " ".join(other)})
                for place, (one, other) in enumerate(lessons, start=1)
            ]
            stored = [one async for batch in engine.import_lessons(lines) for one in batch]
            gone = {one.lesson_id for one in stored[:retired]}
            for name in gone:
                await engine.bank.lessons.set_state(engine.scopes.own, name, State.RETIRED, "gone")
            found = await engine.recall(task=" ".join(task), limit=limit, max_chars=max_chars)
            again = await engine.recall(task=" ".join(task), limit=limit, max_chars=max_chars)
            words = {
                one.lesson_id: {*mistake, *correction}
                for one, (mistake, correction) in zip(stored, lessons, strict=True)
                if one.lesson_id not in gone
            }
            assert len(found.lessons) <= limit
            assert sum(len(hit.text) for hit in found.lessons) <= max_chars
            assert [hit.id for hit in again.lessons] == [hit.id for hit in found.lessons]
            assert [hit.score for hit in found.lessons] == sorted((hit.score for hit in found.lessons), reverse=True)
            assert all((hit.fit == "strong") == (hit.score >= 0.5) for hit in found.lessons)
            assert not gone & {hit.id for hit in found.lessons}
            sharing = [name for name, held in words.items() if held & {*task}]
            assert len(sharing) <= len(found.lessons) + sum(found.hidden.values()) <= len(words)


@hypothesis_settings(max_examples=12, deadline=None)
@given(LESSONS, TASK, st.integers(1, 5), st.integers(1, 200), st.integers(0, 3))
def test_a_recall_keeps_its_limits_its_order_and_its_count(
    lessons: Sequence[tuple[list[str], list[str]]], task: list[str], limit: int, max_chars: int, retired: int
) -> None:
    asyncio.run(recalled(lessons, task, limit, max_chars, retired))


async def test_every_lesson_is_found_by_its_own_words_and_by_one_letter_wrong(engine: Engine) -> None:
    texts = {
        "Forgot the orientation of photographs": "photographs orientatoin",
        "Mistook kilobytes for kibibytes": "kilobytse",
        "Deleted the wrong namespace": "delete a namespce",
    }
    for mistake, slip in texts.items():
        stored = await engine.store_lesson(mistake=mistake, correction="Look twice")
        for task in (mistake, slip):
            found = await engine.recall(task=task)
            assert found.lessons[0].id == stored.lesson_id, task


async def test_a_small_project_is_found_in_beside_a_large_one(engine: Engine) -> None:
    lines = [
        (place, {"mistake": f"Flushed the cache of shard {place}", "correction": "Warm it", "project": "other"})
        for place in range(1, 600)
    ]
    async for _ in engine.import_lessons(lines):
        pass
    own = await engine.store_lesson(mistake="Flushed the cache at noon", correction="Flush it at night")
    found = await engine.recall(task="flush the cache", limit=50)
    assert [hit.id for hit in found.lessons] == [own.lesson_id]


async def test_an_edit_and_a_restore_leave_the_counts_as_if_written_so_at_once(engine: Engine) -> None:
    own = engine.scopes.own
    stored = await engine.store_lesson(mistake="Pinned the kernel", correction="Let it roll")
    await engine.edit_lesson(stored.lesson_id, {"correction": "Let it go"})
    await engine.forget_lesson(lesson_id=stored.lesson_id, reason="old")
    await engine.bank.lessons.set_state(own, stored.lesson_id, State.ACTIVE, "restored")
    (hit,) = (await engine.recall(task="let the kernel go")).lessons
    assert (hit.id, hit.fit) == (stored.lesson_id, "strong")
    assert not [hit for hit in (await engine.recall(task="roll")).lessons if "roll" in hit.why]
