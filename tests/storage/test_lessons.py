"""A lesson's life: imported once, strengthened, proved, contradicted, forgotten, restored, changed, erased."""

import asyncio
import hashlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.errors import NotFoundError
from mcp_reflect.models.lesson import State
from mcp_reflect.security.redact import context_hash
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.similarity import same_text
from tests.held_clock import HeldClock
from tests.imported import imported

LESSON: dict[str, Any] = {
    "mistake": "Deployed the orders service without its migration in the evening",
    "correction": "Run the migration first",
}
OTHER: dict[str, Any] = {
    "mistake": "Deployed with a stale image",
    "correction": "Build the image before deploying",
}
TASK = "deploy the orders service with a migration"


async def effectiveness(engine: Engine, lesson_id: str) -> float | None:
    return (await engine.bank.lessons.get(engine.scopes.own, lesson_id)).effectiveness


async def test_a_near_duplicate_strengthens_what_is_there_and_is_kept_as_a_version(
    engine: Engine,
) -> None:
    first = await engine.store_lesson(**LESSON, importance=0.4)
    wording = "Deployed the orders service without its migration in the evenings"
    again = await engine.store_lesson(
        mistake=wording, correction=LESSON["correction"], importance=0.7
    )
    assert (again.lesson_id, again.status) == (first.lesson_id, "merged")
    lesson = await engine.bank.lessons.get(engine.scopes.own, first.lesson_id)
    assert (lesson.mistake, lesson.importance, lesson.strength) == (LESSON["mistake"], 0.7, 2)
    (version,) = await engine.bank.lessons.history(engine.scopes.own, first.lesson_id)
    assert (version["reason"], version["mistake"]) == ("other_wording", wording)


async def test_a_lesson_of_another_project_is_no_twin(engine: Engine) -> None:
    assert (await engine.store_lesson(**LESSON)).status == "stored"
    assert (await engine.store_lesson(**LESSON, project="other")).status == "stored"
    assert (await engine.store_lesson(**LESSON, visibility="global")).status == "stored"


async def test_the_same_outcome_twice_changes_nothing_and_the_latest_wins(engine: Engine) -> None:
    stored = await engine.store_lesson(**LESSON)
    found = await engine.recall(task=TASK)
    assert await effectiveness(engine, stored.lesson_id) is None
    once = await engine.record_outcome(success=True, recall_id=found.recall_id)
    assert await engine.record_outcome(success=True, recall_id=found.recall_id) == once
    assert once.updated[0].effectiveness == pytest.approx(0.545)
    turned = await engine.record_outcome(success=False, recall_id=found.recall_id)
    assert turned.updated[0].effectiveness == pytest.approx(0.455)


async def test_a_recall_alone_shares_one_weight_over_what_it_showed(engine: Engine) -> None:
    one, other = await engine.store_lesson(**LESSON), await engine.store_lesson(**OTHER)
    found = await engine.recall(task="deploy the orders service with a migration and a stale image")
    assert {hit.id for hit in found.lessons} == {one.lesson_id, other.lesson_id}
    shared = await engine.record_outcome(success=True, recall_id=found.recall_id)
    assert [item.effectiveness for item in shared.updated] == [pytest.approx(0.5225)] * 2
    named = await engine.record_outcome(
        success=True, recall_id=found.recall_id, lesson_ids=[one.lesson_id]
    )
    assert [item.effectiveness for item in named.updated] == [pytest.approx(0.545)]
    assert await effectiveness(engine, other.lesson_id) == pytest.approx(0.5225)


async def test_no_outcome_that_an_agent_tells_confirms_a_lesson(engine: Engine) -> None:
    stored = await engine.store_lesson(**LESSON)
    call: dict[str, Any] = {"success": True, "lesson_ids": [stored.lesson_id]}
    await engine.record_outcome(**call)
    await engine.record_outcome(
        **call, evidence="test", tool_results=[{"content": "ok", "exit_code": 0}]
    )
    assert (await engine.bank.lessons.get(engine.scopes.own, stored.lesson_id)).trust == "observed"


async def test_an_outcome_of_a_recall_passes_over_what_was_erased_since(engine: Engine) -> None:
    one, other = await engine.store_lesson(**LESSON), await engine.store_lesson(**OTHER)
    found = await engine.recall(task="deploy the orders service with a migration and a stale image")
    await engine.bank.lessons.erase(engine.scopes.own, one.lesson_id)
    told = await engine.record_outcome(success=True, recall_id=found.recall_id)
    assert [item.id for item in told.updated] == [other.lesson_id]
    with pytest.raises(NotFoundError):
        await engine.record_outcome(
            success=True, recall_id=found.recall_id, lesson_ids=[one.lesson_id]
        )


