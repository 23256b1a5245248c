"""The statistics, at the tool's side (bank://stats), in Python and on the command line."""

from dataclasses import replace
from typing import Any

from mcp import Client

from mcp_reflect.config import Settings
from mcp_reflect.services.engine import Engine
from tests.conftest import one_era
from tests.server.calls import FAILED_RUN, LESSON, told
from tests.server.test_resources import read

WRONG: dict[str, Any] = {"goal": "Sum", "steps": ["2 + 2 = 5", "4 + 1 = 5"], "max_iterations": 0}


@one_era
async def test_critiques_that_call_for_a_retry_and_corrections_that_help_are_counted(client: Client) -> None:
    before = await read(client, "bank://stats")
    assert (before["retries_triggered"], before["improvements_made"], before["critiques"]) == (0, 0, 0)
    first = await told(client, "critique", WRONG)
    assert first["should_retry"]
    analysis = {"issues": ["Step 1"], "corrected_steps": ["2 + 2 = 4", "4 + 1 = 5"]}
    await told(client, "critique", {"critique_id": first["critique_id"], "analysis": analysis})
    after = await read(client, "bank://stats")
    assert (after["retries_triggered"], after["improvements_made"], after["critiques"]) == (1, 1, 1)
    await told(client, "critique", {"critique_id": first["critique_id"], "analysis": analysis})
    assert await read(client, "bank://stats") == after


@one_era
async def test_reflections_are_counted_by_what_triggered_them(client: Client) -> None:
    await told(client, "reflect", {**FAILED_RUN, "trigger": "tool_failure"})
    await told(client, "reflect", {**FAILED_RUN, "task": "Another one"})
    stats = await read(client, "bank://stats")
    assert stats["reflections_by_trigger"] == {"none": 1, "tool_failure": 1}
    assert stats["reflections_by_thinker"] == {"rules": 2}
    assert stats["tokens"] == 0


@one_era
async def test_findings_without_a_lesson_are_counted_until_somebody_tells_one(client: Client) -> None:
    run = {**FAILED_RUN, "events": [*FAILED_RUN["events"], {"type": "tool_call", "tool": "deploy", "error": "refused"}]}
    reflection = await told(client, "reflect", run)
    assert (await read(client, "bank://stats"))["findings_without_lesson"] == 1
    analysis = {"mistake": "deploy was refused", "correction": "Ask for the right first"}
    await told(client, "reflect", {"reflection_id": reflection["reflection_id"], "analysis": analysis})
    assert (await read(client, "bank://stats"))["findings_without_lesson"] == 0


@one_era
async def test_what_is_measured_against_is_said(client: Client) -> None:
    stored = await told(client, "store_lesson", LESSON)
    stats = await read(client, "bank://stats")
    assert (stats["bank_capacity"], stats["quality_threshold"], stats["quarantined"]) == (None, 0.5, 0)
    assert (stats["lessons_stored"], stats["average_lesson_effectiveness"]) == (1, None)
    await told(client, "record_outcome", {"success": True, "lesson_ids": [stored["lesson_id"]]})
    assert (await read(client, "bank://stats"))["average_lesson_effectiveness"] > 0.5


@one_era
async def test_a_retired_lesson_is_stored_no_more(client: Client, engine: Engine) -> None:
    stored = await told(client, "store_lesson", LESSON)
    await told(client, "forget_lesson", {"lesson_id": stored["lesson_id"], "reason": "wrong"})
    assert (await engine.get_stats())["lessons_stored"] == 0


async def told_tasks(engine: Engine, count: int) -> None:
    """Outcomes of `count` tasks that have a lesson: they succeed where it was shown, and every third one besides."""
    await engine.store_lesson(mistake="Deployed without the migration", correction="Run the migration first")
    for number in range(count):
        found = await engine.recall(task=f"deploy number {number} with a migration")
        good = bool(found.lessons) or number % 3 == 0
        for _ in range(2):
            await engine.record_outcome(success=good, recall_id=found.recall_id)


async def test_uplift_counts_tasks_with_lessons_and_without(settings: Settings) -> None:
    async with Engine(replace(settings, holdout=0.5)) as engine:
        await told_tasks(engine, 20)
        uplift: Any = (await engine.get_stats())["uplift"]
    assert uplift["shown"]["tasks"] + uplift["held_out"]["tasks"] == 20
    assert uplift["shown"]["success"] == 1
    assert 0 < uplift["held_out"]["success"] < 1


async def test_without_hold_out_there_is_no_uplift(engine: Engine) -> None:
    await told_tasks(engine, 3)
    uplift: Any = (await engine.get_stats())["uplift"]
    assert uplift["shown"] == {"tasks": 0, "success": None}
    assert uplift["held_out"] == {"tasks": 0, "success": None}
