"""The decision node: six checks in order, then a reflection on the decision and how it was carried out."""

import asyncio
import copy
import json
from functools import partial
from typing import Any

import pytest
from mcp import Client

from mcp_reflect.config import Settings
from mcp_reflect.errors import BankError
from mcp_reflect.llm.protocol import UnreachableError
from mcp_reflect.nodes import reflect_node, reflection_node
from mcp_reflect.services.engine import Engine
from tests.scripted import Scripted
from tests.server.calls import told

STATE: dict[str, Any] = {
    "decision": {"action": "kill", "component": "reranker"},
    "execution": {
        "component": "reranker",
        "result": "ok",
        "metrics": {"latency": 900, "accuracy": 0.3},
    },
    "messages": ["hello"],
    "reflections": ["an earlier one"],
}
GAINED = {
    "reflection",
    "reflections",
    "validation_results",
    "reflection_insights",
    "reflection_analysis",
}


def _node(settings: Settings, **more: Any) -> dict[str, Any]:
    return reflection_node({**STATE, **more}, make_engine=partial(Engine, settings))


def test_the_state_gains_five_keys_and_keeps_the_earlier_reflections(settings: Settings) -> None:
    state = copy.deepcopy(STATE)
    gained = reflection_node(state, make_engine=partial(Engine, settings))
    assert set(gained) == GAINED
    assert state == STATE
    assert gained["reflection"].startswith(
        "# Reflection on Kill Decision for Component 'reranker'\n\n"
    )
    assert gained["reflections"] == ["an earlier one", gained["reflection"]]
    validation = gained["validation_results"]
    assert (validation["valid"], validation["failed_check"], validation["reflection_success"]) == (
        True,
        None,
        True,
    )
    assert len(validation["checks"]) == 6
    assert gained["reflection_analysis"] == {
        "decision_appropriate": None, "execution_effective": None, "confidence": None,
    }  # fmt: skip
    insights = gained["reflection_insights"]
    assert (insights["strengths"], insights["improvements"]) == ([], [])
    assert len(insights["raw_sections"]) == 7
    assert insights["recommendation"] == (
        "See that nothing needs 'reranker' any more, and compare the figures without it with these."
    )
    json.dumps(gained)
    assert reflect_node is reflection_node, "the old name"


async def test_it_works_while_a_loop_runs_and_stores_what_it_says(settings: Settings) -> None:
    gained = _node(settings, task="Trim the pipeline", run_id="r")
    async with Engine(settings) as engine:
        (stored,) = await engine.query_reflections(min_importance=0)
    assert stored.reflection.startswith("Decided: kill 'reranker'.")
    assert (
        gained["reflection_insights"]["summary"]
        == "Reflection on Kill Decision for Component 'reranker'"
    )


def test_decision_and_result_are_read_from_the_keys_that_are_named(settings: Settings) -> None:
    state, engine = (
        {"plan": STATE["decision"], "ran": STATE["execution"]},
        partial(Engine, settings),
    )
    gained = reflection_node(state, decision_key="plan", result_key="ran", make_engine=engine)
    assert gained["validation_results"]["valid"] is True
    assert reflection_node(state, make_engine=engine)["error"] == "There is no decision."