async def test_a_forgotten_lesson_is_out_of_every_recall_until_it_is_restored(
    engine: Engine,
) -> None:
    stored = await engine.store_lesson(**LESSON)
    await engine.forget_lesson(lesson_id=stored.lesson_id, reason="no longer true")
    await engine.forget_lesson(lesson_id=stored.lesson_id, reason="said twice")
    found = await engine.recall(task=TASK)
    assert (found.lessons, found.hidden) == ((), {})
    history = await engine.bank.lessons.history(engine.scopes.own, stored.lesson_id)
    assert [version["reason"] for version in history] == ["forgotten: no longer true"]
    await engine.bank.lessons.set_state(
        engine.scopes.own, stored.lesson_id, State.ACTIVE, "restored"
    )
    assert [hit.id for hit in (await engine.recall(task=TASK)).lessons] == [stored.lesson_id]


async def test_an_edit_is_found_by_its_new_words_and_keeps_the_old(
    engine: Engine, clock: HeldClock
) -> None:
    stored = await engine.store_lesson(**LESSON)
    clock.time += 86_400
    await engine.edit_lesson(stored.lesson_id, {"correction": "Ask the zookeeper"})
    lesson = await engine.bank.lessons.get(engine.scopes.own, stored.lesson_id)
    assert lesson.text == f"{LESSON['mistake']}. Ask the zookeeper"
    assert lesson.updated_at - lesson.created_at == 86_400
    assert [hit.age_days for hit in (await engine.recall(task="ask the zookeeper")).lessons] == [1]
    (version,) = await engine.bank.lessons.history(engine.scopes.own, stored.lesson_id)
    assert version["correction"] == LESSON["correction"]


async def test_an_erased_reflection_leaves_no_byte_of_its_run(
    engine: Engine, bank_path: Path
) -> None:
    run: dict[str, Any] = {
        "task": "Read the xylophone file",
        "outcome": "failure",
        "events": [
            {"type": "tool_call", "tool": "marimba", "arguments": {"path": "glockenspiel.txt"}},
            {"type": "tool_response", "tool": "marimba", "error": "No such file: glockenspiel.txt"},
        ],
    }
    found = await engine.reflect(**run)
    await engine.reflect(
        reflection_id=found.reflection_id, analysis={"reflection": "The vibraphone was missing"}
    )
    await engine.bank.lessons.erase(engine.scopes.own, found.reflection_id)
    content = b"".join(path.read_bytes().lower() for path in bank_path.parent.iterdir())
    words = (b"xylophone", b"marimba", b"glockenspiel", b"vibraphone")
    assert [word for word in words if word in content] == []


async def test_a_context_is_known_again_by_the_hash_of_what_is_kept_of_it(engine: Engine) -> None:
    context = "host db-1, password=hR7kQ2vN9x!"
    stored = await engine.store_lesson(**LESSON, context=context)
    lesson = await engine.bank.lessons.get(engine.scopes.own, stored.lesson_id)
    assert (
        lesson.context_hash
        == hashlib.sha256(b"host db-1, password=[redacted:password]").hexdigest()[:16]
    )
    assert lesson.context_hash == context_hash(context)
    (hit,) = (await engine.recall(task=TASK, context=context)).lessons
    assert "same context" in hit.why


async def test_an_import_makes_nothing_trusted_and_lets_nothing_out_of_quarantine(
    engine: Engine,
) -> None:
    lines = [{**LESSON, "trust": "trusted"}, {**OTHER, "trust": "quarantined"}]
    await imported(engine, *lines)
    found = await engine.recall(task="deploy the orders service with a migration and a stale image")
    assert [hit.trust for hit in found.lessons] == ["observed"]
    assert found.hidden == {}


def test_ids_made_one_after_another_sort_so_even_where_the_clock_is_set_back() -> None:
    clock = HeldClock()
    ids: list[str] = []
    for step in (0, 0, -30, 1, -60):
        clock.time += step
        ids.append(clock.new_id("les"))
    assert ids == sorted(set(ids))


def lines_of(many: int) -> list[tuple[int, dict[str, str]]]:
    return [
        (
            place,
            {
                "mistake": f"Flushed cache {place} of shard {place % 7}",
                "correction": f"Warm cache {place} before",
            },
        )
        for place in range(many)
    ]


