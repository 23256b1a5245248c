"""What the agent did after a warning, and what hooks saw, is evidence without anybody's word; what it typed is told."""

import asyncio
import re
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect import services
from mcp_reflect.cli import main
from mcp_reflect.config import Settings
from mcp_reflect.models.common import Json
from mcp_reflect.models.lesson_words import short_id
from mcp_reflect.models.outcome import OutcomeResult
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.warning_settling import MOST_WRONG
from mcp_reflect.text.signature import is_drawn
from tests.held_clock import HeldClock

PUSH: Json = {"command": "git push origin main"}
REFUSED = "remote: error: GH006: Protected branch update failed for refs/heads/main."


def rows(path: Path, sql: str) -> list[tuple[Any, ...]]:
    """Return rows of the bank's file; tests that call this are marked `sqlite`."""
    connection = sqlite3.connect(path)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


async def warned(engine: Engine, session: str) -> None:
    if await engine.before_call("Bash", PUSH, session="probe-" + session) is None:
        await engine.after_call("Bash", PUSH, error=REFUSED, session="first")
        await engine.after_call("Bash", PUSH, error=REFUSED, session="second")
    assert await engine.before_call("Bash", PUSH, session=session) is not None


async def sequel_of(engine: Engine, session: str) -> str | None:
    return rows(engine.bank.path, f"SELECT sequel FROM warnings WHERE session = '{session}'")[-1][0]  # noqa: S608


@pytest.mark.sqlite
async def test_another_call_says_that_the_warning_was_heeded(engine: Engine) -> None:
    await warned(engine, "s")
    assert await sequel_of(engine, "s") is None
    await engine.after_call("Bash", {"command": "git push origin topic"}, "ok", session="s")
    assert await sequel_of(engine, "s") == "heeded"


@pytest.mark.sqlite
async def test_the_same_call_says_whether_the_warning_was_right(engine: Engine) -> None:
    await warned(engine, "s")
    await engine.after_call("Bash", PUSH, error=REFUSED, session="s")
    assert await sequel_of(engine, "s") == "failed"
    await warned(engine, "t")
    await engine.after_call("Bash", PUSH, "ok", session="t")
    assert await sequel_of(engine, "t") == "worked"


@pytest.mark.sqlite
async def test_calls_that_run_side_by_side_may_end_in_any_order(engine: Engine) -> None:
    await warned(engine, "s")
    await engine.after_call("Read", {"file_path": "a"}, "text", session="s")
    await engine.after_call("Bash", PUSH, error=REFUSED, session="s")
    assert await sequel_of(engine, "s") == "failed"


async def test_a_warning_that_is_wrong_loses_weight_and_retires_after_three(engine: Engine) -> None:
    await engine.after_call("Bash", PUSH, error=REFUSED, session="first")
    await engine.after_call("Bash", PUSH, error=REFUSED, session="second")
    certainties: list[float] = []
    for turn in range(MOST_WRONG):
        warning = await engine.before_call("Bash", PUSH, session=f"s{turn}")
        assert warning is not None
        certainties.append(warning.certainty)
        await engine.after_call("Bash", PUSH, "ok", session=f"s{turn}")
        await engine.after_call("Bash", PUSH, error=REFUSED, session=f"again{turn}")
    assert certainties == sorted(certainties, reverse=True)
    assert certainties[0] > certainties[-1]
    assert await engine.before_call("Bash", PUSH, session="last") is None


