"""What rules leave open goes to a judge, a model or the host, which must speak of each claim by its words."""

import json
import re
from typing import Any

import pytest
from mcp import Client
from mcp.types import CreateMessageRequestParams, CreateMessageResult, TextContent

from mcp_reflect.config import Settings
from mcp_reflect.models.critique import Critique
from mcp_reflect.server.app import build
from mcp_reflect.services.engine import Engine
from tests.scripted import Scripted
from tests.server.calls import refused, told

CACHE = "The cache is warm on every node."
QUEUE = "The queue keeps its order."
NODES = [{"tool": "status", "content": "node a: cache cold\nnode b: cache warm", "exit_code": 0}]
QUOTED = re.compile(r'"(.+)"')
WORK: dict[str, Any] = {"goal": "Report the nodes", "steps": [CACHE, QUEUE], "tool_results": NODES, "max_iterations": 0}


def reply(**verdicts: str) -> dict[str, Any]:
    claims = {"cache": CACHE, "queue": QUEUE}
    listed = [
        {"claim": claims[name], "shown_by": "node a: cache cold", "verdict": said} for name, said in verdicts.items()
    ]
    return {"claims": listed, "quality_score": 1, "issues": []}


async def judged(settings: Settings, said: Any) -> Critique:
    with Scripted(json.dumps(said)) as llm:
        async with Engine(Settings(bank=settings.bank, project="app"), llm=llm) as engine:
            found = await engine.critique(**WORK)
        assert f"- {CACHE}\n- {QUEUE}" in llm.asked[0].user
    return found


async def test_work_passes_when_the_model_settles_each_claim(settings: Settings) -> None:
    found = await judged(settings, reply(cache="supported", queue="opinion"))
    assert (found.passes_quality_gate, found.action, found.next) == (True, "keep", {})


async def test_a_contradicted_claim_is_an_issue_that_quotes_it_and_says_what_shows_it(settings: Settings) -> None:
    found = await judged(settings, reply(cache="contradicted", queue="supported"))
    assert (found.passes_quality_gate, found.issues) == (
        False,
        ("Step 1: The cache is warm on every node: contradicted (node a: cache cold)",),
    )


@pytest.mark.parametrize(("verdicts", "asked"), [({"cache": "supported"}, QUEUE), ({}, CACHE)])
async def test_a_claim_that_the_model_leaves_out_is_asked_for(settings: Settings, verdicts: Any, asked: str) -> None:
    found = await judged(settings, reply(**verdicts))
    assert (found.passes_quality_gate, found.action) == (None, "verify_first")
    assert f'what shows that "{asked}" holds?' in str(found.next["questions"])


async def test_a_claim_that_the_model_calls_unsupported_keeps_the_work_from_passing(settings: Settings) -> None:
    found = await judged(settings, reply(cache="supported", queue="unsupported"))
    assert (found.passes_quality_gate, found.issues) == (None, ())
    assert found.next["questions"] == [f'Step 2: what shows that "{QUEUE}" holds?']


async def test_a_verdict_on_half_a_claim_settles_it_and_one_on_a_word_of_it_does_not(settings: Settings) -> None:
    for part, passes in [("The cache is warm", True), ("cache", None)]:
        said = {"claims": {part: "supported", QUEUE: "supported"}, "quality_score": 1}
        assert (await judged(settings, said)).passes_quality_gate is passes


async def test_prose_without_results_and_numbers_needs_no_verdict_on_each_line(settings: Settings) -> None:
    with Scripted(json.dumps({"quality_score": 1.0})) as llm:
        async with Engine(Settings(bank=settings.bank, project="app"), llm=llm) as engine:
            found = await engine.critique(goal="A poem", steps=["Roses are red", "Violets are blue"])
    assert found.passes_quality_gate is True


async def test_the_host_judges_each_claim_by_its_words(client: Client) -> None:
    first = await told(client, "critique", WORK)
    assert [QUOTED.search(question) for question in first["next"]["questions"]] != [None, None]
    call = {"critique_id": first["critique_id"]}
    claims = {CACHE: "contradicted: node a is cold", QUEUE: {"verdict": "supported", "shown_by": None}}
    found = await told(client, "critique", {**call, "analysis": {"claims": claims}})
    assert found["issues"] == ["Step 1: The cache is warm on every node: contradicted (node a is cold)"]
    assert (found["action"], found["passes_quality_gate"]) == ("revise", False)


