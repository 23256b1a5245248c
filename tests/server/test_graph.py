"""The graph: one step from a record to its neighbors."""

from typing import Any

from mcp import Client

from mcp_reflect.services.engine import Engine
from tests.conftest import one_era
from tests.server.calls import FAILED_RUN, told
from tests.server.test_resources import read


@one_era
async def test_a_learnt_lesson_leads_to_its_reflection_and_its_tool(client: Client) -> None:
    run = await told(client, "reflect", FAILED_RUN)
    (learnt,) = run["lessons"]
    shown: dict[str, Any] = await read(client, f"lesson://{learnt['id']}")
    assert run["reflection_id"] in {near["id"] for near in shown["neighbors"]}
    of_tool = await read(client, "graph://tool/read_file")
    assert {learnt["id"], run["reflection_id"]} <= {near["id"] for near in of_tool["neighbors"]}


async def test_lessons_and_strategies_lead_to_the_events_that_they_came_from(engine: Engine) -> None:
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
    one = await told(client, "store_lesson", {"mistake": "Edited src/app.py by hand", "correction": "Generate it"})
    before = (await read(client, f"lesson://{one['lesson_id']}"))["effectiveness_estimate"]
    assert before == {"mean": 0.5, "harmful": False}
    proof = {"evidence": "test", "tool_results": [{"tool": "pytest", "content": "ok", "exit_code": 0}]}
    await told(client, "record_outcome", {"success": True, "lesson_ids": [one["lesson_id"]], **proof})
    after = (await read(client, f"lesson://{one['lesson_id']}"))["effectiveness_estimate"]
    assert after["mean"] > before["mean"]
