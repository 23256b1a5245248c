"""Lessons that contradict each other: never merged, and shown with their dates."""

from datetime import UTC, datetime
from typing import Any

import pytest

from mcp_reflect.models.lesson import State
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.similarity import same_text
from tests.held_clock import HeldClock
from tests.storage.contradiction_pairs import CONTRADICTING, Pair

MISTAKE = "The nightly export of the orders table ran out of memory"
MORE: dict[str, Any] = {"mistake": MISTAKE, "correction": "Increase the batch size"}
LESS: dict[str, Any] = {"mistake": MISTAKE, "correction": "Decrease the batch size"}
TASK = "the nightly export of the orders table, batch size"


@pytest.mark.parametrize("pair", CONTRADICTING)
def test_opposite_corrections_of_one_situation_do_not_say_the_same(pair: Pair) -> None:
    assert not same_text(pair.correction, pair.opposite)
    assert not same_text(pair.opposite, pair.correction)


async def test_the_same_words_with_the_turn_elsewhere_are_no_near_duplicate(engine: Engine) -> None:
    wordings = ("Enable the cache, do not enable the index", "Do not enable the cache, enable the index")
    stored = [await engine.store_lesson(mistake=MISTAKE, correction=wording) for wording in wordings]
    assert [one.status for one in stored] == ["stored", "stored"]


async def test_of_two_that_meet_both_are_shown_with_their_dates(engine: Engine, clock: HeldClock) -> None:
    one = await engine.store_lesson(**MORE)
    clock.time += 2 * 86_400
    other = await engine.store_lesson(**LESS)
    found = (await engine.recall(task=TASK)).lessons
    assert {hit.id for hit in found} == {one.lesson_id, other.lesson_id}
    newer, older = sorted(found, key=lambda hit: hit.age_days)
    days = [datetime.fromtimestamp(clock.time - 86_400 * hit.age_days, UTC).date() for hit in (newer, older)]
    assert newer.why.startswith(f"of {days[0]}; {older.id} of {days[1]} has another correction")
    assert older.why.startswith(f"of {days[1]}; {newer.id} of {days[0]} has another correction")


async def test_a_retired_lesson_leads_nobody(engine: Engine) -> None:
    one, other = await engine.store_lesson(**MORE), await engine.store_lesson(**LESS)
    await engine.bank.lessons.set_state(engine.scopes.own, other.lesson_id, State.RETIRED, "wrong")
    (hit,) = (await engine.recall(task=TASK)).lessons
    assert (hit.id, "another correction" in hit.why) == (one.lesson_id, False)
