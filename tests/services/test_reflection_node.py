"""The node that reflects on a graph's decision: what the state gains, what it keeps, and what a failure leaves."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.errors import BankError
from mcp_reflect.llm.protocol import UnreachableError
from mcp_reflect.nodes import reflect_node, reflection_node
from mcp_reflect.services.engine import Engine
from tests.scripted import Scripted

STATE: dict[str, Any] = {
    "decision": {"action": "kill", "component": "reranker"},
    "execution": {"component": "reranker", "result": "ok", "metrics": {"latency": 900, "accuracy": 0.3}},
    "messages": ["hello"],
    "reflections": ["an earlier one"],
}
GAINED = {"reflection", "reflections", "validation_results", "reflection_insights", "reflection_analysis"}


@pytest.fixture
def made(settings: Settings) -> Callable[[], Engine]:
    return lambda: Engine(settings)


def test_the_state_gains_five_keys_and_keeps_the_earlier_reflections(made: Callable[[], Engine]) -> None:
    state = copy.deepcopy(STATE)
    gained = reflection_node(state, make_engine=made)
    assert set(gained) == GAINED
    assert state == STATE
    assert gained["reflection"].startswith("# Reflection on Kill Decision for Component 'reranker'\n\n")
    assert gained["reflections"] == ["an earlier one", gained["reflection"]]
    validation = gained["validation_results"]
    assert (validation["valid"], validation["failed_check"], validation["reflection_success"]) == (True, None, True)
    assert len(validation["checks"]) == 6
    assert gained["reflection_analysis"] == {
        "decision_appropriate": True, "execution_effective": False, "confidence": "medium",
    }  # fmt: skip
    insights = gained["reflection_insights"]
    assert insights["improvements"] == ["Accuracy 0.3 is worse than the threshold (0.5)."]
    assert (insights["strengths"], len(insights["raw_sections"])) == ([], 7)
    assert insights["recommendation"] == "Remove it, and check that its users still work."
    json.dumps(gained)


async def test_it_works_while_a_loop_runs_and_stores_what_it_says(
    settings: Settings, made: Callable[[], Engine]
) -> None:
    gained = reflection_node({**STATE, "task": "Trim the pipeline", "run_id": "r"}, make_engine=made)
    async with Engine(settings) as engine:
        (stored,) = await engine.query_reflections(min_importance=0)
    assert stored.reflection.startswith("Killing 'reranker'")
    assert gained["reflection_insights"]["summary"] == "Reflection on Kill Decision for Component 'reranker'"


def test_the_old_name_is_the_same_node() -> None:
    assert reflect_node is reflection_node


def test_decision_and_result_are_read_from_the_keys_that_are_named(made: Callable[[], Engine]) -> None:
    state = {"plan": STATE["decision"], "ran": STATE["execution"]}
    gained = reflection_node(state, decision_key="plan", result_key="ran", make_engine=made)
    assert gained["validation_results"]["valid"] is True
    assert reflection_node(state, make_engine=made)["error"] == "There is no decision."


@pytest.mark.parametrize(
    ("change", "failed"),
    [
        ({"decision": None}, "presence"),
        ({"execution": {"error": "boom"}}, "state_errors"),
        ({"decision": ["kill"]}, "structure"),
        ({"decision": {"action": "kill"}}, "required_fields"),
        ({"decision": {"action": "sell", "component": "reranker"}}, "allowed_action"),
        ({"execution": {"component": "cache"}}, "same_component"),
    ],
)
def test_a_failed_check_gives_the_error_and_nothing_else(
    change: dict[str, Any], failed: str, settings: Settings, made: Callable[[], Engine]
) -> None:
    gained = reflection_node({**STATE, **change}, make_engine=made)
    assert set(gained) == {"validation_results", "error"}
    assert (gained["validation_results"]["valid"], gained["validation_results"]["failed_check"]) == (False, failed)
    assert gained["error"]
    assert not settings.bank_path.exists()


def of_failure(error: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What callers of the old node test for."""
    insights = {
        "summary": "Reflection failed due to error",
        "strengths": [],
        "improvements": ["Fix reflection API integration"],
        "recommendation": f"Debug error: {error}",
        "error": error,
    }
    analysis = {"decision_appropriate": False, "execution_effective": False, "confidence": "low", "error": True}
    return insights, analysis


def test_a_model_that_fails_leaves_the_values_that_graphs_test_for_and_no_error(settings: Settings) -> None:
    with Scripted(UnreachableError("x:y", "it is down", "Start it")) as llm:
        gained = reflection_node(STATE, make_engine=lambda: Engine(settings, llm=llm))
    assert set(gained) == GAINED
    insights, analysis = of_failure("x:y: it is down. Start it")
    assert (gained["reflection_insights"], gained["reflection_analysis"]) == (insights, analysis)
    assert gained["validation_results"]["valid"] is True
    assert gained["validation_results"]["reflection_success"] is False
    assert gained["reflections"] == ["an earlier one", gained["reflection"]]
    for part in ("kill 'reranker'", "it is down", "latency 900", "Where to look"):
        assert part in gained["reflection"]


def test_a_bank_that_cannot_be_used_is_a_failure_and_no_exception() -> None:
    def broken() -> Engine:
        raise BankError("the disk is full")

    gained = reflection_node(STATE, make_engine=broken)
    assert gained["reflection_insights"]["recommendation"] == "Debug error: the disk is full"
    assert gained["reflection_analysis"]["error"] is True
    assert "latency 900" in gained["reflection"]
    assert "error" not in gained


def test_metrics_that_are_no_numbers_of_json_are_a_failure_and_no_exception(made: Callable[[], Engine]) -> None:
    odd = {**STATE["execution"], "metrics": {"latency": float("nan")}}
    gained = reflection_node({**STATE, "execution": odd}, make_engine=made)
    assert gained["validation_results"]["reflection_success"] is False
    assert "nan is not a number" in gained["reflection_insights"]["error"]
