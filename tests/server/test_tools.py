"""Each tool as a host calls it, in both eras of the protocol, and what the host is told of the tools."""

import json
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any, cast

import pytest
from mcp import Client

from mcp_reflect.config import Settings
from mcp_reflect.server.app import ALWAYS_LOADED, INSTRUCTIONS, build
from mcp_reflect.server.catalog import TOOLS as CATALOGUE
from mcp_reflect.services.engine import Engine
from tests.conftest import one_era
from tests.secrets import SECRETS
from tests.server.calls import ANALYSIS as SETTINGS_FILE
from tests.server.calls import FAILED_RUN, LESSON, answered, contents, refused, told
from tests.server.generate import ROOT, files, tools_text

ANALYSIS: dict[str, Any] = {
    "reflection": "The name was sent where an id is needed",
    "strategy": "Look up ids before calling get_orders",
    "importance": 0.8,
    "confidence": 0.9,
    "mistake": "Sent the customer's name to get_orders",
    "correction": "Send the id that find_customer gives",
    "tags": ["ids"],
}


async def test_the_whole_loop_goes_through_five_tools(client: Client) -> None:
    reflected = await told(client, "reflect", FAILED_RUN)
    sent = {"reflection_id": reflected["reflection_id"], "analysis": SETTINGS_FILE}
    analyzed = await told(client, "reflect", sent)
    stored = await told(client, "store_lesson", LESSON)
    assert (stored["status"], stored["scope"]) == ("stored", "project app")
    recalled = await told(
        client, "recall_lessons", {"task": "read settings, get the orders of a customer"}
    )
    assert stored["lesson_id"] in [hit["id"] for hit in recalled["lessons"]]
    updated = await told(
        client, "record_outcome", {"success": True, "recall_id": recalled["recall_id"]}
    )
    assert all(
        one["effectiveness"] > 0.5 and one["times_applied"] == 1 for one in updated["updated"]
    )
    learnt = await told(client, "recall_lessons", {"task": "read orders/setings.toml"})
    assert analyzed["lessons"][0]["id"] in [hit["id"] for hit in learnt["lessons"]]
    forgotten = await told(
        client, "forget_lesson", {"lesson_id": stored["lesson_id"], "reason": "wrong"}
    )
    assert forgotten == {
        "lesson_id": stored["lesson_id"],
        "state": "retired",
        "scope": "project app",
    }
    again = await told(client, "recall_lessons", {"task": "get the orders of a customer"})
    assert stored["lesson_id"] not in [hit["id"] for hit in again.get("lessons", [])]


@one_era
async def test_rules_say_what_failed_store_no_lesson_and_ask_for_one(client: Client) -> None:
    found = await told(client, "reflect", FAILED_RUN)
    assert (found["thinker"], found["first_failing_event"]) == ("rules", "e2")
    assert found["error_category"] == "not_found_error"
    assert {"not_found", "read_file"} <= set(found["tags"])
    assert 'read_file "orders/setings.toml" failed (e2)' in found["reflection"]
    assert not {"lessons", "strategy"} & set(found)
    assert found["next"]["send"].startswith(
        "reflection_id with analysis {mistake, correction, strategy}"
    )
    assert "lessons" not in await told(client, "recall_lessons", {"task": FAILED_RUN["task"]})


@one_era
@pytest.mark.parametrize("events", [4, 100])
async def test_an_answer_of_rules_stays_within_1200_characters(client: Client, events: int) -> None:
    run = {
        **FAILED_RUN,
        "error": {"message": "The settings are not there. " * 200},
        "events": [
            dict(event, id=f"{place:036d}") for place, event in enumerate(FAILED_RUN["events"] * 25)
        ][:events],
    }
    found = await answered(client, "reflect", run)
    assert len(json.dumps(found, ensure_ascii=False, separators=(",", ":"))) <= 1200


