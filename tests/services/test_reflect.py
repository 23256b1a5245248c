"""What reflect makes of a run: its decision, its scores by an evaluator, an equal run, and the words of users."""

import json
from typing import Any

import pytest
from mcp import Client

from mcp_reflect import services
from mcp_reflect.config import Settings
from mcp_reflect.llm.protocol import Role, UnreachableError
from mcp_reflect.models.reflection import Score
from mcp_reflect.models.run import Trace
from mcp_reflect.services.engine import Engine
from tests.scripted import Scripted
from tests.server.calls import FAILED_RUN, contents, refused, told
from tests.sessions.api_runs import RUNS, ApiRun

RUN: dict[str, Any] = {
    "task": "Tune the search service",
    "outcome": "success",
    "task_type": "tuning",
}
DECISION: dict[str, Any] = {"action": "keep", "component": "retriever", "why": "it is fast"}
EXECUTION: dict[str, Any] = {
    "component": "retriever",
    "result": "ok",
    "metrics": {"latency": 120, "accuracy": 0.91},
}
BOTH: dict[str, Any] = {**RUN, "decision": DECISION, "execution": EXECUTION}
TITLE = "Reflection on Keep Decision for Component 'retriever'"


async def test_a_decision_is_told_with_its_figures_and_without_a_verdict(client: Client) -> None:
    found = await told(client, "reflect", BOTH)
    assert found["validation"]["valid"] is True
    assert [one["check"] for one in found["validation"]["checks"]] == [
        "presence", "state_errors", "structure", "required_fields", "allowed_action", "same_component",
    ]  # fmt: skip
    assert found["validation"]["reflection_success"] is True
    assert "assessment" not in found
    for part in ("The reason given: it is fast.", "Latency: 120.", "Accuracy: 0.91."):
        assert part in found["reflection"]
    assert next(iter(found["insights"]["raw_sections"])) == TITLE
    assert len(found["insights"]["raw_sections"]) == 7
    assert {"keep", "retriever"} <= set(found["tags"])
    assert found["next"]["send"].startswith(
        "reflection_id with analysis {reflection, decision_appropriate,"
    )


async def test_what_a_component_did_before_is_known_from_the_bank(client: Client) -> None:
    await told(
        client,
        "reflect",
        {**BOTH, "execution": {**EXECUTION, "metrics": {"latency": 150, "accuracy": 0.95}}},
    )
    found = await told(client, "reflect", BOTH)
    assert "Latency 120 is below last time (150)." in found["reflection"]
    assert "Accuracy 0.91 is below last time (0.95)." in found["reflection"]
    other = {
        **BOTH,
        "decision": {**DECISION, "component": "cache"},
        "execution": {**EXECUTION, "component": "cache"},
    }
    assert "last time" not in (await told(client, "reflect", other))["reflection"]


@pytest.mark.parametrize(
    ("sent", "failed"),
    [
        ({"execution": EXECUTION}, "presence"),
        ({"decision": DECISION, "execution": {**EXECUTION, "error": "boom"}}, "state_errors"),
        (
            {"decision": DECISION, "execution": {**EXECUTION, "component": "cache"}},
            "same_component",
        ),
    ],
)
async def test_a_failed_check_is_a_result_that_stores_nothing(
    client: Client, engine: Engine, sent: dict[str, Any], failed: str
) -> None:
    before = await contents(engine)
    found = await told(
        client, "reflect", {**RUN, **sent, "analysis": {"reflection": "It went well"}}
    )
    assert (found["validation"]["valid"], found["validation"]["failed_check"]) == (False, failed)
    assert found["validation"]["checks"][-1]["check"] == failed
    assert found["validation"]["checks"][-1]["detail"]
    assert not {"reflection_id", "reflection", "strategy_id", "next"} & set(found)
    assert "reflection_success" not in found["validation"]
    assert await contents(engine) == before


async def test_other_actions_are_allowed_by_the_call_and_get_advice_in_general(
    client: Client,
) -> None:
    found = await told(
        client,
        "reflect",
        {**BOTH, "decision": {**DECISION, "action": "scale"}, "allowed_actions": ["scale"]},
    )
    assert found["validation"]["valid"] is True
    assert found["reflection"].startswith("Decided: scale 'retriever'.")
    assert "Measure what 'scale' changed" in found["insights"]["recommendation"]