async def test_another_call_after_a_warning_proves_nothing_and_the_same_one_that_works_counts_against_it(
    engine: Engine,
) -> None:
    events = [
        {"type": "tool_call", "tool": "bash", "arguments": {"command": "pytest tests/billing"}},
        {
            "type": "tool_response",
            "content": "ModuleNotFoundError: No module named 'billing'",
            "metadata": {"exit_code": 4},
        },
        {
            "type": "tool_call",
            "tool": "bash",
            "arguments": {"command": "PYTHONPATH=src pytest tests/billing"},
        },
        {"type": "tool_response", "content": "42 passed", "metadata": {"exit_code": 0}},
    ]
    analysis = {
        "mistake": "pytest tests/billing finds no module billing",
        "correction": "Run PYTHONPATH=src pytest tests/billing",
        "symptoms": ["ModuleNotFoundError: No module named 'billing'"],
    }
    run = {"task": "run the tests", "outcome": "success", "events": events}
    lesson_id = (await engine.reflect(**run, analysis=analysis)).lessons[0].id
    failing: Json = {"command": "pytest tests/billing"}
    assert await engine.before_call("Bash", failing, session="s") is not None
    await engine.after_call(
        "Bash", {"command": "PYTHONPATH=src pytest tests/billing"}, "42 passed", session="s"
    )
    lesson = await engine.bank.lessons.get(engine.scopes.own, lesson_id)
    assert (lesson.trust, lesson.wins, lesson.losses) == ("observed", 0.0, 0.0)
    assert await engine.before_call("Bash", failing, session="t") is not None
    await engine.after_call("Bash", failing, "42 passed", session="t")
    lesson = await engine.bank.lessons.get(engine.scopes.own, lesson_id)
    assert (lesson.wins, lesson.losses) == (0.0, 1.0)


@pytest.mark.sqlite
async def test_a_session_that_is_held_out_is_watched_and_not_warned(
    settings: Settings, clock: HeldClock
) -> None:
    async with Engine(replace(settings, holdout=1.0), clock=clock) as engine:
        await engine.after_call("Bash", PUSH, error=REFUSED, session="first")
        await engine.after_call("Bash", PUSH, error=REFUSED, session="second")
        assert await engine.before_call("Bash", PUSH, session="s") is None
        after = await engine.after_call("Bash", PUSH, error=REFUSED, session="s")
        assert after.text is None
        assert rows(engine.bank.path, "SELECT shown, characters, sequel FROM warnings") == [
            (0, 0, "failed")
        ]


async def play(engine: Engine, sessions: int) -> None:
    """Agents that do as they are told: warned, they push elsewhere; else they fail again."""
    await engine.after_call("Bash", PUSH, error="error: invalid refspec", session="first")
    for number in range(sessions):
        session = f"session-{number}"
        for _ in range(2):
            if await engine.before_call("Bash", PUSH, session=session) is None:
                await engine.after_call(
                    "Bash", PUSH, error="error: invalid refspec", session=session
                )
            else:
                await engine.after_call(
                    "Bash", {"command": "git push origin topic"}, "ok", session=session
                )


async def test_sessions_that_are_warned_are_counted_beside_those_held_out(
    settings: Settings, clock: HeldClock
) -> None:
    async with Engine(replace(settings, holdout=0.5), clock=clock) as engine:
        await play(engine, 20)
        stats: dict[str, Any] = dict(await engine.get_stats())
    found = stats["proof"]
    held = sum(is_drawn(f"session-{number}", 0.5) for number in range(20))
    assert (found["held_out"]["sessions"], found["held_out"]["recurrences"]) == (held, 2 * held)
    assert found["warned"]["recurrences"] == 0
    assert found["held_out"]["sequels"] == {"failed": 2 * held}
    assert set(found["warned"]["sequels"]) <= {"heeded", "open"}
    assert found["characters_per_warning"] > 100


