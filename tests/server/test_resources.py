"""The bank as resources: lessons, reflections, the graph, the prompts; and the statistics, also on the command line."""

import json
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.types import PromptReference, ResourceTemplateReference, TextResourceContents

from mcp_reflect.config import Settings
from mcp_reflect.llm.prompts import Prompts, shipped_folder
from mcp_reflect.server.app import build
from mcp_reflect.services.engine import Engine
from mcp_reflect.speaker import Speaker
from tests.conftest import one_era
from tests.dashboard.pages import records
from tests.held_clock import HeldClock
from tests.server.calls import (
    ANALYSIS,
    FAILED_RUN,
    LESSON,
    completed_uri,
    prompt_text,
    resource_text,
    told,
)


async def read(client: Client, uri: str) -> dict[str, Any]:
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    assert content.mime_type == "application/json"
    return json.loads(content.text)


async def test_the_bank_and_its_records_are_listed_by_address(client: Client) -> None:
    found = (await client.list_resources()).resources
    templates = (await client.list_resource_templates()).resource_templates
    addresses = [str(one.uri) for one in found if not str(one.uri).startswith("prompt://")]
    assert addresses == [
        "bank://stats",
        "bank://lessons",
        "bank://reflections",
        "ui://mcp-reflect/board",
    ]
    assert [one.uri_template for one in templates] == (
        "lesson://{id} lesson://{id}/neighbors graph://{kind}/{name} reflection://{id} prompt://{name}"
    ).split()


async def test_the_bank_tells_what_is_in_it(client: Client) -> None:
    stored = await told(client, "store_lesson", LESSON)
    run = await told(client, "reflect", FAILED_RUN)
    stats = await read(client, "bank://stats")
    assert (stats["total_reflections"], stats["lessons_stored"], stats["scope"]) == (
        1,
        1,
        "project app",
    )
    assert stats["average_lesson_effectiveness"] is None
    lessons = await read(client, "bank://lessons")
    assert stored["lesson_id"] in [one["id"] for one in lessons["lessons"]]
    reflections = await read(client, "bank://reflections")
    assert [one["id"] for one in reflections["reflections"]] == [run["reflection_id"]]


async def test_a_lesson_shows_its_versions_and_what_it_comes_from(
    client: Client, engine: Engine
) -> None:
    run = await told(client, "reflect", {**FAILED_RUN, "analysis": ANALYSIS})
    (learnt,) = run["lessons"]
    await engine.edit_lesson(learnt["id"], {"importance": 1.0}, by=Speaker.PERSON)
    shown = await read(client, f"lesson://{learnt['id']}")
    assert shown["importance"] == 1
    assert [version["reason"] for version in shown["versions"]] == ["edited"]
    assert {"relation": "from", "to_kind": "reflection", "to_id": run["reflection_id"]} in shown[
        "links"
    ]


async def test_a_reflection_shows_its_trace_its_versions_and_its_ties(client: Client) -> None:
    run = await told(client, "reflect", FAILED_RUN)
    await told(
        client, "reflect", {"reflection_id": run["reflection_id"], "analysis": "A typo in the path"}
    )
    shown = await read(client, f"reflection://{run['reflection_id']}")
    assert (shown["version"], shown["thinker"]) == (2, "host")
    assert [version["thinker"] for version in shown["versions"]] == ["rules"]
    assert [event["id"] for event in shown["trace"]["events"]] == ["e1", "e2", "e3", "e4"]
    assert {"relation": "about", "to_kind": "tool", "to_id": "read_file"} in shown["links"]


async def test_times_are_text_as_in_the_tools_results(
    client: Client, engine: Engine, clock: HeldClock
) -> None:
    stored = await told(client, "store_lesson", LESSON)
    run = await told(client, "reflect", FAILED_RUN)
    clock.time += 7_200
    await engine.edit_lesson(stored["lesson_id"], {"importance": 1.0}, by=Speaker.PERSON)
    shown = await read(client, f"lesson://{stored['lesson_id']}")
    (listed,) = [
        one
        for one in (await read(client, "bank://lessons"))["lessons"]
        if one["id"] == stored["lesson_id"]
    ]
    assert (shown["created_at"], shown["updated_at"]) == (
        listed["created_at"],
        listed["updated_at"],
    )
    assert shown["created_at"] == run["generated_at"]
    assert datetime.fromisoformat(shown["updated_at"]) - datetime.fromisoformat(
        shown["created_at"]
    ) == timedelta(hours=2)
    assert [version["created_at"] for version in shown["versions"]] == [shown["created_at"]]


