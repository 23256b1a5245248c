"""Lessons that contradict each other: found by a precise rule, tied, and the better evidenced one leads."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.models.lesson import State
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.similarity import contradict, same_lesson
from tests.held_clock import HeldClock
from tests.storage import contradiction_pairs as pairs

MISTAKE = "The nightly export of the orders table ran out of memory"
MORE: dict[str, Any] = {"mistake": MISTAKE, "correction": "Increase the batch size"}
LESS: dict[str, Any] = {"mistake": MISTAKE, "correction": "Decrease the batch size"}
TASK = "the nightly export of the orders table, batch size"
PROOF: dict[str, Any] = {"evidence": "test", "tool_results": [{"content": "ok", "exit_code": 0}]}
TEXTS = st.tuples(st.text(max_size=60), st.text(max_size=60))
WORDS = "do not set timeout to 30 60 enable disable cache before after deploy never always, then".split()
PHRASES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)


@pytest.mark.parametrize("pair", [*pairs.CONTRADICTING_WORKED_ON, *pairs.CONTRADICTING_KEPT_ASIDE])
def test_opposite_corrections_of_one_situation_contradict(pair: pairs.Pair) -> None:
    assert contradict(pair.one, pair.other)
    assert not same_lesson(pair.one, pair.other)


@pytest.mark.parametrize("pair", [*pairs.APART_WORKED_ON, *pairs.APART_KEPT_ASIDE])
def test_what_can_both_be_followed_does_not(pair: pairs.Pair) -> None:
    assert not contradict(pair.one, pair.other)


@given(TEXTS, TEXTS)
def test_contradiction_goes_both_ways_and_no_text_contradicts_itself(
    one: tuple[str, str], other: tuple[str, str]
) -> None:
    assert contradict(one, other) == contradict(other, one)
    assert not contradict(one, one)


@given(PHRASES, PHRASES)
def test_of_instructions_too(one: str, other: str) -> None:
    assert contradict((MISTAKE, one), (MISTAKE, other)) == contradict((MISTAKE, other), (MISTAKE, one))
    assert not contradict((MISTAKE, one), (MISTAKE, one))


async def test_the_same_words_with_the_turn_elsewhere_are_no_near_duplicate(engine: Engine) -> None:
    wordings = ("Enable the cache, do not enable the index", "Do not enable the cache, enable the index")
    stored = [await engine.store_lesson(mistake=MISTAKE, correction=wording) for wording in wordings]
    assert [one.status for one in stored] == ["stored", "stored"]
    assert await links(engine, stored[0].lesson_id) == [stored[1].lesson_id]


async def links(engine: Engine, lesson_id: str) -> list[str]:
    found = await engine.bank.lessons.links(engine.scopes.own, lesson_id)
    return [link["to_id"] for link in found if link["relation"] == "contradicts"]


async def test_contradicting_lessons_are_tied_both_ways(engine: Engine) -> None:
    one, other = await engine.store_lesson(**MORE), await engine.store_lesson(**LESS)
    assert await links(engine, one.lesson_id) == [other.lesson_id]
    assert await links(engine, other.lesson_id) == [one.lesson_id]


async def test_lessons_of_other_types_of_task_or_projects_do_not_contradict(engine: Engine) -> None:
    one = await engine.store_lesson(**MORE, task_type="export")
    await engine.store_lesson(**LESS, task_type="import")
    await engine.store_lesson(**LESS, task_type="export", project="other")
    assert await links(engine, one.lesson_id) == []


async def test_an_edit_cuts_and_makes_the_tie(engine: Engine) -> None:
    one, other = await engine.store_lesson(**MORE), await engine.store_lesson(**LESS)
    await engine.edit_lesson(other.lesson_id, {"correction": "Use a server-side cursor"})
    assert await links(engine, one.lesson_id) == []
    await engine.edit_lesson(other.lesson_id, {"correction": "Never increase the batch size"})
    assert await links(engine, one.lesson_id) == [other.lesson_id]


async def test_the_better_evidenced_of_two_leads_and_both_say_so(engine: Engine, clock: HeldClock) -> None:
    one = await engine.store_lesson(**MORE)
    clock.time += 60
    other = await engine.store_lesson(**LESS)
    found = await engine.recall(task=TASK)
    assert [hit.id for hit in found.lessons] == [other.lesson_id, one.lesson_id]  # nothing proved yet: the newer one
    assert f"better evidenced than {one.lesson_id}" in found.lessons[0].why
    assert f"contradicts {other.lesson_id}, which is better evidenced" in found.lessons[1].why
    await engine.record_outcome(success=True, lesson_ids=[one.lesson_id], **PROOF)
    found = await engine.recall(task=f"{TASK}, decrease")
    assert [hit.id for hit in found.lessons] == [one.lesson_id, other.lesson_id]
    assert found.lessons[0].score > found.lessons[1].score


async def test_a_retired_lesson_leads_nobody(engine: Engine) -> None:
    one, other = await engine.store_lesson(**MORE), await engine.store_lesson(**LESS)
    await engine.bank.lessons.set_state(engine.scopes.own, other.lesson_id, State.RETIRED, "wrong")
    (hit,) = (await engine.recall(task=TASK)).lessons
    assert (hit.id, "evidenced" in hit.why) == (one.lesson_id, False)
