"""Whether to answer: what speaks for a lesson, and that what has nothing to do with the bank finds nothing in it."""

from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.retrieval.lexical import chance_in, evidence

PART = st.floats(0, 1)


@given(PART, PART, st.integers(1, 32), PART, st.floats(1, 1e7))
def test_more_of_the_question_is_more_evidence(
    one: float, other: float, asked: int, part: float, length: float
) -> None:
    less, more = sorted((one, other))
    assert evidence(less, asked, part, chance_in(length)) <= evidence(more, asked, part, chance_in(length))


@given(PART, st.integers(1, 32), PART, PART, st.floats(1, 1e7))
def test_more_of_the_lesson_is_more_evidence(share: float, asked: int, one: float, other: float, length: float) -> None:
    less, more = sorted((one, other))
    assert evidence(share, asked, less, chance_in(length)) <= evidence(share, asked, more, chance_in(length))


@given(PART, st.integers(1, 32), PART, st.floats(1, 1e7), st.floats(1, 1e7))
def test_the_same_in_a_larger_bank_is_no_more_evidence(
    share: float, asked: int, part: float, one: float, other: float
) -> None:
    small, large = sorted((one, other))
    assert evidence(share, asked, part, chance_in(large)) <= evidence(share, asked, part, chance_in(small))


async def test_a_short_lesson_is_found_by_a_long_task_that_has_most_of_it(engine: Engine) -> None:
    lines = [
        (place, {"mistake": f"Sent parcel {place} to depot {place % 7} by mail", "correction": "Ask the carrier first"})
        for place in range(1, 300)
    ]
    async for _ in engine.import_lessons(engine.import_drafts(lines)):
        pass
    stored = await engine.store_lesson(mistake="Escaped backslashes twice", correction="Use raw strings")
    long = "While porting our settings reader to another platform last spring the nightly job began to fail with a"
    task = f"{long} puzzling message about escaped backslashes in raw strings near the registry keys of every user"
    assert [hit.id for hit in (await engine.recall(task=task)).lessons] == [stored.lesson_id]
    assert (await engine.recall(task=f"{long} puzzling message near the raw registry keys of users")).lessons == ()


async def test_an_accent_that_stands_alone_is_no_word_and_breaks_nothing(engine: Engine) -> None:
    stored = await engine.store_lesson(mistake="Typed the accent \u0301 before its letter", correction="Type it after")
    found = await engine.recall(task="typed an accent \u0301 before the letter")
    assert [hit.id for hit in found.lessons] == [stored.lesson_id]