@pytest.mark.parametrize(
    "uri",
    "bank://nothing lesson://les_none reflection://ref_none lesson:// file:///etc/passwd lesson://a/../b".split(),
)
async def test_an_address_of_nothing_is_not_found(client: Client, uri: str) -> None:
    with pytest.raises(MCPError, match=r"there is no|Unknown resource"):
        await client.read_resource(uri)


@pytest.mark.parametrize("start", ["sk_live_", "%73k_live_"])
async def test_an_address_with_a_secret_is_refused_and_not_repeated(
    client: Client, start: str
) -> None:
    key = "9aB8cD7eF6gH5iJ4kL3mN2oP"
    with pytest.raises(MCPError, match="Unknown resource") as refused:
        await client.read_resource(f"graph://tag/{start}{key}")
    assert key not in f"{refused.value} {refused.value.error}"


async def test_a_record_of_another_project_is_not_found(client: Client) -> None:
    stored = await told(client, "store_lesson", {**LESSON, "project": "other"})
    with pytest.raises(MCPError, match="in project app"):
        await client.read_resource(f"lesson://{stored['lesson_id']}")


async def test_ids_are_completed_from_what_was_typed(client: Client) -> None:
    stored = await told(client, "store_lesson", LESSON)
    run = await told(client, "reflect", FAILED_RUN)

    async def completed(uri: str, start: str) -> list[str]:
        reference = ResourceTemplateReference(type="ref/resource", uri=uri)
        return (await client.complete(reference, {"name": "id", "value": start})).completion.values

    assert stored["lesson_id"] in await completed("lesson://{id}", "les_")
    assert await completed("lesson://{id}", "nope") == []
    assert await completed("reflection://{id}", "") == [run["reflection_id"]]
    assert await completed("nothing://{id}", "") == []


async def test_task_types_are_completed_the_most_frequent_first(client: Client) -> None:
    for number, kind in enumerate(("deploy", "debugging", "debugging")):
        await told(
            client,
            "store_lesson",
            {"mistake": f"Mistake {number}", "correction": "Mend", "task_type": kind},
        )
    reference = PromptReference(type="ref/prompt", name="start_task")
    found = await client.complete(reference, {"name": "task_type", "value": "de"})
    assert found.completion.values == ["debugging", "deploy"]


async def test_the_board_is_listed_as_a_page_and_its_lessons_are_read_apart(client: Client) -> None:
    stored = await told(client, "store_lesson", LESSON)
    (listed,) = [
        one for one in (await client.list_resources()).resources if str(one.uri).startswith("ui://")
    ]
    (content,) = (await client.read_resource(str(listed.uri))).contents
    assert listed.mime_type == content.mime_type == "text/html;profile=mcp-app"
    data = await read(client, "bank://board")
    assert [one["id"] for one in records(data["lessons"])] == [stored["lesson_id"]]


@one_era
async def test_a_learnt_lesson_leads_to_its_reflection_and_its_tool(client: Client) -> None:
    run = await told(client, "reflect", {**FAILED_RUN, "analysis": ANALYSIS})
    (learnt,) = run["lessons"]
    shown: dict[str, Any] = await read(client, f"lesson://{learnt['id']}")
    assert run["reflection_id"] in {near["id"] for near in shown["neighbors"]}
    of_tool = await read(client, "graph://tool/read_file")
    assert {learnt["id"], run["reflection_id"]} <= {near["id"] for near in of_tool["neighbors"]}


async def test_lessons_and_strategies_lead_to_the_events_that_they_came_from(
    engine: Engine,
) -> None:
    run = await engine.reflect(
        **FAILED_RUN, analysis={"reflection": "A typo", "strategy": "List orders/app.toml first"}
    )
    assert run.strategy_id is not None
    for name in (run.strategy_id, *(lesson.id for lesson in run.lessons)):
        ties = await engine.bank.lessons.links(engine.scopes.own, name)
        events = {tie["to_id"] for tie in ties if tie["to_kind"] == "event"}
        assert events == {f"{run.reflection_id}/{event}" for event in run.source_event_ids}
        assert events


@one_era
async def test_a_lesson_shows_its_rate(client: Client) -> None:
    one = await told(
        client,
        "store_lesson",
        {"mistake": "Edited src/app.py by hand", "correction": "Generate it"},
    )
    before = (await read(client, f"lesson://{one['lesson_id']}"))["effectiveness_estimate"]
    assert before == {"mean": 0.5, "harmful": False}
    proof = {
        "evidence": "test",
        "tool_results": [{"tool": "pytest", "content": "ok", "exit_code": 0}],
    }
    await told(
        client, "record_outcome", {"success": True, "lesson_ids": [one["lesson_id"]], **proof}
    )
    after = (await read(client, f"lesson://{one['lesson_id']}"))["effectiveness_estimate"]
    assert after["mean"] > before["mean"]