@one_era
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("store_lesson", {**LESSON, "why": SECRETS["password"]}),
        ("reflect", {**FAILED_RUN, "analysis": {**ANALYSIS, "why": SECRETS["password"]}}),
        (
            "record_outcome",
            {"lesson_ids": ["LESSON"], "success": True, "note": SECRETS["password"]},
        ),
    ],
)
async def test_an_answer_says_in_one_line_what_was_cut_out_and_where(
    client: Client, tool: str, arguments: dict[str, Any]
) -> None:
    stored = await told(client, "store_lesson", LESSON)
    if "lesson_ids" in arguments:
        arguments = {**arguments, "lesson_ids": [stored["lesson_id"]]}
    assert (await answered(client, tool, arguments))["redacted"].startswith("password in ")
    assert "redacted" not in stored


@one_era
async def test_the_same_run_again_is_the_same_reflection(client: Client, engine: Engine) -> None:
    first = await told(client, "reflect", FAILED_RUN)
    before = await contents(engine)
    assert await told(client, "reflect", FAILED_RUN) == first
    assert await contents(engine) == before


@one_era
async def test_an_analysis_at_once_is_kept_as_the_hosts(client: Client, engine: Engine) -> None:
    found = await told(
        client, "reflect", {**FAILED_RUN, "analysis": ANALYSIS, "trigger": "tool_failure"}
    )
    assert (found["thinker"], found["importance"], found["confidence"]) == ("host", 0.8, 0.9)
    assert found["triggered_by"] == "tool_failure"
    assert "next" not in found
    strategy = await engine.bank.lessons.get(engine.scopes.own, found["strategy_id"])
    assert (strategy.text, strategy.importance) == (ANALYSIS["strategy"], pytest.approx(0.88))
    assert "strategy" in strategy.tags


@one_era
async def test_a_lesson_has_a_why_only_where_the_agent_gave_one(
    client: Client, engine: Engine
) -> None:
    told_words = {
        "mistake": "Read orders/setings.toml",
        "correction": "Read settings.toml",
        "symptoms": ["No such file"],
    }
    for why in (None, "The name was misspelled."):
        found = await told(
            client, "reflect", {**FAILED_RUN, "analysis": {**told_words, "why": why}}
        )
        lesson = await engine.bank.lessons.get(engine.scopes.own, found["lessons"][0]["id"])
        assert lesson.why == why


async def test_a_second_call_needs_only_the_id_and_the_analysis(
    client: Client, engine: Engine
) -> None:
    first = await told(client, "reflect", FAILED_RUN)
    second = await told(
        client, "reflect", {"reflection_id": first["reflection_id"], "analysis": ANALYSIS}
    )
    assert second["reflection_id"] == first["reflection_id"]
    assert (second["thinker"], second["reflection"]) == ("host", ANALYSIS["reflection"])
    assert second["first_failing_event"] == "e2"
    scope = engine.scopes.own
    assert (await engine.bank.reflections.by_id(scope, first["reflection_id"])).version == 2
    (version,) = await engine.bank.lessons.history(scope, first["reflection_id"])
    assert (version["thinker"], version["reflection"]) == ("rules", first["reflection"])


@one_era
async def test_the_same_analysis_again_changes_nothing_and_another_is_the_next_version(
    client: Client, engine: Engine
) -> None:
    first = await told(client, "reflect", FAILED_RUN)
    call = {"reflection_id": first["reflection_id"], "analysis": ANALYSIS}
    second = await told(client, "reflect", call)
    before = await contents(engine)
    assert await told(client, "reflect", call) == second
    assert await contents(engine) == before
    third = await told(
        client, "reflect", {**call, "analysis": {**ANALYSIS, "strategy": "Ask for the id"}}
    )
    assert third["strategy_id"] != second["strategy_id"]
    assert (
        await engine.bank.reflections.by_id(engine.scopes.own, first["reflection_id"])
    ).version == 3
    active = await engine.bank.lessons.latest(engine.scopes.own, kind=None)
    assert [one.text for one in active if one.kind == "strategy"] == ["Ask for the id"]


@one_era
async def test_arguments_of_the_stored_run_may_be_sent_again_but_not_changed(
    client: Client, engine: Engine
) -> None:
    first = await told(client, "reflect", FAILED_RUN)
    call = {**FAILED_RUN, "reflection_id": first["reflection_id"], "analysis": ANALYSIS}
    before = await contents(engine)
    said = await refused(client, "reflect", {**call, "outcome": "success"})
    assert said.startswith(f"outcome: it differs from what {first['reflection_id']} holds.")
    said = await refused(client, "reflect", {**call, "events": FAILED_RUN["events"][:2]})
    assert said.startswith("events: it differs")
    assert await contents(engine) == before
    assert (await told(client, "reflect", call))["thinker"] == "host"