def test_stats_say_what_warnings_came_to(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def work() -> None:
        async with Engine(
            Settings(bank=tmp_path / "bank.db", project="app", holdout=0.5)
        ) as engine:
            await play(engine, 20)

    monkeypatch.setenv("MCP_REFLECT_BANK", str(tmp_path / "bank.db"))
    monkeypatch.setenv("MCP_REFLECT_PROJECT", "app")
    assert main(["stats"]) == 0
    assert "warned sessions" not in capsys.readouterr().out  # there was none
    asyncio.run(work())
    assert main(["stats"]) == 0
    said = capsys.readouterr().out
    assert re.search(
        r"warned sessions +0 known failures again in \d+ sessions; \d+ warnings due, 0 calls made anyway",
        said,
    )
    assert re.search(r"only watched +\d+ known failures again", said)


PYTEST = "tests/test_orders.py ....\n\n============== 43 passed in 2.52s =============="
RIGHT = "cd api && pytest -q"


async def told(engine: Engine, content: str, **more: Any) -> OutcomeResult:
    """An outcome as an agent sends it, with an output and exit code 0."""
    stored = await engine.store_lesson(
        mistake="pytest failed: No module named app", correction="Run it in api", right_call=RIGHT
    )
    sent = {"success": "helped", "lesson_ids": [stored.lesson_id], "evidence": "test"}
    return await engine.call(
        "record_outcome", {**sent, "tool_results": [{"content": content, "exit_code": 0}], **more}
    )


async def trust_of(engine: Engine, result: OutcomeResult) -> str:
    lesson = await engine.bank.lessons.get(engine.scopes.own, result.updated[0].id)
    return f"{lesson.trust}, {lesson.proof:g}"


async def follow(engine: Engine, session: str, command: str = RIGHT, **more: Any) -> None:
    """A session that recalls the lesson, and makes a call that hooks see."""
    await engine.recall(task="pytest failed: No module named app")
    await engine.after_call("Bash", {"command": command}, PYTEST, session=session, **more)


async def test_what_hooks_saw_counts_without_a_word_and_two_sessions_confirm(
    engine: Engine,
) -> None:
    first = await told(engine, "")
    assert await trust_of(engine, first) == "observed, 0"
    await follow(engine, "one")
    await follow(engine, "one")
    assert await trust_of(engine, first) == "observed, 1"
    await follow(engine, "two")
    assert await trust_of(engine, first) == "confirmed, 2"


@pytest.mark.parametrize("typed", [PYTEST, "done", "ok"])
async def test_an_outcome_is_proven_by_a_call_that_follows_the_lesson_whatever_is_typed(
    engine: Engine, typed: str
) -> None:
    await told(engine, "")
    await follow(engine, "one")
    assert (await told(engine, typed)).evidence == "test"


@pytest.mark.parametrize("command", ["pytest -q", "cd api", "cd api && pytest", "cat 'pytest -q'"])
async def test_a_green_run_of_something_else_proves_nothing(engine: Engine, command: str) -> None:
    await told(engine, "")
    await follow(engine, "one", command)
    await follow(engine, "two", command)
    result = await told(engine, PYTEST)
    assert (result.evidence, "hooks saw no call" in str(result.reason)) == ("told", True)
    assert await trust_of(engine, result) == "observed, 0"


async def test_a_lesson_without_calls_says_why_no_outcome_proves_it(engine: Engine) -> None:
    stored = await engine.store_lesson(mistake="Deployed late", correction="Deploy in the morning")
    sent = {"success": "helped", "lesson_ids": [stored.lesson_id], "evidence": "test"}
    result = await engine.call("record_outcome", {**sent, "tool_results": [{"content": PYTEST}]})
    assert "names no right call" in str(result.reason)


async def test_a_call_before_the_lesson_was_shown_proves_nothing(engine: Engine) -> None:
    await engine.after_call("Bash", {"command": RIGHT}, PYTEST, session="s")
    assert (await told(engine, PYTEST)).evidence == "told"


async def test_what_only_a_tool_reported_proves_nothing(engine: Engine) -> None:
    await told(engine, "")
    await engine.recall(task="pytest failed: No module named app")
    await services.warnings.after_call(
        engine.context, "Bash", {"command": RIGHT}, PYTEST, session="s", witnessed=False
    )
    assert (await told(engine, PYTEST)).evidence == "told"


async def test_a_call_that_failed_is_not_reported_anew_as_one_that_worked(engine: Engine) -> None:
    await told(engine, "")
    await engine.recall(task="pytest failed: No module named app")
    same: dict[str, Any] = {"arguments": {"command": RIGHT}, "session": "s", "call_id": "t1"}
    after = services.warnings.after_call
    await after(engine.context, "Bash", error="1 failed", **same)
    await after(engine.context, "Bash", result=PYTEST, **same)
    assert (await told(engine, PYTEST)).evidence == "told"


async def test_evidence_that_shows_the_opposite_is_named_and_proves_nothing(engine: Engine) -> None:
    result = await told(engine, "== 1 failed, 3 passed in 2s ==")
    assert result.evidence == "self"
    assert (
        result.reason
        == "tool_results show the opposite of this outcome: send the outcome that they show"
    )


@pytest.mark.parametrize(
    ("output", "evidence", "reason"),
    [
        ("== 1 failed, 3 passed in 2s ==", "told", "hooks saw no call"),
        ("== 4 failed in 2s ==", "self", "show no partial success"),
        (PYTEST, "self", "show no partial success"),
        ("done", "self", "show no partial success"),
    ],
)
async def test_a_partial_success_is_backed_by_an_output_in_which_some_passed_and_some_failed(
    engine: Engine, output: str, evidence: str, reason: str
) -> None:
    result = await told(engine, output, success="partial")
    assert (result.evidence, result.updated[0].effectiveness) == (evidence, 0.5)
    assert reason in str(result.reason)


async def test_a_partial_success_is_backed_by_two_outputs_that_ended_differently(
    engine: Engine,
) -> None:
    results = [{"content": "built", "exit_code": 0}, {"content": "not sent", "exit_code": 1}]
    result = await told(engine, "", success="partial", tool_results=results)
    assert result.evidence == "told"


async def test_a_program_that_saw_a_partial_success_is_believed_where_its_outputs_show_it(
    engine: Engine,
) -> None:
    stored = await engine.store_lesson(mistake="Orders were lost", correction="Count them")
    results = [{"tool": "pytest", "content": "1 failed, 3 passed in 2s", "exit_code": 1}]
    result = await engine.record_outcome(
        success="partial", lesson_ids=[stored.lesson_id], evidence="test", tool_results=results
    )
    assert (result.evidence, result.reason) == ("test", None)


@pytest.mark.parametrize("results", [[], [{"content": "The sky is blue."}]])
async def test_outputs_that_show_nothing_are_named_and_back_no_word(
    engine: Engine, results: list[dict[str, str]]
) -> None:
    result = await told(engine, "", tool_results=results)
    assert result.evidence == "self"
    assert "tool_results do not show it" in str(result.reason)


async def test_a_call_that_hooks_saw_proves_an_outcome_without_any_output(engine: Engine) -> None:
    await told(engine, "")
    await follow(engine, "one")
    result = await told(engine, "", tool_results=[])
    assert (result.evidence, result.reason) == ("test", None)


async def test_an_outcome_of_a_proven_and_another_lesson_says_what_each_counts_as(
    engine: Engine,
) -> None:
    proven = (await told(engine, "")).updated[0].id
    await follow(engine, "one")
    other = await engine.store_lesson(mistake="Deployed late", correction="Deploy in the morning")
    result = await told(engine, PYTEST, lesson_ids=[proven, other.lesson_id])
    assert result.evidence == "told"
    assert f"{short_id(proven)}: proven by a call that hooks saw" in str(result.reason)
    assert f"{short_id(other.lesson_id)} names no right call" in str(result.reason)
    worth = {lesson.id: lesson.effectiveness or 0.0 for lesson in result.updated}
    assert worth[proven] > worth[other.lesson_id]


async def test_without_hooks_typed_evidence_moves_a_lesson_by_more_than_a_word_and_less_than_proof(
    tmp_path: Path, clock: HeldClock
) -> None:
    worth: list[float | None] = []
    for number, evidence in enumerate(["self", "test"]):
        async with Engine(Settings(bank=tmp_path / str(number), project="app"), clock=clock) as own:
            worth.append((await told(own, PYTEST, evidence=evidence)).updated[0].effectiveness)
    assert worth == [0.545, 0.59]


async def test_a_person_that_an_agent_quotes_is_told(engine: Engine) -> None:
    result = await told(engine, "", evidence="user", note='She wrote "that works"')
    assert (result.evidence, result.updated[0].effectiveness) == ("told", 0.59)
    assert str(result.reason).startswith("you quote the person")


async def test_a_program_saw_the_results_that_it_passes_itself(engine: Engine) -> None:
    stored = await engine.store_lesson(
        mistake="pytest failed: No module named app", correction="Run it in api"
    )
    results = [{"tool": "pytest", "content": "43 passed in 2.52s", "exit_code": 0}]
    result = await engine.record_outcome(
        success=True, lesson_ids=[stored.lesson_id], evidence="test", tool_results=results
    )
    assert result.evidence == "test"


async def test_a_call_of_another_project_or_of_yesterday_was_not_seen(
    engine: Engine, clock: HeldClock
) -> None:
    await told(engine, "")
    await follow(engine, "s", project="other")
    assert (await told(engine, PYTEST)).evidence == "told"
    await follow(engine, "s")
    clock.time += 86_400
    assert (await told(engine, PYTEST)).evidence == "told"