@pytest.mark.parametrize(
    ("change", "failed"),
    [
        ({"decision": None}, "presence"),
        ({"execution": {"error": "boom"}}, "state_errors"),
        ({"error": "Execution crashed"}, "state_errors"),
        ({"error_message": "Execution crashed"}, "state_errors"),
        ({"decision": {"action": "sell", "component": "reranker"}}, "allowed_action"),
        ({"execution": {"component": "cache"}}, "same_component"),
        ({"execution": {"result": "ok"}, "active_component": "cache"}, "same_component"),
        ({"execution": None, "active_component": "cache"}, "same_component"),
    ],
)
def test_a_failed_check_is_logged_and_gives_the_error_and_nothing_else(
    change: dict[str, Any], failed: str, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    gained = _node(settings, **change)
    assert failed in capsys.readouterr().err
    assert set(gained) == {"validation_results", "error"}
    assert (
        gained["validation_results"]["valid"],
        gained["validation_results"]["failed_check"],
    ) == (False, failed)
    assert gained["error"]
    assert not settings.bank_path.exists()


@pytest.mark.parametrize("change", [{}, {"decision": None}], ids=["valid", "rejected"])
def test_each_engine_that_was_made_is_closed(change: dict[str, Any], settings: Settings) -> None:
    made: list[Engine] = []
    closed: list[Engine] = []

    class NotedEngine(Engine):
        async def close(self) -> None:
            await super().close()
            closed.append(self)

    def make() -> Engine:
        made.append(NotedEngine(settings))
        return made[-1]

    reflection_node({**STATE, **change}, make_engine=make)
    assert made
    assert closed == made


def test_a_model_that_fails_leaves_the_values_that_graphs_test_for_and_no_error(
    settings: Settings,
) -> None:
    with Scripted(UnreachableError("x:y", "it is down", "Start it")) as llm:
        gained = reflection_node(STATE, make_engine=partial(Engine, settings, llm=llm))
    assert set(gained) == GAINED
    assert gained["reflection_insights"] == {
        "summary": "Reflection failed due to error",
        "strengths": [],
        "improvements": ["Fix reflection API integration"],
        "recommendation": "Debug error: x:y: it is down. Start it",
        "error": "x:y: it is down. Start it",
    }
    analysis = {
        "decision_appropriate": False,
        "execution_effective": False,
        "confidence": "low",
        "error": True,
    }
    assert gained["reflection_analysis"] == analysis
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


def test_metrics_that_are_no_numbers_of_json_are_a_failure_and_no_exception(
    settings: Settings,
) -> None:
    gained = _node(settings, execution={**STATE["execution"], "metrics": {"latency": float("nan")}})
    assert gained["validation_results"]["reflection_success"] is False
    assert "nan is not a number" in gained["reflection_insights"]["error"]


_KILL: dict[str, Any] = {
    "decision": {
        "action": "kill",
        "component": "legacy_tokenizer",
        "reason": "accuracy 0.78 < 0.80",
    },
    "execution": {
        "component": "legacy_tokenizer",
        "result": "removed from the ingest path",
        "metrics": {"latency": "340ms", "latency_before": "0.2 s", "accuracy": "91%"},
    },
    "window": "nightly",
}
_TEXT = """# Reflection on Kill Decision for Component 'legacy_tokenizer'

## Decision Analysis
The decision was right.

## Execution Assessment
The rollout itself was a mess.

**Decision appropriate**: yes
**Execution effective**: no

**What went well**
- Nothing depends on it

**What could be better**
- Announce it before

**Next steps**: Watch the queue for a day."""


def test_a_model_sees_reason_result_and_state_and_is_asked_about_the_decision(
    settings: Settings,
) -> None:
    with Scripted(_TEXT, _TEXT) as llm:  # prose is asked for as JSON once more
        gained = reflection_node(_KILL, make_engine=partial(Engine, settings, llm=llm))
        shown = str(llm.asked[0])
    for part in ("accuracy 0.78 < 0.80", "removed from the ingest path", "nightly"):
        assert part in shown
    for part in ("not judged", "The run ended, where the caller said how: success", "0.5"):
        assert part not in shown
    assert "Was the decision right, and was the execution effective?" in shown
    insights = gained["reflection_insights"]
    assert insights["summary"] == "Reflection on Kill Decision for Component 'legacy_tokenizer'"
    assert (insights["strengths"], insights["improvements"]) == (
        ["Nothing depends on it"],
        ["Announce it before"],
    )
    assert insights["recommendation"] == "Watch the queue for a day."
    analysis = gained["reflection_analysis"]
    assert (analysis["decision_appropriate"], analysis["execution_effective"]) == (True, False)


def test_rules_read_the_reason_the_result_and_values_with_units(settings: Settings) -> None:
    text = _node(settings, **_KILL)["reflection"]
    for part in (
        "accuracy 0.78 < 0.80",
        "removed from the ingest path",
        "Latency 340ms is above latency_before (0.2 s).",
    ):
        assert part in text


def test_facts_alone_become_no_strategy(settings: Settings) -> None:
    metrics = {"latency": 450, "latency_threshold": 200, "accuracy": 0.9}
    gained = _node(settings, **_KILL | {"execution": {"metrics": metrics}})
    assert "nothing needs" in gained["reflection_insights"]["recommendation"]
    assert "Latency 450 is above latency_threshold (200)." in gained["reflection"]

    async def strategies() -> list[str | None]:
        async with Engine(settings) as engine:
            return [found.strategy for found in await engine.query_reflections(min_importance=0)]

    assert asyncio.run(strategies()) == [None]


def test_the_same_state_again_says_that_nobody_was_asked(settings: Settings) -> None:
    assert "note" not in _node(settings)["validation_results"]
    assert "already had a reflection" in _node(settings)["validation_results"]["note"]


async def test_over_mcp_a_decision_needs_neither_task_nor_outcome(client: Client) -> None:
    sent = {"decision": _KILL["decision"], "execution": _KILL["execution"], "detail": True}
    answer = await told(client, "reflect", sent)
    assert answer["validation"]["valid"] is True
    assert "legacy_tokenizer" in answer["reflection"]
    assert (await told(client, "reflect", {"decision": _KILL["decision"]}))["validation"][
        "valid"
    ] is True