async def test_an_analysis_beside_a_decision_is_the_hosts_and_is_read_for_its_assessment(
    client: Client,
) -> None:
    markdown = (
        "# Reflection\nWe kept it.\n\n## Decision Analysis\nKeeping it was not wise.\n\n## Decision appropriate\nno\n\n"
        "## Execution effective\nyes\n\n## Confidence\n0.6\n\n## Strengths\n- fast\n\n"
        "## Areas for Improvement\n- recall\n\n## Recommendation\nMeasure again."
    )
    found = await told(client, "reflect", {**BOTH, "analysis": markdown})
    assert (found["thinker"], found["reflection"]) == ("host", "We kept it.")
    assert found["assessment"] == {
        "decision_appropriate": False,
        "execution_effective": True,
        "confidence": "medium",
    }
    assert (found["insights"]["strengths"], found["insights"]["improvements"]) == (
        ["fast"],
        ["recall"],
    )
    assert found["insights"]["raw_sections"]["Decision Analysis"] == "Keeping it was not wise."
    assert found["strategy"] == "Measure again."


async def test_a_silent_analysis_leaves_the_verdict_open_and_a_second_call_keeps_the_checks(
    client: Client,
) -> None:
    first = await told(client, "reflect", BOTH)
    found = await told(
        client,
        "reflect",
        {
            "reflection_id": first["reflection_id"],
            "analysis": {"reflection": "The cache was warm."},
        },
    )
    assert "assessment" not in found
    assert found["validation"]["valid"] is True
    said = await refused(
        client,
        "reflect",
        {
            "reflection_id": first["reflection_id"],
            "analysis": "x",
            "decision": {**DECISION, "component": "cache"},
        },
    )
    assert said.startswith("decision: it differs from what")


@pytest.mark.parametrize(
    "answers", [(UnreachableError("x:y", "it is down", "Start it"),), ("no json", "")]
)
async def test_when_a_language_model_fails_a_marked_fallback_is_stored(
    settings: Settings, answers: Any
) -> None:
    with Scripted(*answers) as llm:
        async with Engine(settings, llm=llm) as engine:
            found = await engine.reflect(**BOTH)
            stored = await engine.bank.reflections.by_id(engine.scopes.own, found.reflection_id)
    assert found.validation is not None
    assert (found.validation.valid, found.validation.failed_check) == (True, None)
    assert found.validation.reflection_success is False
    assert "fallback" in found.tags
    assert stored.thinker == "rules"
    for part in ("keep 'retriever'", "failed:", "latency 120, accuracy 0.91", "Where to look"):
        assert part in found.reflection
    assert found.insights is not None
    assert TITLE in found.insights.raw_sections


async def test_the_language_model_is_shown_the_figures_and_no_view_of_rules(
    settings: Settings,
) -> None:
    reply = json.dumps(
        {"reflection": "It was right.", "strategy": "Measure weekly.", "decision_appropriate": True}
    )
    with Scripted(reply) as llm:
        async with Engine(settings, llm=llm) as engine:
            found = await engine.reflect(**BOTH)
    assert '"accuracy": 0.91' in llm.asked[0].user
    for part in ("better", "threshold", "judged", "Nothing to compare"):
        assert part not in llm.asked[0].user
    assert found.assessment is not None
    assert found.assessment.decision_appropriate is True
    assert found.validation is not None
    assert found.validation.reflection_success is True


TESTED: dict[str, Any] = {
    "task": "Mend the parser",
    "outcome": "partial",
    "events": [
        {"type": "tool_call", "tool": "bash", "arguments": {"command": "pytest -q"}},
        {
            "type": "tool_response",
            "tool": "bash",
            "content": "FAILED test_a.py::test_b\n1 failed, 3 passed in 0.10s",
        },
    ],
}
SCORES = {
    "scores": {
        "helpfulness": {"score": 0.6, "reason": "half of it is there [e2]"},
        "safety": None,
        "efficiency": 0.1,
    }
}


class Kindness:
    def score(self, trace: Trace) -> dict[str, Score | float | None]:
        return {"kindness": 0.25, "length": Score(score=len(trace.events) / 10, reason="events")}


class Slow:
    async def score(self, trace: Trace) -> dict[str, Score | float | None]:
        return {"task": 1.0 if trace.task else None}


class Broken:
    def score(self, trace: Trace) -> dict[str, Score | float | None]:
        raise ZeroDivisionError(trace.task)