async def test_the_host_that_approves_of_the_whole_is_asked_again_for_each_claim(client: Client) -> None:
    first = await told(client, "critique", WORK)
    call = {"critique_id": first["critique_id"]}
    found = await told(client, "critique", {**call, "analysis": {"quality_score": 1, "issues": []}})
    assert (found["action"], found["next"]["questions"]) == ("verify_first", first["next"]["questions"])
    assert found["retry_guidance"].startswith("Still open: 2. ")
    assert found["next"]["send"] == first["next"]["send"]
    found = await told(client, "critique", {**call, "analysis": {"claims": {CACHE: "supported: b is warm"}}})
    assert [QUEUE in question for question in found["next"]["questions"]] == [True]
    assert "send" not in found["next"]  # the host has judged a claim, so it knows the form
    found = await told(client, "critique", {**call, "analysis": {"claims": {QUEUE: "supported"}}})
    assert (found["action"], found["passes_quality_gate"]) == ("keep", True)


async def test_more_claims_than_questions_are_judged_in_several_calls(client: Client) -> None:
    names = ["queue", "cache", "index", "disk", "socket", "buffer", "ledger"]
    found = await told(client, "critique", {**WORK, "steps": [f"The {name} keeps its order." for name in names]})
    call = {"critique_id": found["critique_id"]}
    asked: list[int] = []
    while found["action"] == "verify_first" and len(asked) < 5:
        claims = [quoted[1] for question in found["next"]["questions"] if (quoted := QUOTED.search(question))]
        asked.append(len(claims))
        analysis = {"claims": dict.fromkeys(claims, "supported")}
        found = await told(client, "critique", {**call, "analysis": analysis})
    assert (asked, found["action"]) == ([5, 2], "keep")


@pytest.mark.parametrize(
    ("claims", "fault"),
    [
        ({CACHE: "maybe"}, f"analysis.claims.{CACHE}: it has no verdict. Begin with supported, contradicted"),
        ({"1": "supported"}, "analysis.claims.1: it is a number, no claim. Send the words of the claim."),
        ("supported", "analysis.claims: it is no object."),
    ],
)
async def test_a_verdict_that_cannot_be_read_is_refused(client: Client, claims: Any, fault: str) -> None:
    first = await told(client, "critique", WORK)
    call = {"critique_id": first["critique_id"], "analysis": {"claims": claims}}
    assert (await refused(client, "critique", call)).startswith(fault)


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_the_hosts_model_is_asked_where_something_is_open_and_its_prose_names_the_fault(
    engine: Engine, era: Any
) -> None:
    async def host_model(context: Any, params: CreateMessageRequestParams) -> CreateMessageResult:
        del context
        content = params.messages[0].content
        assert isinstance(content, TextContent)
        assert CACHE in content.text
        text = TextContent(type="text", text="Step 1 is wrong: node a has a cold cache.")
        return CreateMessageResult(role="assistant", content=text, model="host", stop_reason="endTurn")

    async with Client(build(engine=engine), mode=era, sampling_callback=host_model) as client:
        found = await told(client, "critique", WORK)
    assert (found["thinker"], found["passes_quality_gate"]) == ("sampling", False)
    assert found["issues"] == ["Step 1 is wrong: node a has a cold cache."]


SHOWN = ["Node b has a warm cache.", QUEUE]


async def test_other_steps_for_a_claim_that_nothing_shows_are_judged_again_and_offered(settings: Settings) -> None:
    doubted = {**reply(cache="unsupported", queue="opinion"), "quality_score": 0.7, "corrected_steps": SHOWN}
    with_one: dict[str, Any] = {**WORK, "max_iterations": 1}
    accepted = {"claims": dict.fromkeys(SHOWN, "supported"), "quality_score": 1}
    with Scripted(json.dumps(doubted), json.dumps(accepted)) as llm:
        async with Engine(Settings(bank=settings.bank, project="app"), llm=llm) as engine:
            found = await engine.critique(**with_one)
    assert (found.passes_quality_gate, found.action, found.issues) == (None, "verify_first", ())
    assert (found.corrected_steps, found.corrected_by) == (tuple(SHOWN), "scripted:model")
    assert (found.retry_guidance or "").endswith("Or take corrected_steps, which do not claim it.")