@one_era
async def test_names_of_older_engines_are_understood(client: Client) -> None:
    run = {
        "task_description": "Find it", "task_goal": "found", "session_id": "run 1", "outcome": "timeout",
        "events": [
            {"event_type": "error_event", "event_id": "one", "tool_name": "search", "error_message": "timed out"}
        ],
        "error": {"error_category": "timeout", "error_message": "timed out"},
        "analysis": {"reflection_text": "It was late.", "strategy_text": "Wait longer."},
    }  # fmt: skip
    found = await told(client, "reflect", run)
    assert (found["error_category"], found["first_failing_event"]) == ("timeout_error", "one")
    assert (found["reflection"], found["strategy"]) == ("It was late.", "Wait longer.")
    assert {"timeout", "search"} <= set(found["tags"])
    related = {"task": "Next", "outcome": "success", "related_memory_ids": [found["reflection_id"]]}
    again = await told(client, "reflect", {**related, "analysis": {"reflection": "Fine."}})
    assert again["related"] == [found["reflection_id"]]
    asked = await told(client, "should_reflect", {"confidence": 0.1, "session_id": "run 1"})
    assert asked["reflections_left"] == 1
    await told(client, "recall_lessons", {"query_text": "find it", "k": 1})


@one_era
@pytest.mark.parametrize(
    ("success", "effectiveness"),
    [("success", 0.545), ("partial", 0.5), ("failure", 0.455), (True, 0.545), ("TRUE", 0.545)],
)
async def test_an_outcome_is_told_by_any_of_its_words(
    client: Client, success: Any, effectiveness: float
) -> None:
    stored = await told(client, "store_lesson", LESSON)
    updated = await told(
        client, "record_outcome", {"success": success, "lesson_ids": [stored["lesson_id"]]}
    )
    assert updated["updated"][0]["effectiveness"] == pytest.approx(effectiveness)


@one_era
async def test_evidence_that_does_not_agree_counts_as_the_agents_own_word(
    client: Client, engine: Engine
) -> None:
    command = "pytest -q tests/orders"
    followed = await told(client, "store_lesson", {**LESSON, "right_call": command})
    await told(client, "recall_lessons", {"task": "get the orders of a customer"})
    await engine.after_call("Bash", {"command": command}, "done", session="s")
    sent = {"success": True, "lesson_ids": [followed["lesson_id"]], "evidence": "test"}
    proven = await told(
        client, "record_outcome", {**sent, "tool_results": [{"content": "done", "exit_code": 0}]}
    )
    assert (proven["evidence"], proven.get("reason")) == ("test", None)
    words = {"mistake": "Painted the shed at night", "correction": "Paint it by day"}
    stored = await told(client, "store_lesson", words)
    call = {"success": True, "lesson_ids": [stored["lesson_id"]]}
    for evidence, rest in (
        ("test", {}),
        ("metric", {"tool_results": [{"content": "1 failed", "exit_code": 1}]}),
        ("user", {"note": "they liked it"}),
    ):
        told_back = await told(client, "record_outcome", {**call, "evidence": evidence, **rest})
        assert (told_back["evidence"], bool(told_back["reason"])) == ("self", True)
    quoted = await told(
        client, "record_outcome", {**call, "evidence": "user", "note": 'She wrote "works now"'}
    )
    assert quoted["evidence"] == "told"


@one_era
async def test_recalling_and_looking_change_nothing_but_how_often_a_lesson_was_shown(
    client: Client, engine: Engine
) -> None:
    stored = await told(client, "store_lesson", LESSON)
    ((line,), _) = await contents(engine)
    await told(client, "recall_lessons", {"task": "get the orders of a customer", "limit": 50})
    await client.list_resources()
    await client.read_resource(f"lesson://{stored['lesson_id']}")
    assert (await contents(engine))[0] == [{**line, "times_applied": 1}]


