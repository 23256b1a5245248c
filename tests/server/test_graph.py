"""The graph: what records name in common, and one step from one to its neighbors."""

from typing import Any

import pytest
from mcp import Client

from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.lessons import named
from tests.conftest import one_era
from tests.server.calls import FAILED_RUN, told
from tests.server.test_resources import read


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Error E4012 in src/app/orders.py, see docs", {"E4012", "src/app/orders.py"}),
        ("open failed with ENOENT and exit code 137", {"ENOENT", "exit code 137"}),
        ("TS2345 in index.ts, HTTP 404 from the server", {"TS2345", "index.ts", "HTTP 404"}),
        ("Deploy on a Tuesday. Tell the team first.", set[str]()),
        ("Look at https://example.com/page for more", set[str]()),
    ],
)
def test_files_and_error_codes_are_named(text: str, names: set[str]) -> None:
    assert {link.to_id for link in named(text)} == names


@one_era
async def test_two_lessons_that_name_the_same_file_are_neighbors(client: Client) -> None:
    one = await told(client, "store_lesson", {"mistake": "Edited src/app.py by hand", "correction": "Generate it"})
    other = await told(client, "store_lesson", {"mistake": "Deleted src/app.py", "correction": "Restore it from git"})
    shown = await read(client, f"lesson://{one['lesson_id']}/neighbors")
    (near,) = shown["neighbors"]
    assert (near["id"], near["relation"], near["through"]) == (other["lesson_id"], "shares", "file src/app.py")
    of_file = await read(client, "graph://file/src/app.py")
    assert {near["id"] for near in of_file["neighbors"]} == {one["lesson_id"], other["lesson_id"]}


@one_era
async def test_a_learnt_lesson_leads_to_its_reflection_and_its_tool(client: Client) -> None:
    run = await told(client, "reflect", FAILED_RUN)
    (learnt,) = run["lessons"]
    shown: dict[str, Any] = await read(client, f"lesson://{learnt['id']}")
    assert run["reflection_id"] in {near["id"] for near in shown["neighbors"]}
    of_tool = await read(client, "graph://tool/read_file")
    assert {learnt["id"], run["reflection_id"]} <= {near["id"] for near in of_tool["neighbors"]}


async def test_an_edited_lesson_is_tied_to_what_it_names_now(engine: Engine) -> None:
    one = await engine.store_lesson(mistake="Edited src/app.py by hand", correction="Generate it")
    await engine.edit_lesson(one.lesson_id, {"mistake": "Edited src/rows.py by hand, error E4012"})
    links = await engine.bank.lessons.links(engine.scopes.own, one.lesson_id)
    assert {link["to_id"] for link in links if link["relation"] == "mentions"} == {"src/rows.py", "E4012"}


async def test_lessons_and_strategies_lead_to_the_events_that_they_came_from(engine: Engine) -> None:
    run = await engine.reflect(
        **FAILED_RUN, analysis={"reflection": "A typo", "strategy": "List orders/app.toml first"}
    )
    assert run.strategy_id is not None
    ties = await engine.bank.lessons.links(engine.scopes.own, run.strategy_id)
    assert {"relation": "mentions", "to_kind": "file", "to_id": "orders/app.toml"} in ties
    for name in (run.strategy_id, *(lesson.id for lesson in run.lessons)):
        ties = await engine.bank.lessons.links(engine.scopes.own, name)
        events = {tie["to_id"] for tie in ties if tie["to_kind"] == "event"}
        assert events == {f"{run.reflection_id}/{event}" for event in run.source_event_ids}
        assert events


@one_era
async def test_a_lesson_shows_its_rate(client: Client) -> None:
    one = await told(client, "store_lesson", {"mistake": "Edited src/app.py by hand", "correction": "Generate it"})
    before = (await read(client, f"lesson://{one['lesson_id']}"))["effectiveness_estimate"]
    assert before == {"mean": 0.5, "harmful": False}
    proof = {"evidence": "test", "tool_results": [{"tool": "pytest", "content": "ok", "exit_code": 0}]}
    await told(client, "record_outcome", {"success": True, "lesson_ids": [one["lesson_id"]], **proof})
    after = (await read(client, f"lesson://{one['lesson_id']}"))["effectiveness_estimate"]
    assert after["mean"] > before["mean"]
