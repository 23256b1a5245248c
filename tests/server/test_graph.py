"""The graph: what records name in common, and one step from one to its neighbours."""

from typing import Any

import pytest
from mcp import Client

from mcp_reflect.models.lesson import LessonDraft, RecallQuery, Trust
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.recalls import named
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


async def test_two_lessons_that_name_the_same_file_are_neighbours(client: Client) -> None:
    one = await told(client, "store_lesson", {"mistake": "Edited src/app.py by hand", "correction": "Generate it"})
    other = await told(client, "store_lesson", {"mistake": "Deleted src/app.py", "correction": "Restore it from git"})
    shown = await read(client, f"lesson://{one['lesson_id']}/neighbours")
    (near,) = shown["neighbours"]
    assert (near["id"], near["relation"], near["through"]) == (other["lesson_id"], "shares", "file src/app.py")
    of_file = await read(client, "graph://file/src/app.py")
    assert {near["id"] for near in of_file["neighbours"]} == {one["lesson_id"], other["lesson_id"]}


async def test_a_learnt_lesson_leads_to_its_reflection_and_its_tool(client: Client) -> None:
    run = await told(client, "reflect", FAILED_RUN)
    (learnt,) = run["lessons"]
    shown: dict[str, Any] = await read(client, f"lesson://{learnt['id']}")
    assert run["reflection_id"] in {near["id"] for near in shown["neighbours"]}
    of_tool = await read(client, "graph://tool/read_file")
    assert {learnt["id"], run["reflection_id"]} <= {near["id"] for near in of_tool["neighbours"]}


async def test_recall_shows_the_neighbours_of_a_lesson_and_how_they_are_tied(client: Client) -> None:
    one = await told(client, "store_lesson", {"mistake": "Edited src/app.py by hand", "correction": "Generate it"})
    other = await told(client, "store_lesson", {"mistake": "Deleted src/rows.py", "correction": "Restore src/app.py"})
    shown = await told(client, "recall_lessons", {"task": "Edit and generate by hand"})
    (hit,) = shown["lessons"]
    assert hit["id"] == one["lesson_id"]
    assert hit["related"] == [{"id": other["lesson_id"], "relation": "shares file"}]


async def test_recall_names_at_most_three_neighbours_and_none_that_it_would_not_show(engine: Engine) -> None:
    words = {"mistake": "Edited src/app.py by hand", "correction": "Generate it"}
    first = (await engine.store_lesson(**words)).lesson_id
    others = [
        (await engine.store_lesson(mistake=f"Broke src/app.py with {what}", correction=f"Repair {what}")).lesson_id
        for what in ("vinegar", "sandpaper", "thunder", "marmalade", "velvet")
    ]
    await engine.forget_lesson(lesson_id=others[0], reason="wrong")
    await engine.store_lesson(**words, project="other")
    own = engine.scopes.own
    draft = LessonDraft(text="a. b.", mistake="src/app.py a", correction="b", trust=Trust.QUARANTINED)
    waiting = (await engine.bank.lessons.store(own, draft)).lesson_id
    (hit,) = (await engine.recall(task="Edited by hand: generate", limit=1)).lessons
    assert hit.id == first
    assert len(hit.related) == 3
    assert {near.id for near in hit.related} <= set(others[1:]) - {waiting}


async def test_neighbours_take_only_the_room_that_the_texts_of_lessons_leave(engine: Engine) -> None:
    one = await engine.store_lesson(mistake="Edited src/app.py by hand", correction="Generate it")
    await engine.store_lesson(mistake="Deleted src/rows.py", correction="Restore src/app.py")
    text = (await engine.bank.lessons.get(engine.scopes.own, one.lesson_id)).text
    (hit,) = (await engine.recall(task="Edited by hand: generate", limit=1, max_chars=len(text) + 10)).lessons
    assert hit.related == ()
    (hit,) = (await engine.recall(task="Edited by hand: generate", limit=1)).lessons
    assert len(hit.related) == 1
    query = RecallQuery(task="Edited by hand: generate", limit=1, strong_only=True)  # a hook's, which shows none
    assert [hit.related for hit in (await engine.bank.recalls.recall(engine.scopes.own, query)).lessons] == [()]


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


async def test_a_lesson_shows_what_it_is_worth_with_its_interval_and_base_rate(client: Client) -> None:
    one = await told(client, "store_lesson", {"mistake": "Edited src/app.py by hand", "correction": "Generate it"})
    before = (await read(client, f"lesson://{one['lesson_id']}"))["effectiveness_estimate"]
    assert before["mean"] == before["base_rate"] == 0.5
    proof = {"evidence": "test", "tool_results": [{"tool": "pytest", "content": "ok", "exit_code": 0}]}
    await told(client, "record_outcome", {"success": True, "lesson_ids": [one["lesson_id"]], **proof})
    after = (await read(client, f"lesson://{one['lesson_id']}"))["effectiveness_estimate"]
    assert 0 < after["low"] < after["mean"] < after["high"] < 1
    assert after["mean"] > before["mean"]
    assert after["harmful"] is False