async def test_rules_score_what_the_events_show_and_nothing_else(client: Client) -> None:
    scores = (await told(client, "reflect", TESTED))["assessment"]["scores"]
    assert scores["correctness"] == {
        "score": 0.75,
        "reason": "3 of 4 tests passed in the last report",
    }
    assert not {"helpfulness", "safety"} & set(scores)
    events = [
        *TESTED["events"],
        {"type": "tool_response", "tool": "bash", "content": "==== 4 passed in 0.10s ===="},
    ]
    scores = (await told(client, "reflect", {**TESTED, "events": events}))["assessment"]["scores"]
    assert scores["correctness"] == {
        "score": 1.0,
        "reason": "4 of 4 tests passed in the last report",
    }
    failed = (await told(client, "reflect", FAILED_RUN))["assessment"]["scores"]
    assert failed == {
        "efficiency": {"score": 0.5, "reason": "1 of 2 calls failed or went in circles"}
    }


async def test_a_criterion_of_ones_own_that_nobody_can_score_is_null_with_the_reason(
    engine: Engine,
) -> None:
    found = await engine.reflect(**FAILED_RUN, criteria={"tone": "friendly to the person"})
    assert found.assessment is not None
    assert found.assessment.scores["tone"] == Score(score=None, reason="rules cannot know this")


async def test_the_hosts_scores_fill_what_rules_cannot_know(client: Client) -> None:
    found = await told(
        client, "reflect", {**FAILED_RUN, "analysis": {"reflection": "It broke", **SCORES}}
    )
    scores = found["assessment"]["scores"]
    assert scores["helpfulness"] == {"score": 0.6, "reason": "half of it is there [e2]"}
    assert scores["efficiency"]["score"] == 0.5  # counted, so an opinion does not move it
    assert "safety" not in scores


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        (7, "analysis.scores: it is a number"),
        ({"safety": -3}, "analysis.scores: -3 is too small"),
        ({"safety": {"score": "NaN"}}, "analysis.scores: "),
    ],
)
async def test_a_score_that_is_none_is_left_out_and_named(
    client: Client, scores: Any, said: str
) -> None:
    result = await told(
        client, "reflect", {**FAILED_RUN, "analysis": {"reflection": "x", "scores": scores}}
    )
    assert [one.startswith(said) for one in result["ignored"]] == [True]


async def test_an_evaluator_is_asked_where_the_call_names_criteria(settings: Settings) -> None:
    thought = json.dumps({"reflection": "It broke."})
    judged = json.dumps(
        {
            "decision_appropriate": False,
            "execution_effective": None,
            "confidence": 0.8,
            "reasoning": "…",
            **SCORES,
        }
    )
    decided = {
        "decision": {"action": "keep", "component": "cache"},
        "execution": {"component": "cache"},
    }
    with Scripted(thought, judged, roles=(Role.REFLECTOR, Role.EVALUATOR)) as llm:
        async with Engine(settings, llm=llm) as engine:
            found = await engine.reflect(**FAILED_RUN, **decided, criteria=["tone"])
    assert found.assessment is not None
    assert (
        found.assessment.scores["helpfulness"].score,
        found.assessment.decision_appropriate,
    ) == (0.6, False)
    schema: Any = llm.asked[1].schema
    assert set(schema["properties"]["scores"]["items"]["properties"]) == {
        "criterion",
        "score",
        "reason",
    }
    assert found.assessment.scores["tone"].score is None
    assert "tone" in llm.asked[1].user
    assert "read_file" in llm.asked[1].user


async def test_an_evaluator_that_fails_leaves_what_rules_know(settings: Settings) -> None:
    with Scripted(json.dumps({"reflection": "It broke."}), "no json", "none either") as llm:
        async with Engine(settings, llm=llm) as engine:
            found = await engine.reflect(**FAILED_RUN, criteria=["tone"])
    assert found.assessment is not None
    assert set(found.assessment.scores) == {"efficiency", "tone"}


async def test_scorers_of_ones_own_score_and_a_broken_one_fails_alone(
    settings: Settings, capfd: pytest.CaptureFixture[str]
) -> None:
    for scorer, expected in (
        (Kindness(), {"kindness": 0.25, "length": 0.4}),
        (Slow(), {"task": 1.0}),
        (Broken(), {}),
    ):
        async with Engine(settings, scorer=scorer) as engine:
            found = await engine.reflect(**FAILED_RUN, tags=[type(scorer).__name__])
        assert found.assessment is not None
        scores = {name: one.score for name, one in found.assessment.scores.items()}
        assert scores == {"efficiency": 0.5, **expected}
    line = json.loads(capfd.readouterr().err.splitlines()[-1])
    assert (line["event"], line["error"]) == ("scorer_failed", "ZeroDivisionError")


