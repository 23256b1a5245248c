"""Lessons that contradict each other: never merged, and shown with their dates."""

from datetime import UTC, datetime
from typing import Any

import pytest

from mcp_reflect.models.lesson import State
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.similarity import same_text
from tests.held_clock import HeldClock

MISTAKE = "The nightly export of the orders table ran out of memory"
MORE: dict[str, Any] = {"mistake": MISTAKE, "correction": "Increase the batch size"}
LESS: dict[str, Any] = {"mistake": MISTAKE, "correction": "Decrease the batch size"}
TASK = "the nightly export of the orders table, batch size"


OPPOSITES = """
Run them in parallel | Do not run them in parallel
Set the timeout to 30 seconds | Set the timeout to 120 seconds
Enable retries for the test runner | Disable retries for the test runner
Raise the batch size of the export | Lower the batch size of the export
Set batch_size=500 in export.toml | Set batch_size=5000 in export.toml
Always delete node_modules before installing | Don't delete node_modules before installing
Run the migration before deploying | Run the migration after deploying
Pass dayfirst=True to to_datetime | Pass dayfirst=False to to_datetime
Use master search | Avoid master search
Send the signature header with the request | Omit the signature header from the request
Open config.yaml with encoding utf-8 | Open config.yaml with encoding cp1252
Turn on the cache for the price endpoint | Turn off the cache for the price endpoint
Include the header row | Exclude the header row
Add the X-Tenant header | Remove the X-Tenant header
Stop the replica before restoring | Start the replica before restoring
Increase maintenance_work_mem | Reduce maintenance_work_mem
Use a narrower query | Use a broader query
Pass errors='ignore' to decode | Pass errors='strict' to decode
Always pass -auto-approve | Never pass -auto-approve
"""


@pytest.mark.parametrize("pair", OPPOSITES.strip().splitlines())
def test_opposite_corrections_of_one_situation_do_not_say_the_same(pair: str) -> None:
    one, other = pair.split(" | ")
    assert not same_text(one, other)
    assert not same_text(other, one)


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
