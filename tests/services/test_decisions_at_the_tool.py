"""Decisions as a host sends them to reflect: what is stored, what is not, and what a failing model leaves."""

import json
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.llm.protocol import UnreachableError
from mcp_reflect.services.engine import Engine
from tests.scripted import Scripted
from tests.server.calls import contents, refused, told

RUN: dict[str, Any] = {"task": "Tune the search service", "outcome": "success", "task_type": "tuning"}
DECISION: dict[str, Any] = {"action": "keep", "component": "retriever", "why": "it is fast"}
EXECUTION: dict[str, Any] = {"component": "retriever", "result": "ok", "metrics": {"latency": 120, "accuracy": 0.91}}
BOTH: dict[str, Any] = {**RUN, "decision": DECISION, "execution": EXECUTION}
TITLE = "Reflection on Keep Decision for Component 'retriever'"


async def test_a_decision_is_reflected_on_by_its_metrics(client: Client) -> None:
    found = await told(client, "reflect", BOTH)
    assert found["validation"]["valid"] is True
    assert [one["check"] for one in found["validation"]["checks"]] == [
        "presence", "state_errors", "structure", "required_fields", "allowed_action", "same_component",
    ]  # fmt: skip
    assert found["validation"]["reflection_success"] is True
    assert found["assessment"]["decision_appropriate"] is True
    assert "Accuracy 0.91 is better than the threshold (0.5)." in found["reflection"]
    assert "has no earlier value to compare with." in found["reflection"]
    assert next(iter(found["insights"]["raw_sections"])) == TITLE
    assert len(found["insights"]["raw_sections"]) == 7
    assert {"keep", "retriever"} <= set(found["tags"])
    assert found["next"]["send"].startswith("reflection_id with analysis {reflection, strategy}")


async def test_what_a_component_did_before_is_known_from_the_bank(client: Client) -> None:
    await told(client, "reflect", {**BOTH, "execution": {**EXECUTION, "metrics": {"latency": 150, "accuracy": 0.95}}})
    found = await told(client, "reflect", BOTH)
    assert "Latency 120 is better than before (150)." in found["reflection"]
    assert "Accuracy 0.91 is worse than before (0.95)." in found["reflection"]
    other = {**BOTH, "decision": {**DECISION, "component": "cache"}, "execution": {**EXECUTION, "component": "cache"}}
    assert "has no earlier value to compare with." in (await told(client, "reflect", other))["reflection"]


@pytest.mark.parametrize(
    ("sent", "failed"),
    [
        ({"execution": EXECUTION}, "presence"),
        ({"decision": {**DECISION, "error": "no model"}}, "state_errors"),
        ({"decision": DECISION, "execution": {**EXECUTION, "error": "boom"}}, "state_errors"),
        ({"decision": "keep"}, "structure"),
        ({"decision": {"action": "keep"}}, "required_fields"),
        ({"decision": {**DECISION, "action": "divorce"}}, "allowed_action"),
        ({"decision": DECISION, "execution": {**EXECUTION, "component": "cache"}}, "same_component"),
    ],
)
async def test_a_failed_check_is_a_result_that_stores_nothing(
    client: Client, engine: Engine, sent: dict[str, Any], failed: str
) -> None:
    before = await contents(engine)
    found = await told(client, "reflect", {**RUN, **sent, "analysis": {"reflection": "It went well"}})
    assert (found["validation"]["valid"], found["validation"]["failed_check"]) == (False, failed)
    assert found["validation"]["checks"][-1]["check"] == failed
    assert found["validation"]["checks"][-1]["detail"]
    assert not {"reflection_id", "reflection", "strategy_id", "next"} & set(found)
    assert "reflection_success" not in found["validation"]
    assert await contents(engine) == before


async def test_other_actions_are_allowed_by_the_call_and_get_a_general_analysis(client: Client) -> None:
    found = await told(
        client, "reflect", {**BOTH, "decision": {**DECISION, "action": "scale"}, "allowed_actions": ["scale"]}
    )
    assert found["validation"]["valid"] is True
    assert "decision_appropriate" not in found["assessment"]
    assert found["reflection"].startswith("Scale 'retriever'")


async def test_an_analysis_beside_a_decision_is_the_hosts_and_is_read_for_its_assessment(client: Client) -> None:
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
    assert (found["insights"]["strengths"], found["insights"]["improvements"]) == (["fast"], ["recall"])
    assert found["insights"]["raw_sections"]["Decision Analysis"] == "Keeping it was not wise."
    assert found["strategy"] == "Measure again."


async def test_a_silent_analysis_leaves_the_assessment_to_the_metrics_and_a_second_call_keeps_the_checks(
    client: Client,
) -> None:
    first = await told(client, "reflect", BOTH)
    found = await told(
        client, "reflect", {"reflection_id": first["reflection_id"], "analysis": {"reflection": "The cache was warm."}}
    )
    assert found["assessment"]["decision_appropriate"] is True
    assert found["validation"]["valid"] is True
    said = await refused(
        client,
        "reflect",
        {"reflection_id": first["reflection_id"], "analysis": "x", "decision": {**DECISION, "component": "cache"}},
    )
    assert said.startswith("decision: it differs from what")


async def test_a_number_that_is_none_is_refused_by_its_place(engine: Engine) -> None:
    with pytest.raises(InputError, match=r"^execution\.metrics\.latency: nan is not a number"):
        await engine.reflect(**{**BOTH, "execution": {**EXECUTION, "metrics": {"latency": float("nan")}}})


@pytest.mark.parametrize("answers", [(UnreachableError("x:y", "it is down", "Start it"),), ("no json", "")])
async def test_when_a_language_model_fails_a_marked_fallback_is_stored(settings: Settings, answers: Any) -> None:
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


async def test_the_language_model_is_shown_what_the_metrics_say(settings: Settings) -> None:
    reply = json.dumps({"reflection": "It was right.", "strategy": "Measure weekly.", "decision_appropriate": True})
    with Scripted(reply) as llm:
        async with Engine(settings, llm=llm) as engine:
            found = await engine.reflect(**BOTH)
    assert "Accuracy 0.91 is better than the threshold (0.5)." in llm.asked[0].user
    assert found.assessment is not None
    assert found.assessment.decision_appropriate is True
    assert found.validation is not None
    assert found.validation.reflection_success is True


async def test_secrets_in_a_decision_reach_neither_the_bank_nor_the_result(engine: Engine, bank_path: Path) -> None:
    token = "ghp_" + "a1B2" * 9
    found = await engine.reflect(
        **{**BOTH, "decision": {**DECISION, "why": token}, "execution": {**EXECUTION, "result": token}}
    )
    assert token not in str(found)
    assert token.encode() not in b"".join(path.read_bytes() for path in bank_path.parent.iterdir())