SAID = json.dumps({"reflection": "The path was misspelt.", "strategy": "List the folder first."})
JUDGED = json.dumps(
    {
        "decision_appropriate": None,
        "execution_effective": None,
        "confidence": 0.8,
        "reasoning": "seen",
        "scores": {},
    }
)


async def test_a_model_is_not_asked_again_about_a_run_it_has_reflected_on(
    settings: Settings,
) -> None:
    with Scripted(SAID) as llm:
        async with Engine(settings, llm=llm) as engine:
            first = await engine.reflect(**FAILED_RUN)
            assert await engine.reflect(**FAILED_RUN) == first
            generated = await engine.generate_reflection(**FAILED_RUN)
            assert (await engine.store_reflection(generated)).reflection_id == first.reflection_id
            assert len(await engine.bank.reflections.latest(engine.scopes.own)) == 1


async def test_a_model_is_asked_about_a_run_that_rules_alone_reflected_on(
    settings: Settings,
) -> None:
    async with Engine(settings) as engine:
        by_rules = await engine.reflect(**FAILED_RUN)
    with Scripted(SAID) as llm:
        async with Engine(settings, llm=llm) as engine:
            by_model = await engine.reflect(**FAILED_RUN)
    async with Engine(settings) as engine:
        again = await engine.reflect(**FAILED_RUN)
    assert (by_rules.thinker, by_model.thinker) == ("rules", "scripted:model")
    assert again.reflection_id == by_rules.reflection_id != by_model.reflection_id


async def test_criteria_that_nobody_has_scored_are_asked_about_once(settings: Settings) -> None:
    roles = (Role.REFLECTOR, Role.REFLECTOR, Role.EVALUATOR)
    with Scripted(SAID, SAID, JUDGED, roles=roles) as llm:
        async with Engine(settings, llm=llm) as engine:
            await engine.reflect(**FAILED_RUN)
            scored = await engine.reflect(**FAILED_RUN, criteria=["tone: is it friendly"])
            assert scored.assessment is not None
            assert "tone" in scored.assessment.scores
            assert await engine.reflect(**FAILED_RUN, criteria=["tone: is it friendly"]) == scored


async def test_the_same_call_after_an_analysis_was_added_stores_nothing(settings: Settings) -> None:
    async with Engine(settings) as engine:
        first = await engine.reflect(**FAILED_RUN)
        told = await engine.reflect(
            reflection_id=first.reflection_id, analysis={"reflection": "A typo in the path."}
        )
        again = await engine.reflect(**FAILED_RUN)
        assert (again.reflection_id, again.lessons) == (told.reflection_id, told.lessons)
        assert len(await engine.bank.reflections.latest(engine.scopes.own)) == 1


def events(*steps: tuple[str, dict[str, Any], str, bool]) -> list[dict[str, Any]]:
    """Calls with their answers; True: the answer is an error."""
    return [
        event
        for tool, arguments, answer, failed in steps
        for event in (
            {"type": "tool_call", "tool_name": tool, "arguments": arguments},
            {
                "type": "tool_response",
                "tool_name": tool,
                ("error" if failed else "content"): answer,
            },
        )
    ]


def shell(*steps: tuple[str, str, bool]) -> list[dict[str, Any]]:
    return events(
        *(("Bash", {"command": command}, answer, failed) for command, answer, failed in steps)
    )


async def shown(engine: Engine, task: str) -> str:
    """All that a recall shows for a task."""
    return "\n".join(hit.text for hit in (await engine.recall(task=task, limit=10)).lessons)


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.tool)
async def test_the_next_task_is_not_told_the_value_of_this_one(engine: Engine, run: ApiRun) -> None:
    await engine.reflect(task=run.tool, outcome="success", events=run.events)
    values = [
        str(value)
        for name in run.differs
        for value in (run.accepted.get(name), run.refused.get(name))
    ]
    told = "\n".join([await shown(engine, task) for task in (run.next_task, run.tool, run.error)])
    assert not [
        value for value in values if len(value) > 2 and value in told and value not in run.error
    ]


