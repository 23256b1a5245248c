"""Scores: what rules take from evidence, what the host, an evaluator or a scorer of one's own adds."""

import json
from typing import Any

import pytest
from mcp import Client

from mcp_reflect.config import Settings
from mcp_reflect.llm.protocol import Role
from mcp_reflect.models.reflection import Score
from mcp_reflect.models.run import Trace
from mcp_reflect.services.engine import Engine
from tests.scripted import Scripted
from tests.server.calls import FAILED_RUN, told

TESTED: dict[str, Any] = {
    "task": "Mend the parser",
    "outcome": "partial",
    "events": [
        {"type": "tool_call", "tool": "bash", "arguments": {"command": "pytest -q"}},
        {"type": "tool_response", "tool": "bash", "content": "FAILED test_a.py::test_b\n1 failed, 3 passed in 0.10s"},
    ],
}
SCORES = {
    "scores": {"helpfulness": {"score": 0.6, "reason": "half of it is there [e2]"}, "safety": None, "efficiency": 0.1}
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
    assert scores["correctness"] == {"score": 0.75, "reason": "3 of 4 tests passed in the last report"}
    assert not {"helpfulness", "safety"} & set(scores)
    failed = (await told(client, "reflect", FAILED_RUN))["assessment"]["scores"]
    assert failed == {"efficiency": {"score": 0.5, "reason": "1 of 2 calls failed or went in circles"}}


async def test_a_criterion_of_ones_own_that_nobody_can_score_is_null_with_the_reason(engine: Engine) -> None:
    found = await engine.reflect(**FAILED_RUN, criteria={"tone": "friendly to the person"})
    assert found.assessment is not None
    assert found.assessment.scores["tone"] == Score(score=None, reason="rules cannot know this")


async def test_the_hosts_scores_fill_what_rules_cannot_know(client: Client) -> None:
    found = await told(client, "reflect", {**FAILED_RUN, "analysis": {"reflection": "It broke", **SCORES}})
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
async def test_a_score_that_is_none_is_left_out_and_named(client: Client, scores: Any, said: str) -> None:
    result = await told(client, "reflect", {**FAILED_RUN, "analysis": {"reflection": "x", "scores": scores}})
    assert [one.startswith(said) for one in result["ignored"]] == [True]


async def test_an_evaluator_is_asked_where_the_call_names_criteria(settings: Settings) -> None:
    thought = json.dumps({"reflection": "It broke."})
    judged = json.dumps(
        {"decision_appropriate": None, "execution_effective": None, "confidence": 0.8, "reasoning": "…", **SCORES}
    )
    with Scripted(thought, judged, roles=(Role.REFLECTOR, Role.EVALUATOR)) as llm:
        async with Engine(settings, llm=llm) as engine:
            found = await engine.reflect(**FAILED_RUN, criteria=["tone"])
    assert found.assessment is not None
    assert found.assessment.scores["helpfulness"].score == 0.6
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
    for scorer, expected in ((Kindness(), {"kindness": 0.25, "length": 0.4}), (Slow(), {"task": 1.0}), (Broken(), {})):
        async with Engine(settings, scorer=scorer) as engine:
            found = await engine.reflect(**FAILED_RUN, tags=[type(scorer).__name__])
        assert found.assessment is not None
        scores = {name: one.score for name, one in found.assessment.scores.items()}
        assert scores == {"efficiency": 0.5, **expected}
    line = json.loads(capfd.readouterr().err.splitlines()[-1])
    assert (line["event"], line["error"]) == ("scorer_failed", "ZeroDivisionError")


@pytest.mark.parametrize("outcome", ["success", "failure", "partial", "timeout", "error"])
async def test_each_outcome_asks_the_reflector_its_own_question(settings: Settings, outcome: str) -> None:
    questions = {
        "success": "Why did this run succeed",
        "failure": "Why did this run not succeed",
        "partial": "what was not, and what would have done the rest?",
        "timeout": "Where did the time of this run go",
        "error": "What raised the error that ended this run",
    }
    with Scripted(json.dumps({"reflection": "So it went."})) as llm:
        async with Engine(settings, llm=llm) as engine:
            await engine.reflect(**{**FAILED_RUN, "outcome": outcome})
    assert [name for name, question in questions.items() if question in llm.asked[0].user] == [outcome]