async def test_a_judge_that_sends_the_steps_as_they_are_changes_nothing(settings: Settings) -> None:
    said = {**reply(cache="supported", queue="supported"), "corrected_steps": WORK["steps"]}
    assert (await judged(settings, said)).passes_quality_gate is True


async def test_a_claim_that_is_unsupported_beside_an_issue_is_asked_for_too(client: Client) -> None:
    first = await told(client, "critique", WORK)
    analysis = {"claims": {CACHE: "contradicted: node a", QUEUE: "unsupported"}, "quality_score": 0.2}
    found = await told(client, "critique", {"critique_id": first["critique_id"], "analysis": analysis})
    assert (found["action"], len(found["issues"])) == ("revise", 1)
    assert [QUEUE in question for question in found["next"]["questions"]] == [True]


async def test_a_low_score_for_a_claim_that_nothing_shows_asks_for_the_result(client: Client) -> None:
    first = await told(client, "critique", WORK)
    analysis = {"claims": {CACHE: "supported", QUEUE: "unsupported"}, "quality_score": 0.2}
    found = await told(client, "critique", {"critique_id": first["critique_id"], "analysis": analysis})
    assert (found["action"], found["passes_quality_gate"], found.get("issues")) == ("revise", False, None)
    assert found["retry_guidance"].startswith("Still open: 1. ")


async def test_what_rules_and_judge_see_differently_is_neither_an_issue_nor_passed(client: Client) -> None:
    report = "All 42 tests pass."
    log = [{"tool": "pytest", "content": "=== 3 failed, 39 passed in 1.20s ===", "exit_code": 1}]
    first = await told(client, "critique", {"goal": "Report", "response": report, "tool_results": log})
    assert first["action"] == "revise"
    analysis = {"claims": {report: "supported: the three are expected to fail"}, "quality_score": 1}
    found = await told(client, "critique", {"critique_id": first["critique_id"], "analysis": analysis})
    assert (found["action"], found.get("passes_quality_gate"), found.get("issues")) == ("verify_first", None, None)
    assert report in found["retry_guidance"]
    assert "next" not in found  # the claim was judged: asking again would get the same answer
    assert "first_error_step" not in found


async def test_what_is_disputed_stays_so_in_a_later_analysis(client: Client) -> None:
    report = "All 42 tests pass."
    log = [{"tool": "pytest", "content": "=== 3 failed, 39 passed in 1.20s ===", "exit_code": 1}]
    first = await told(client, "critique", {"goal": "Report", "response": report, "tool_results": log})
    for analysis in ({"claims": {report: "supported: the three are expected to fail"}}, {"quality_score": 1}):
        found = await told(client, "critique", {"critique_id": first["critique_id"], "analysis": analysis})
        assert (found["action"], found.get("issues")) == ("verify_first", None)
    assert found["quality_score"] == 1


async def test_claims_under_a_heading_in_markdown_are_read(client: Client) -> None:
    report = "All 42 tests pass. The build took 12 minutes on the new runner."
    log = [{"tool": "pytest", "content": "=== 42 passed in 1.20s ===", "exit_code": 0}]
    first = await told(client, "critique", {"goal": "Report", "response": report, "tool_results": log})
    analysis = (
        "## Claims\n- The build took 12 minutes on the new runner: contradicted (1.20 s)\n\n## Quality score\n0.4"
    )
    found = await told(client, "critique", {"critique_id": first["critique_id"], "analysis": analysis})
    assert found["quality_score"] == 0.4
    assert any("The build took 12 minutes" in issue for issue in found["issues"])


async def test_a_computation_cannot_be_disputed(client: Client) -> None:
    first = await told(client, "critique", {"goal": "Sum", "steps": ["2 + 2 = 5"], "max_iterations": 0})
    analysis = {"claims": {"2 + 2 = 5": "supported: I say so"}, "quality_score": 1}
    found = await told(client, "critique", {"critique_id": first["critique_id"], "analysis": analysis})
    assert (found["action"], found["issues"]) == ("revise", ["Step 1: 2 + 2 = 4, not 5"])


@pytest.mark.parametrize("work", ["x", "ok", "Done."])
async def test_work_without_a_claim_is_answered_that_there_is_nothing_to_check(engine: Engine, work: str) -> None:
    found = await engine.critique(work=work)
    assert (found.action, found.next) == ("verify_first", {})
    assert str(found.retry_guidance).startswith("There is nothing to check: the work makes no claim.")