MINE = """---
name: start_task
version: 9
role: host
inputs: task
output: text
token_limit: 50
---
In our house.
---user---
Do this: $task
"""


async def test_the_templates_of_commands_are_listed_and_every_one_can_be_read(
    client: Client,
) -> None:
    uris = [str(one.uri) for one in (await client.list_resources()).resources]
    templates = [
        one.uri_template for one in (await client.list_resource_templates()).resource_templates
    ]
    shown = {
        name: json.loads(await resource_text(client, f"prompt://{name}"))
        for name in Prompts().names()
    }
    assert [uri for uri in uris if uri.startswith("prompt://")] == [
        f"prompt://{name}"
        for name in (
            "start_task",
            "review_task",
            "critique_answer",
            "replan_search",
            "distill_lessons",
            "guards",
        )
    ]
    assert "prompt://{name}" in templates
    for name, one in shown.items():
        assert (one["name"], one["overridden"]) == (name, False)
        assert one["text"] == (shipped_folder() / f"{name}.md").read_text("utf-8")
        assert one["version"] >= 1
        assert one["role"]
        assert all(f"${place}" in one["text"] for place in one["inputs"])


async def test_an_override_shows_itself_and_serves_the_prompt(
    settings: Settings, tmp_path: Path
) -> None:
    async with Client(build(replace(settings, prompts_dir=tmp_path))) as client:
        before = await prompt_text(client, "start_task", {"task": "Mend it"})
        (tmp_path / "start_task.md").write_text(MINE, "utf-8")
        shown = json.loads(await resource_text(client, "prompt://start_task"))
        after = await prompt_text(client, "start_task", {"task": "Mend it"})
    assert (shown["overridden"], shown["version"], shown["text"]) == (True, 9, MINE)
    assert "In our house." not in before
    assert after.startswith("In our house.")


async def test_names_are_completed_and_an_unknown_one_is_not_found(client: Client) -> None:
    assert (
        await completed_uri(client, "prompt://{name}", "re")
        == (
            "reflect_decision reflect_error reflect_failure reflect_partial reflect_success reflect_timeout replan "
            "replan_search review_task"
        ).split()
    )
    with pytest.raises(MCPError, match="prompt://critic"):
        await client.read_resource("prompt://critic")


@one_era
async def test_an_error_repeats_no_secret_of_an_address(client: Client) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    for address in (f"lesson://{token}", f"reflection://{token}", f"x://{token}", token):
        with pytest.raises(MCPError) as found:
            await client.read_resource(address)
        assert token not in str(found.value.error)


WRONG: dict[str, Any] = {"goal": "Sum", "steps": ["2 + 2 = 5", "4 + 1 = 5"], "max_iterations": 0}


@one_era
async def test_critiques_that_call_for_a_retry_and_corrections_that_help_are_counted(
    client: Client,
) -> None:
    before = await read(client, "bank://stats")
    assert (before["retries_triggered"], before["improvements_made"], before["critiques"]) == (
        0,
        0,
        0,
    )
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
async def test_findings_without_a_lesson_are_counted_until_somebody_tells_one(
    client: Client,
) -> None:
    run = {
        **FAILED_RUN,
        "events": [
            *FAILED_RUN["events"],
            {"type": "tool_call", "tool": "deploy", "error": "refused"},
        ],
    }
    reflection = await told(client, "reflect", run)
    assert (await read(client, "bank://stats"))["findings_without_lesson"] == 2
    analysis = {"mistake": "deploy was refused", "correction": "Ask for the right first"}
    await told(
        client, "reflect", {"reflection_id": reflection["reflection_id"], "analysis": analysis}
    )
    assert (await read(client, "bank://stats"))["findings_without_lesson"] == 0


@one_era
async def test_what_is_measured_against_is_said(client: Client) -> None:
    stored = await told(client, "store_lesson", LESSON)
    stats = await read(client, "bank://stats")
    assert (stats["bank_capacity"], stats["quality_threshold"], stats["quarantined"]) == (
        None,
        0.5,
        0,
    )
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
    await engine.store_lesson(
        mistake="Deployed without the migration", correction="Run the migration first"
    )
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