@one_era
async def test_a_global_lesson_is_said_to_be_global_and_seen_in_every_project(
    client: Client,
) -> None:
    stored = await told(client, "store_lesson", {**LESSON, "visibility": "global"})
    assert stored["scope"] == "global"
    found = await told(
        client, "recall_lessons", {"task": "get the orders of a customer", "project": "other"}
    )
    assert [(hit["id"], hit["scope"]) for hit in found["lessons"]] == [
        (stored["lesson_id"], "global")
    ]
    assert found["scope"] == "project other"


async def test_a_fault_inside_a_tool_is_plain_words_to_the_model_and_a_line_in_the_log(
    settings: Settings, era: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    class Crashing(Engine):
        async def call(
            self, tool: str, arguments: Mapping[str, Any], client: Any = None, **more: Any
        ) -> Any:
            if tool == "store_lesson":
                raise ZeroDivisionError(len(arguments))
            return await super().call(tool, arguments, client, **more)

    async with Crashing(settings) as engine, Client(build(engine=engine), mode=era) as client:
        said = await refused(client, "store_lesson", LESSON)
        assert said == (
            "mcp-reflect failed inside store_lesson; nothing was stored. See its log for details."
        )
        assert (await told(client, "recall_lessons", {"task": "still here"}))["recall_id"]
    (line,) = [json.loads(one) for one in capfd.readouterr().err.splitlines()]
    assert (line["event"], line["level"], line["tool"]) == ("tool_failed", "error", "store_lesson")
    assert line["error"] == "ZeroDivisionError"
    assert "Traceback" in line["trace"]


async def test_what_happened_is_logged_with_fixed_keys(
    bank_path: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    async with Engine(Settings(bank=bank_path, project="app", log_level="info")) as engine:
        await engine.reflect(**FAILED_RUN)
        await engine.store_lesson(**LESSON)
    lines = [json.loads(one) for one in capfd.readouterr().err.splitlines()]
    keys = {line.pop("event"): set(line) - {"level", "timestamp"} for line in lines}
    assert keys == {
        "reflection_generation_started": {"tenant", "project", "outcome", "event_count"},
        "reflection_generated": {"importance", "confidence", "has_strategy"},
        "reflection_stored": {"reflection_id", "importance"},
        "lesson_stored": {"lesson_id", "status", "project"},
    }


TOOLS = tuple(spec.name for spec in CATALOGUE)


async def listed(client: Client) -> list[dict[str, Any]]:
    found = await client.list_tools()
    return [
        tool.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"meta"})
        for tool in found.tools
    ]


def schemas(value: Any) -> Iterator[dict[str, Any]]:
    """Every schema inside a schema; the names of properties are none."""
    if isinstance(value, dict):
        schema = cast("dict[str, Any]", value)
        yield schema
        for name, item in schema.items():
            for inner in cast("dict[str, Any]", item).values() if name == "properties" else (item,):
                yield from schemas(inner)
    if isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from schemas(item)


async def test_the_list_is_the_generated_file(client: Client) -> None:
    assert await listed(client) == json.loads(tools_text())
    assert tuple(tool["name"] for tool in await listed(client)) == TOOLS


@pytest.mark.parametrize("on", [True, False])
async def test_a_host_that_defers_tools_loads_those_that_the_server_names(
    settings: Settings, on: bool
) -> None:
    async with Client(build(replace(settings, always_load=on))) as client:
        found = (await client.list_tools()).tools
    loaded = {tool.name for tool in found if tool.meta == {"anthropic/alwaysLoad": True}}
    assert loaded == (set(ALWAYS_LOADED) if on else set())


def test_the_instructions_say_of_each_tool_in_one_sentence_when_to_call_it() -> None:
    sentences = INSTRUCTIONS.split(". ")
    assert [sum(f"Call {name} " in one for one in sentences) for name in TOOLS] == [1] * len(TOOLS)


def test_the_instructions_ask_for_a_person_s_rules_and_for_what_went_wrong_in_silence() -> None:
    corrections, tries = [one for one in INSTRUCTIONS.split(". ") if "rule" in one]
    assert "evidence user" in corrections
    assert "their words" in corrections
    assert "several tries" in tries
    assert "nothing failed" in tries


def test_every_generated_file_is_up_to_date() -> None:
    assert [
        name for name, text in files().items() if (ROOT / name).read_text(encoding="utf-8") != text
    ] == []