async def test_others_write_and_recall_while_an_import_goes_on(
    engine: Engine, bank_path: Path
) -> None:
    lines = lines_of(600)
    written, over = 0, False

    async def import_all() -> None:
        nonlocal written, over
        async for batch in engine.import_lessons(lines):
            written += len(batch)
        over = True

    async with Engine(Settings(bank=bank_path, project="app")) as other:
        task = asyncio.create_task(import_all())
        for place in range(3):
            stored = await other.store_lesson(
                mistake=f"Left door {place} open", correction="Close doors at night"
            )
            found = await other.recall(task=f"close door {place} at night")
            assert stored.lesson_id in [hit.id for hit in found.lessons]
            assert not over
        await task
    assert written == len(lines)


DOOR: dict[str, object] = {
    "mistake": "Left the door open",
    "correction": "Close doors at night",
    "tags": ["night"],
}


async def test_a_lesson_that_is_there_word_for_word_is_not_imported_again(engine: Engine) -> None:
    first, second = await imported(engine, DOOR, DOOR)
    (again,) = await imported(engine, DOOR)
    assert first.status == "stored"
    assert [(one.status, one.lesson_id) for one in (second, again)] == [
        ("duplicate", first.lesson_id)
    ] * 2
    assert len(await engine.bank.lessons.latest(engine.scopes.own, limit=9)) == 1


async def test_what_an_agent_stored_and_learnt_again_since_is_a_duplicate_of_its_line(
    engine: Engine,
) -> None:
    stored = await engine.store_lesson(**DOOR)
    await engine.store_lesson(**{**DOOR, "tags": ["security"], "symptoms": ["the alarm rang"]})
    assert [one.lesson_id for one in await imported(engine, DOOR)] == [stored.lesson_id]


async def test_a_line_that_says_anything_more_or_else_is_a_lesson_of_its_own(
    engine: Engine,
) -> None:
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
    assert (
        await engine.bank.lessons.get(engine.scopes.own, stored.lesson_id)
    ).state is State.RETIRED


async def test_a_line_with_a_secret_is_known_again_without_it(engine: Engine) -> None:
    line = {**DOOR, "context": "password: hunter2-correct-horse"}
    (stored,) = await imported(engine, line)
    assert [one.lesson_id for one in await imported(engine, line)] == [stored.lesson_id]


async def test_an_export_brought_back_into_its_bank_is_all_duplicates(engine: Engine) -> None:
    (stored,) = await imported(
        engine, {**DOOR, "why": "Thieves come at night", "symptoms": ["the alarm rang"]}
    )
    await engine.edit_lesson(stored.lesson_id, {"correction": "Lock doors at night"})
    lines = [line async for line in engine.bank.transfer.export(engine.scopes.own.tenant, None)]
    assert [(one.status, one.lesson_id) for one in await imported(engine, *lines)] == [
        ("duplicate", stored.lesson_id)
    ]


MISTAKE = "The nightly export of the orders table ran out of memory"
MORE: dict[str, Any] = {"mistake": MISTAKE, "correction": "Increase the batch size"}
LESS: dict[str, Any] = {"mistake": MISTAKE, "correction": "Decrease the batch size"}
EXPORT = "the nightly export of the orders table, batch size"


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
    wordings = (
        "Enable the cache, do not enable the index",
        "Do not enable the cache, enable the index",
    )
    stored = [
        await engine.store_lesson(mistake=MISTAKE, correction=wording) for wording in wordings
    ]
    assert [one.status for one in stored] == ["stored", "stored"]


async def test_of_two_that_meet_both_are_shown_with_their_dates(
    engine: Engine, clock: HeldClock
) -> None:
    one = await engine.store_lesson(**MORE)
    clock.time += 2 * 86_400
    other = await engine.store_lesson(**LESS)
    found = (await engine.recall(task=EXPORT)).lessons
    assert {hit.id for hit in found} == {one.lesson_id, other.lesson_id}
    newer, older = sorted(found, key=lambda hit: hit.age_days)
    days = [
        datetime.fromtimestamp(clock.time - 86_400 * hit.age_days, UTC).date()
        for hit in (newer, older)
    ]
    assert newer.why.startswith(f"of {days[0]}; {older.id} of {days[1]} has another correction")
    assert older.why.startswith(f"of {days[1]}; {newer.id} of {days[0]} has another correction")


async def test_a_retired_lesson_leads_nobody(engine: Engine) -> None:
    one, other = await engine.store_lesson(**MORE), await engine.store_lesson(**LESS)
    await engine.bank.lessons.set_state(engine.scopes.own, other.lesson_id, State.RETIRED, "wrong")
    (hit,) = (await engine.recall(task=EXPORT)).lessons
    assert (hit.id, "another correction" in hit.why) == (one.lesson_id, False)