@pytest.mark.parametrize(
    "said",
    [
        {"type": "message", "role": "user"},
        {"role": "user"},
        {"type": "user_message"},
        {"type": "human"},
    ],
)
async def test_what_a_person_says_is_not_the_end_of_the_agent(
    engine: Engine, said: dict[str, Any]
) -> None:
    run = [
        *events(("mail.send", {"to": "all"}, "sent", False)),
        {**said, "content": "You sent it to everybody!"},
    ]
    reflection = await engine.reflect(task="Mail Ann", outcome="failure", events=run)
    assert "The agent ended" not in reflection.reflection
    assert "You sent it to everybody!" in reflection.reflection


@pytest.mark.parametrize(
    "text", ["Next time run make setup before make test.", "Always run make setup before make test"]
)
async def test_advice_in_plain_sentences_is_a_lesson(engine: Engine, text: str) -> None:
    reflection = await engine.reflect(task="Test it", outcome="failure", analysis=text)
    assert reflection.lessons
    assert "make setup" in await shown(engine, "run make test")


async def test_values_that_differ_are_shown(engine: Engine) -> None:
    run = shell(
        (
            "helm upgrade web ./c --timeout 30s",
            "Error: UPGRADE FAILED: timed out waiting after 30s",
            True,
        ),
        ("helm upgrade web ./c --timeout 300s", 'Release "web" has been upgraded.', False),
    )
    told = (await engine.reflect(task="Upgrade web", outcome="success", events=run)).reflection
    assert "30s" in told
    assert "300s" in told
    assert "stayed open" not in told


async def test_an_expired_token_is_told_and_not_the_ticket(engine: Engine) -> None:
    failing = ("jira.get", {"key": 12}, "401 Unauthorized: token expired", True)
    await engine.reflect(
        task="Read ticket 12", outcome="failure", events=events(failing, failing, failing)
    )
    told = await shown(engine, "Show me the tickets on Jira board 12")
    assert "jira.get 12" not in told


async def test_what_hides_a_failure_is_not_its_correction(engine: Engine) -> None:
    run = shell(
        ("./manage migrate", "connection refused: could not connect to the database", True),
        ("./manage migrate --fake", "faked", False),
    )
    told = await engine.reflect(task="Migrate", outcome="success", events=run)
    assert told.lessons == ()


async def test_a_run_in_which_nothing_stood_out_is_not_shown_at_a_prompt(engine: Engine) -> None:
    await engine.reflect(
        task="Move the invoices of May",
        outcome="partial",
        events=shell(("./move may", "moved", False)),
    )
    assert (
        await services.reminders.at_prompt(engine.context, "s", "Move the invoices of May") is None
    )


async def test_without_an_analysis_facts_are_answered_and_the_analysis_is_asked_for(
    engine: Engine,
) -> None:
    run = shell(("./vault get a/b", "denied", True), ("./vault get /a/b/", "owner", False))
    reflection = await engine.reflect(task="Find the owner", outcome="success", events=run)
    assert (reflection.lessons, reflection.strategy, reflection.importance) == ((), None, 0.7)
    for fact in ("`./vault get a/b` failed (e2)", "denied", "worked (e4)"):
        assert fact in reflection.reflection
    assert "{mistake, correction, strategy}" in str(reflection.next["send"])


async def test_calls_without_an_answer_are_told(engine: Engine) -> None:
    run = [{"type": "tool_call", "tool": "Bash", "arguments": {"command": "make deploy"}}]
    told = await engine.reflect(task="Deploy", outcome="timeout", events=run)
    assert "`make deploy` was never answered (e1)." in told.reflection


async def test_facts_of_a_run_are_kept_and_never_recalled(engine: Engine) -> None:
    run = shell(("./vault get a/b", "denied", True), ("./vault get /a/b/", "owner", False))
    told = await engine.reflect(task="Find the owner of a/b", outcome="failure", events=run)
    for task in ("Find the owner of a/b", "./vault get a/b: denied"):
        assert (await engine.recall(task=task, limit=10)).lessons == ()
        assert await services.reminders.at_prompt(engine.context, "s", task) is None
    kept = await engine.bank.reflections.by_id(engine.scopes.own, told.reflection_id)
    assert kept.task == "Find the owner of a/b"
    analysis = {"mistake": "./vault get a/b was denied", "correction": "Write it as /a/b/"}
    await engine.reflect(reflection_id=told.reflection_id, analysis=analysis)
    (hit,) = (await engine.recall(task="./vault get a/b", limit=1)).lessons
    assert hit.correction == "Write it as /a/b/"
