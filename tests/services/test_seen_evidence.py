"""Evidence that an agent typed is told; what hooks saw in the project's sessions is seen, and alone is proof."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.models.lesson import OutcomeResult
from mcp_reflect.runs.text import output_digest, shown_part
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.sqlite.backup import check
from tests.held_clock import HeldClock

PYTEST = "tests/test_orders.py ....\n\n============== 43 passed in 2.52s =============="
SECRET = "token ghp_" + "a1B2" * 9


async def told(engine: Engine, content: str, **more: Any) -> OutcomeResult:
    """An outcome as an agent sends it, with a test's output and exit code 0."""
    stored = await engine.store_lesson(mistake="pytest failed: No module named app", correction="Run it in api")
    sent = {"success": "helped", "lesson_ids": [stored.lesson_id], "evidence": "test"}
    return await engine.call("record_outcome", {**sent, "tool_results": [{"content": content, "exit_code": 0}], **more})


async def trust_of(engine: Engine, result: OutcomeResult) -> str:
    lesson = await engine.bank.lessons.get(engine.scopes.own, result.updated[0].id)
    return f"{lesson.trust}, {lesson.proof:g}"


@pytest.mark.parametrize("typed", [PYTEST, "43 passed in 2.52s", "43 passed", "I ran it:\n43 passed in 2.52s\nwell"])
async def test_an_output_that_hooks_saw_is_proof_in_the_words_an_agent_types_it(engine: Engine, typed: str) -> None:
    await engine.after_call("Bash", {"command": "pytest"}, PYTEST, session="s")
    result = await told(engine, typed)
    assert (result.evidence, result.reason) == ("test", None)
    assert await trust_of(engine, result) == "confirmed, 1"


@pytest.mark.parametrize("typed", ["44 passed in 2.52s", "all tests pass", "ok", "43 passed, 1 skipped"])
async def test_an_invented_output_is_told_and_proves_nothing(engine: Engine, typed: str) -> None:
    await engine.after_call("Bash", {"command": "pytest"}, PYTEST, session="s")
    result = await told(engine, typed)
    assert (result.evidence, "hooks saw no such output" in str(result.reason)) == ("told", True)
    assert await trust_of(engine, result) == "observed, 0"


async def test_the_passing_part_of_a_failing_run_proves_nothing(engine: Engine) -> None:
    await engine.after_call("Bash", {"command": "pytest"}, "== 1 failed, 3 passed in 2s ==", session="s")
    assert (await told(engine, "3 passed")).evidence == "told"


async def test_evidence_that_shows_the_opposite_is_named_and_proves_nothing(engine: Engine) -> None:
    result = await told(engine, "== 1 failed, 3 passed in 2s ==")
    assert result.evidence == "self"
    assert result.reason == "tool_results show the opposite of this outcome: send the outcome that they show"


async def test_without_hooks_typed_evidence_moves_a_lesson_by_more_than_a_word_and_less_than_proof(
    tmp_path: Path, clock: HeldClock
) -> None:
    worth: list[float] = []
    for number, (evidence, seen) in enumerate([("self", False), ("test", False), ("test", True)]):
        async with Engine(Settings(bank=tmp_path / str(number), project="app"), clock=clock) as own:
            if seen:
                await own.after_call("Bash", {"command": "pytest"}, PYTEST, session="s")
            worth.append((await told(own, PYTEST, evidence=evidence)).updated[0].effectiveness)
    assert worth == [0.545, 0.59, 0.65]


async def test_a_person_that_an_agent_quotes_is_told(engine: Engine) -> None:
    result = await told(engine, "", evidence="user", note='She wrote "that works"')
    assert (result.evidence, result.updated[0].effectiveness) == ("told", 0.59)
    assert str(result.reason).startswith("you quote the person")


async def test_a_program_saw_the_results_that_it_passes_itself(engine: Engine) -> None:
    stored = await engine.store_lesson(mistake="pytest failed: No module named app", correction="Run it in api")
    results = [{"tool": "pytest", "content": "43 passed in 2.52s", "exit_code": 0}]
    result = await engine.record_outcome(
        success=True, lesson_ids=[stored.lesson_id], evidence="test", tool_results=results
    )
    assert result.evidence == "test"


async def test_an_output_of_another_project_or_of_yesterday_was_not_seen(engine: Engine, clock: HeldClock) -> None:
    await engine.after_call("Bash", {"command": "pytest"}, PYTEST, session="s", project="other")
    assert (await told(engine, PYTEST)).evidence == "told"
    await engine.after_call("Bash", {"command": "pytest"}, PYTEST, session="s")
    clock.time += 86_400
    assert (await told(engine, PYTEST)).evidence == "told"


@pytest.mark.sqlite  # it reads the file
async def test_digests_are_small_hold_no_text_and_stay_bounded(engine: Engine, settings: Settings) -> None:
    lines = "".join(f"{SECRET} line {number}, 12 of 400 done\n" for number in range(100))
    lines += " ".join(f"{number} lines" for number in range(9_000))
    for number in range(60):
        output = f"{lines}{number}" if number >= 55 else f"{SECRET} line {number}"
        await engine.after_call("Bash", {"command": f"cat {number}"}, output, session="s")
    with closing(sqlite3.connect(settings.bank_path)) as looking:
        digests = [bytes(row[0]) for row in looking.execute("SELECT digest FROM outputs")]
    assert len(digests) == 50
    assert max(map(len, digests)) <= 800
    assert not any(b"ghp" in each or b"line" in each for each in digests)


async def test_digests_are_not_taken_for_damaged_texts(engine: Engine, bank_path: Path) -> None:
    await engine.after_call("Bash", {"command": "pytest"}, PYTEST, session="s")
    await engine.close()
    assert check(bank_path) == (True, [])


@pytest.mark.sqlite  # it reads the file
async def test_digests_are_dropped_with_their_session(engine: Engine, settings: Settings, clock: HeldClock) -> None:
    await engine.after_call("Bash", {"command": "pytest"}, PYTEST, session="old")
    clock.time += 86_400 * 400
    await engine.after_call("Bash", {"command": "pytest"}, PYTEST, session="new")
    with closing(sqlite3.connect(settings.bank_path)) as looking:
        assert looking.execute("SELECT DISTINCT session FROM outputs").fetchall() == [("new",)]


def test_a_single_word_is_in_any_output() -> None:
    assert shown_part("OK", output_digest("OK")) == ""
    assert (
        shown_part("Ran 3 tests in 0.1s\n\nOK", output_digest("Ran 3 tests in 0.1s\n\nOK")) == "ran 3 tests in 0.1s\nok"
    )
