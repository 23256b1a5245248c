"""Calls as agents send them: understood in every form, or refused by the field's name, with what to send instead."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.server.app import build
from mcp_reflect.server.catalog import TOOLS, ToolSpec
from mcp_reflect.server.stdio import session
from mcp_reflect.services.engine import Engine
from tests.conftest import one_era
from tests.server.calls import FAILED_RUN, LESSON, answered, contents, refused, told
from tests.server.varied_calls import CALLS, RECORDED, VARIATIONS, read_calls, varied

RUN: dict[str, Any] = {"task": "Do it", "outcome": "failure"}
GIVEN: dict[str, Any] = {"reflection": "It broke"}
EVENT: dict[str, Any] = {"type": "observation", "content": "x"}


def events(*changes: dict[str, Any]) -> dict[str, Any]:
    return {**RUN, "events": [{**EVENT, **change} for change in changes]}


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("reflect", {}, "task: it is missing. Send task, outcome and analysis or events, or the reflection_id"),
    ("reflect", {"task": "Do it"}, "outcome: it is missing."),
    ("reflect", {"task": "Do it", "outcome": 7}, "outcome: '7' is not one of its values. Send task, outcome and"),
    ("reflect", {**RUN, "task": "x" * 20_001}, "task: it has 20001 characters. Send at most 20000."),
    ("reflect", {**RUN, "task": "a\0b"}, "task: it holds a NUL byte at character 1."),
    ("reflect", {**RUN, "task": "ab\ud800"}, "task: it holds half of a character (a lone surrogate) at 2."),
    ("reflect", events({"content": "a\0"}), "events[0].content: it holds a NUL byte"),
    ("reflect", events({"metadata": {"a": ["\udc80"]}}), "events[0].metadata.a[0]: it holds half of a character"),
    ("reflect", {**RUN, "analysis": '["a\\u0000b"]'}, "arguments[0]: it holds a NUL byte"),
    ("reflect", {**RUN, "analysis": {}}, "analysis: says nothing of the run"),
    ("reflect", {**RUN, "analysis": {"mistake": "x", "correction": "y"}}, "analysis: says nothing of the run"),
    ("reflect", {"reflection_id": "ref_none"}, "analysis: it is missing beside reflection_id."),
    ("reflect", {"reflection_id": "ref_none", "analysis": "It broke"}, "reflection_id: there is no 'ref_none'"),
    ("reflect", {**RUN, "recall_id": "rec_none"}, "recall_id: there is no 'rec_none' in project app."),
    ("reflect", {**RUN, "related_ids": ["les_none"]}, "related_ids[0]: there is no 'les_none' in project app."),
    ("reflect", {**RUN, "project": "elsewhere"}, "project: 'elsewhere' is not one that this server may use."),
    ("should_reflect", {}, "confidence: it is missing."),
    ("should_reflect", {"confidence": "banana"}, "confidence: it is text, not a number."),
    ("critique", {"response": ""}, "response: it is empty. Send the work to check."),
    ("critique", {"critique_id": "crit_none"}, "verdicts: it is missing beside critique_id."),
    ("recall_lessons", {}, "task: it is missing. Send it."),
    ("recall_lessons", {"tusk": "x"}, "task: it is missing. Send it. Unknown arguments: tusk."),
    ("recall_lessons", {"task": " \n\t"}, "task: it is empty. Send text."),
    ("recall_lessons", {"task": "\u200b\u2060"}, "task: it is empty. Send text."),
    ("store_lesson", {"tags": ["x"]}, "lesson: it is missing."),
    ("store_lesson", {"mistake": "x", "correction": "y"}, "mistake: it has no content."),
    ("store_lesson", {**LESSON, "symptoms": ["x"] * 21}, "symptoms: it has 21 items. Send at most 20."),
    ("record_outcome", {"success": True}, "recall_id: it is missing, and so is lesson_ids."),
    ("record_outcome", {"success": "maybe", "recall_id": "r"},
     "success: 'maybe' is not one of its values. Send helped, irrelevant, wrong or partial."),
    ("record_outcome", {"success": True, "recall_id": "rec_none"}, "recall_id: there is no 'rec_none' in project app."),
    ("record_outcome", {"success": True, "lesson_ids": ["les_none"]}, "lesson_ids[0]: there is no 'les_none'"),
    ("forget_lesson", {"lesson_id": "les_none", "reason": "x"}, "lesson_id: there is no 'les_none' in project app."),
    ("recal_lessons", {"task": "x"}, "name: there is no tool 'recal_lessons'. Did you mean 'recall_lessons'?"),
]  # fmt: skip

UNDERSTOOD: list[tuple[str, dict[str, Any], str | None]] = [
    ("reflect", {**RUN, "outcome": "sucess"}, None),
    ("reflect", {**FAILED_RUN, "outcome": 7}, "outcome: '7' is not one of its values"),
    ("reflect", {**RUN, "colour": "x"}, "colour: no such argument"),
    ("reflect", {**RUN, "self": 1}, "self: no such argument"),
    ("reflect", {**RUN, "applied": True}, "applied: no such argument"),
    ("reflect", {**RUN, "event": [EVENT]}, None),
    ("reflect", {**RUN, "task": 3}, None),
    ("reflect", {**RUN, "task_description": "Do that"}, "task_description: task was sent too"),
    ("reflect", {**RUN, "events": "$ make"}, None),
    ("reflect", {**RUN, "events": "it broke"}, None),
    ("reflect", {"execution": {"status": "success"}}, None),
    (
        "reflect",
        events({"content": "x", "timestamp": {"s": 1}}, {"content": "y", "metadata": "second"}),
        None,
    ),
    ("recall_lessons", {"task": "x", "symptoms": {"error": "No rule", "code": 2}}, None),
    ("store_lesson", {**LESSON, "tags": {"area": "make"}}, None),
    ("reflect", {**RUN, "events": "make: Nothing to be done\nmake: No rule for 'x'"}, None),
    ("reflect", {**RUN, "events": ["it broke"]}, None),
    ("reflect", events({}, {"content": ""}), "events[1]: it has neither content, tool nor error"),
    (
        "reflect",
        {**RUN, "events": [{"tool": "Bash", "arguments": {"command": "true"}}, {"content": ""}]},
        None,
    ),
    ("reflect", events({"type": "toolcall"}), None),
    ("reflect", events({"id": "a"}, {"id": "b"}, {"id": "a"}), None),
    (
        "reflect",
        {**RUN, "error": {"category": "bad luck"}},
        "error.category: bad luck is not one of its values",
    ),
    ("reflect", {**RUN, "error": {"category": ["bad luck"]}}, "error.category: "),
    (
        "reflect",
        {**FAILED_RUN, "analysis": {**GIVEN, "source_event_ids": ["e9"]}},
        "analysis.source_event_ids: cites",
    ),
    (
        "reflect",
        {**FAILED_RUN, "analysis": {"reflection": "It broke at [e9]"}},
        "analysis.reflection: cites event e9",
    ),
    (
        "reflect",
        {**RUN, "analysis": {**GIVEN, "importance": 1.2}},
        "analysis.importance: 1.2 is too large, 1 used",
    ),
    ("reflect", {**RUN, "analysis": {"mood": "bad", **GIVEN}}, None),
    ("recall_lessons", {"task": "x", "limit": 0}, "limit: 0 is too small, 1 used"),
    ("recall_lessons", {"task": "x", "limit": 51}, "limit: 51 is too large, 50 used"),
    ("recall_lessons", {"task": "x", "limit": 1.5}, "limit: 1.5 is not a whole number"),
    (
        "recall_lessons",
        {"task": "x", "kinds": ["lessn"]},
        "kinds[0]: 'lessn' is not one of its values",
    ),
    ("recall_lessons", {"task": "x", "min_importance": 20}, None),
    (
        "recall_lessons",
        {"task": "x", "max_chars": 100_001},
        "max_chars: 100001 is too large, 100000 used",
    ),
    ("store_lesson", {**LESSON, "importance": -1}, "importance: -1 is too small, 0 used"),
    ("store_lesson", {**LESSON, "importance": "high"}, None),
    ("store_lesson", {**LESSON, "visibility": "all"}, "visibility: 'all' is not one of its values"),
    ("store_lesson", {**LESSON, "tags": [""]}, None),
]


async def test_what_cannot_be_used_is_refused_by_field_with_an_example_and_stores_nothing(
    client: Client, engine: Engine
) -> None:
    await told(client, "reflect", FAILED_RUN)
    before = await contents(engine)
    said = {
        place: await refused(client, tool, arguments)
        for place, (tool, arguments, _) in enumerate(REFUSED)
    }
    assert await contents(engine) == before
    wrong = [
        (said[place], start)
        for place, (_, _, start) in enumerate(REFUSED)
        if not said[place].startswith(start)
    ]
    assert wrong == []
    assert [one for one in said.values() if len(one) > 600] == []
    taught = [one for one in said.values() if "it is missing" in one or one.startswith("events[")]
    assert [one for one in taught if "Example: {" not in one] == []
    examples = [
        (one, json.loads(one.partition(" Example: ")[2]))
        for one in said.values()
        if " Example: " in one
    ]
    assert [one for one, example in examples if re.split(r"[.\[:]", one)[0] not in example] == []


@one_era
async def test_an_example_goes_on_from_what_was_sent(client: Client) -> None:
    later = await refused(
        client, "critique", {"critique_id": "crit_none", "analysis": {"quality_score": "banana"}}
    )
    assert "critique_id: there is no 'crit_none'" in later
    later = await refused(client, "reflect", {"reflection_id": "ref_none"})
    assert 'Example: {"reflection_id": ' in later
    first = await refused(client, "reflect", {"task": "Do it"})
    assert 'Example: {"task": ' in first


@one_era
@pytest.mark.parametrize("spec", TOOLS, ids=lambda spec: spec.name)
async def test_each_example_is_a_call_that_works(client: Client, spec: ToolSpec) -> None:
    critique = {"goal": "Run the tests", "steps": ["All 12 tests pass"]}
    ids = {
        "ref_…": (await told(client, "reflect", FAILED_RUN))["reflection_id"],
        "crit_…": (await told(client, "critique", critique))["critique_id"],
        "srch_…": (await told(client, "replan_search", {"queries": ["orders last week"]}))[
            "search_id"
        ],
        "les_…": (await told(client, "store_lesson", LESSON))["lesson_id"],
        "rec_…": (await told(client, "recall_lessons", {"task": LESSON["mistake"]}))["recall_id"],
    }
    for text in (json.dumps(example, ensure_ascii=False) for example in spec.examples):
        for name, known in ids.items():
            text = text.replace(name, known)  # noqa: PLW2901 - the example with ids that exist
        assert "ignored" not in await told(client, spec.name, json.loads(text))


@one_era
@pytest.mark.parametrize(("tool", "arguments", "note"), UNDERSTOOD)
async def test_what_can_be_understood_is_used_and_the_rest_is_named(
    client: Client, tool: str, arguments: dict[str, Any], note: str | None
) -> None:
    ignored = (await told(client, tool, arguments)).get("ignored", [])
    assert len(ignored) == (note is not None)
    assert all(one.startswith(str(note)) for one in ignored)


@one_era
async def test_an_exit_code_may_be_text(client: Client) -> None:
    events = [
        {"tool": "Bash", "arguments": {"command": "make"}},
        {"content": "odd", "exit_code": "2"},
    ]
    assert (await told(client, "reflect", {**RUN, "events": events}))["first_failing_event"] == "e2"


def nested(depth: int) -> Any:
    value: Any = "bottom"
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("change", "start"),
    [
        ({"analysis": nested(10_000)}, "analysis[0]"),
        (events({"arguments": nested(10_000)}), "events[0].arguments[0]"),
        (events({"role": "user", "content": nested(10_000)}), "events[0].content[0]"),
        (events({"metadata": {"a": {"b": nested(100)}}}), "events[0].metadata.a.b[0]"),
        (events({"arguments": {"\ud800": 1}}), "events[0].arguments: it holds half of a character"),
        (events({"metadata": {"a": float("nan")}}), "events[0].metadata.a: nan is not a number."),
        (
            {"execution": {"metrics": {"latency": float("nan")}}},
            "execution.metrics.latency: nan is not a number",
        ),
        (events({"timestamp": float("inf")}), "events[0].timestamp: inf is not a number."),
        (
            {"analysis": {"reflection": "x", "importance": float("-inf")}},
            "analysis.importance: -inf is not a number.",
        ),
        (
            events({"arguments": {"n": 10**5000}}),
            "events[0].arguments.n: it is a number of more than 300 digits.",
        ),
    ],
)
async def test_what_no_json_carries_is_refused_by_the_engine_too(
    engine: Engine, change: dict[str, Any], start: str
) -> None:
    with pytest.raises(InputError) as caught:
        await engine.reflect(**{**RUN, **change})
    assert str(caught.value).startswith(start)
    assert (await engine.get_stats())["total_reflections"] == 0


@pytest.mark.parametrize(
    "big",
    [
        {"events": [{**EVENT, "content": "ab cd " * 1_700_000}]},
        {"events": [{**EVENT, "arguments": {"a": ["ab cd " * 1_700_000]}}]},
        {"error": {"message": "ab cd " * 1_700_000}},
        {"error": {"message": "x", "context": ["ab cd " * 20] * 85_000}},
    ],
    ids=["content", "arguments", "error message", "error context"],
)
async def test_ten_megabytes_are_cut_and_the_result_says_how_much(
    engine: Engine, bank_path: Path, big: dict[str, Any]
) -> None:
    found = await engine.reflect(**RUN, **big)
    assert found.cut["characters"] > 8_000_000
    stored = await engine.bank.reflections.by_id(engine.scopes.own, found.reflection_id)
    assert isinstance(stored.trace, dict)
    assert stored.trace["cut"] == found.cut
    assert sum(path.stat().st_size for path in bank_path.parent.iterdir()) < 1_000_000


async def test_a_run_of_too_many_events_loses_its_middle(engine: Engine) -> None:
    found = await engine.reflect(
        **RUN, events=[{**EVENT, "content": str(place)} for place in range(5000)]
    )
    stored = await engine.bank.reflections.by_id(engine.scopes.own, found.reflection_id)
    assert isinstance(stored.trace, dict)
    kept: Any = stored.trace["events"]
    assert found.cut == {"events": 4000, "characters": 0}
    assert (kept[0]["id"], kept[-1]["id"], len(kept)) == ("e1", "e5000", 1000)


@one_era
async def test_a_lesson_that_a_recall_did_not_show_gets_no_outcome_of_it(client: Client) -> None:
    await told(client, "store_lesson", LESSON)
    other = await told(
        client,
        "store_lesson",
        {"mistake": "Mixed tabs and blanks", "correction": "Run the formatter"},
    )
    found = await told(client, "recall_lessons", {"task": "get the orders of a customer"})
    call = {"success": True, "recall_id": found["recall_id"], "lesson_ids": [other["lesson_id"]]}
    assert (await refused(client, "record_outcome", call)).startswith("lesson_ids[0]: ")


@one_era
@pytest.mark.parametrize("kind", ["unwritable", "no bank"])
async def test_a_bank_that_cannot_be_used_is_told_with_its_path(
    tmp_path: Path, era: Any, kind: str
) -> None:
    (tmp_path / "file").write_text("a file of somebody")
    bank = tmp_path / "file" / "bank.db" if kind == "unwritable" else tmp_path / "file"
    async with (
        Engine(Settings(bank=bank, project="app")) as engine,
        Client(build(engine=engine), mode=era) as client,
    ):
        for tool, arguments in (
            ("store_lesson", LESSON),
            ("reflect", FAILED_RUN),
            ("recall_lessons", {"task": "x"}),
        ):
            said = await refused(client, tool, arguments)
            assert str(bank) in said
            assert "Set MCP_REFLECT_BANK to" in said
    assert (tmp_path / "file").read_text() == "a file of somebody"


WRITTEN = read_calls(CALLS)
AT_WORK = read_calls(RECORDED)
SHORT = {"recall_lessons": 350, "reflect": 1200, "record_outcome": 200, "store_lesson": 340}


@one_era
async def test_every_form_of_a_call_that_can_be_understood_is_answered_in_short(
    client: Client,
) -> None:
    for call in [*WRITTEN[:5], *WRITTEN[60::2]]:
        for name, values in varied(call):
            lesson = (await answered(client, "store_lesson", LESSON))["lesson_id"]
            answer = await answered(
                client, call["tool"], json.loads(json.dumps(values).replace("$lesson", lesson))
            )
            hits: list[dict[str, str]] | None = (
                answer.get("lessons") if call["tool"] == "recall_lessons" else None
            )
            texts = sum(len(hit["text"]) for hit in hits or [])
            answer.pop("ignored", None)
            size = len(json.dumps(answer, ensure_ascii=False, separators=(",", ":"))) - texts
            assert size <= SHORT.get(call["tool"], 2000), (call["tool"], name, answer)


@one_era
async def test_what_is_sent_beside_an_analysis_or_an_error_is_used(client: Client) -> None:
    said = {
        "analysis": {"mistake": "Typed `make deply`"},
        "correction": "Type `make deploy`",
        "importance": "high",
    }
    run = [
        {"tool": "bash", "arguments": {"command": "make deply"}},
        {"error": True, "content": "No rule for deply"},
    ]
    found = await told(
        client, "reflect", {"outcome": "failure", "events": run, **said, "detail": True}
    )
    assert (len(found["lessons"]), found.get("ignored")) == (1, None)
    by_rules = await told(
        client, "reflect", {"task": "Deploy it", "outcome": "failure", "events": run}
    )
    assert "No rule for deply" in by_rules["reflection"]
    outcome = {"lesson_ids": [found["lessons"][0]["id"]], "success": "helped - it worked at once"}
    assert await told(client, "record_outcome", outcome)


async def test_three_hits_carry_350_characters_beside_their_texts_on_average(
    client: Client,
) -> None:
    for call in WRITTEN:
        if "lesson" in call:
            await answered(client, "store_lesson", {"lesson": call["lesson"]})
    sizes: list[int] = []
    for call in WRITTEN:
        if "lesson" in call:
            answer = await answered(client, "recall_lessons", {"task": call["lesson"], "limit": 3})
            texts = sum(
                len(json.dumps(hit["text"], ensure_ascii=False)) - 2 for hit in answer["lessons"]
            )
            sizes.append(len(json.dumps(answer, ensure_ascii=False, separators=(",", ":"))) - texts)
    assert sum(sizes) / len(sizes) <= 350
    assert max(sizes) <= 400


@one_era
async def test_every_recorded_call_that_can_be_understood_is_answered(client: Client) -> None:
    for call in AT_WORK:
        await answered(client, call["tool"], call["arguments"])


@one_era
@pytest.mark.parametrize(
    ("analysis", "text"),
    [
        (
            {"what_went_wrong": "pytest ran in the root", "what_to_do": "run it in api"},
            "run it in api",
        ),
        ({"problem": "pytest ran in the root", "next_time": "run it in api"}, "run it in api"),
        ({"mistake": "pytest ran in the root", "solution": "run it in api"}, "run it in api"),
        ({"issue": "pytest ran in the root", "correction": "run it in api"}, "run it in api"),
    ],
)
async def test_a_mistake_and_its_correction_make_a_lesson_by_the_names_that_agents_give_them(
    client: Client, analysis: dict[str, str], text: str
) -> None:
    reflection = await answered(
        client, "reflect", {"task": "Run the tests", "outcome": "partial", "analysis": analysis}
    )
    assert [lesson["status"] for lesson in reflection["lessons"]] == ["stored"]
    recalled = await answered(client, "recall_lessons", {"task": "pytest ran in the root"})
    assert text in recalled["lessons"][0]["text"]


@one_era
async def test_an_analysis_without_a_lesson_is_kept_and_says_so(client: Client) -> None:
    analysis = {"impression": "the tests were slow", "importance": "high"}
    answer = await answered(
        client, "reflect", {"task": "Run the tests", "outcome": "success", "analysis": analysis}
    )
    assert answer["note"].startswith("no lesson")
    assert "ignored" not in answer


@one_era
async def test_a_recall_that_finds_nothing_says_so(client: Client) -> None:
    assert (await answered(client, "recall_lessons", {"task": "deploy the shop"}))["lessons"] == []


@one_era
async def test_criteria_alone_do_not_bring_every_detail(client: Client) -> None:
    call = {
        "goal": "Add",
        "response": "12 + 30 = 42 apples in all",
        "criteria": ["figures are right"],
    }
    assert not {"tokens", "iterations", "basis"} & set(await answered(client, "critique", call))


@one_era
async def test_an_outcome_in_a_sentence_and_counts_by_query_are_understood(client: Client) -> None:
    lesson = (await answered(client, "store_lesson", LESSON))["lesson_id"]
    assert (await answered(client, "record_outcome", {"success": "yes, it helped", "id": lesson}))[
        "lessons"
    ] == 1
    tried = {"goal": "find the orders", "tried": ["orders of may", "may orders"], "hits": [0, 0]}
    assert (await answered(client, "replan_search", tried))["new_queries"]


@pytest.mark.long
async def test_twenty_tasks_of_an_agent_that_sends_other_forms_lose_no_lesson(
    tmp_path: Path,
) -> None:
    told = [call for call in [*AT_WORK, *WRITTEN] if "lesson" in call][:20]
    forms = [
        "as sent",
        "objects as Python text",
        "analysis beside",
        "task left out",
        "problem and solution",
    ]
    async with session(
        {"MCP_REFLECT_BANK": str(tmp_path / "bank.db"), "MCP_REFLECT_PROJECT": "app"}
    ) as server:
        for place, call in enumerate(told):
            form = "as sent" if call in AT_WORK else forms[place % len(forms)]
            await server(call["tool"], VARIATIONS[form](call["arguments"]))
        for call in told:
            recalled = await server("recall_lessons", {"task": call["lesson"], "limit": 5})
            assert call["lesson"] in " ".join(hit["text"] for hit in recalled["lessons"])