@one_era
async def test_the_list_of_eight_tools_fits_8000_bytes(client: Client) -> None:
    text = json.dumps(await listed(client), separators=(",", ":"), ensure_ascii=False)
    assert len(text.encode()) <= 8_000


@one_era
async def test_schemas_have_no_titles_no_references_and_no_unions_with_null(client: Client) -> None:
    for tool in await listed(client):
        for schema in [*schemas(tool["inputSchema"]), *schemas(tool["outputSchema"])]:
            assert not {"title", "$ref", "$defs", "anyOf", "oneOf", "additionalProperties"} & set(
                schema
            ), tool["name"]
            assert schema.get("type") != "null"
            assert "null" not in schema.get("type", ())


@one_era
async def test_results_are_described_one_level_deep(client: Client) -> None:
    for tool in await listed(client):
        assert {tuple(item) for item in tool["outputSchema"]["properties"].values()} == {("type",)}


@one_era
async def test_forgetting_alone_is_destructive_and_no_tool_reaches_beyond_the_bank(
    client: Client,
) -> None:
    hints = {tool["name"]: tool["annotations"] for tool in await listed(client)}
    read_only = {name for name, hint in hints.items() if hint.get("readOnlyHint")}
    assert read_only == {spec.name for spec in CATALOGUE if spec.read_only}
    assert {
        name for name, hint in hints.items() if hint.get("destructiveHint", name not in read_only)
    } == {"forget_lesson"}
    assert not any(hint["openWorldHint"] for hint in hints.values())


@one_era
@pytest.mark.parametrize(
    ("words", "tool"),
    [
        ("should I stop and think", "should_reflect"),
        ("look back on a failed run", "reflect"),
        ("learn from what went wrong in this task", "reflect"),
        ("check my answer before I send it", "critique"),
        ("review this plan", "critique"),
        ("verify code against tool results", "critique"),
        ("have I seen this error before, recall past mistakes", "recall_lessons"),
        ("lessons learned before I start a task", "recall_lessons"),
        ("my grep found nothing", "replan_search"),
        ("database search returned nothing, new queries", "replan_search"),
        ("remember this for later", "store_lesson"),
        ("record that a lesson helped", "record_outcome"),
        ("a lesson was irrelevant or wrong", "record_outcome"),
        ("forget an outdated lesson", "forget_lesson"),
    ],
)
async def test_a_search_by_a_persons_words_finds_the_tool(
    client: Client, words: str, tool: str
) -> None:
    with closing(
        sqlite3.connect(":memory:")
    ) as search:  # hosts that hide tools rank them by their words
        search.execute(
            "CREATE VIRTUAL TABLE tool USING fts5(name, description, tokenize='porter unicode61')"
        )
        search.executemany("INSERT INTO tool VALUES (:name, :description)", await listed(client))
        any_word = " OR ".join(re.findall(r"\w+", words))
        best = search.execute(
            "SELECT name FROM tool WHERE tool MATCH ? ORDER BY rank", (any_word,)
        ).fetchone()
    assert best == (tool,)


async def test_an_irrelevant_lesson_keeps_its_worth_and_nothing_is_said_of_a_new_one(
    client: Client,
) -> None:
    stored = await told(client, "store_lesson", LESSON)
    sent = {"success": "irrelevant", "lesson_ids": [stored["lesson_id"]]}
    result = await answered(client, "record_outcome", sent)
    assert "their worth is unchanged" in result["reason"]
    assert "counted" not in result
    await told(client, "record_outcome", {**sent, "success": "helped"})
    assert "counted" not in await answered(client, "record_outcome", sent)


async def test_tools_and_server_say_what_a_host_shows_a_person(client: Client) -> None:
    listed = (await client.list_tools()).tools
    titles = [tool.title or "" for tool in listed]
    assert all(0 < len(title) <= 24 for title in titles)
    assert len(set(titles)) == len(listed) == 8
    assert not any("resourceUri" in str(tool.meta) for tool in listed)  # no board unasked
    about = client.server_info
    if about is None:  # a server of 2026-07-28 is not introduced
        return
    assert (about.website_url or "").startswith("https://github.com/")
    (icon,) = about.icons or []
    assert icon.src.startswith("data:image/svg+xml,")
