"""What the caller asks for holds for every recall, however many better matches there are that it did not ask for."""

from collections import Counter

import pytest

from mcp_reflect.services.engine import Engine

MATCHES = 120
TASK = "flush the cache of the shard before the deploy"


async def imported(engine: Engine, lines: list[dict[str, object]]) -> list[str]:
    return [one.lesson_id async for batch in engine.import_lessons(enumerate(lines, start=1)) for one in batch]


@pytest.fixture
async def crowded(engine: Engine) -> Engine:
    """A bank where more than a hundred lessons fit TASK better than any that a test adds."""
    await imported(
        engine,
        [
            {
                "mistake": f"Flushed the cache of shard {place} before the deploy",
                "correction": f"Flush the cache of the shard after deploy {place}",
                "importance": 0.2,
                "tags": ["shards"],
            }
            for place in range(MATCHES)
        ],
    )
    return engine


async def test_an_important_lesson_is_found_behind_many_better_matches(crowded: Engine) -> None:
    rare = await crowded.store_lesson(
        mistake="Flushed a cache and then began a deploy by hand at night", correction="Warm it first", importance=0.9
    )
    found = await crowded.recall(task=TASK, min_importance=0.5)
    assert [hit.id for hit in found.lessons] == [rare.lesson_id]
    assert found.hidden["below_min_importance"] == MATCHES


async def test_a_proved_lesson_is_found_behind_many_better_matches(crowded: Engine) -> None:
    rare = await crowded.store_lesson(
        mistake="Flushed a cache and then began a deploy by hand at night", correction="Warm it first"
    )
    for _ in range(4):
        shown = await crowded.recall(task="deploy by hand at night, flushed a cache")
        assert rare.lesson_id in [hit.id for hit in shown.lessons]
        await crowded.record_outcome(success=True, recall_id=shown.recall_id, lesson_ids=[rare.lesson_id])
    proved = (await crowded.recall(task="deploy by hand at night, flushed a cache")).lessons[0]
    assert proved.effectiveness is not None
    found = await crowded.recall(task=TASK, min_effectiveness=0.55)
    assert [hit.id for hit in found.lessons] == [rare.lesson_id]
    assert found.hidden["below_min_effectiveness"] >= MATCHES / 2


async def test_a_rare_tag_is_found_behind_many_better_matches_with_few_wanted(crowded: Engine) -> None:
    rare = await crowded.store_lesson(
        mistake="Flushed a cache and then began a deploy by hand", correction="Warm it first", tags=["night"]
    )
    found = await crowded.recall(task=TASK, tags=["night"], limit=1)
    assert [hit.id for hit in found.lessons] == [rare.lesson_id]


async def test_fifty_are_shown_where_fifty_are_wanted(crowded: Engine) -> None:
    found = await crowded.recall(task=TASK, limit=50, max_chars=100_000)
    assert len(found.lessons) + found.hidden.get("similar", 0) >= 50
    assert found.hidden["over_limit"] + found.hidden.get("similar", 0) > 0


async def test_the_reasons_differ_with_the_hits(engine: Engine) -> None:
    await engine.store_lesson(mistake="Parsed the invoice as floats", correction="Parse it as decimals")
    await engine.store_lesson(mistake="Sent the invoice twice", correction="Look in the log", task_type="billing")
    found = await engine.recall(task="parse and send an invoice", task_type="billing")
    reasons = Counter(hit.why for hit in found.lessons)
    assert len(reasons) == len(found.lessons) == 2
    assert any("same task type (billing)" in why for why in reasons)
