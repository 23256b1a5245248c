"""The decision node: six checks in order, then a reflection on the decision and how it was carried out."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from mcp_reflect.config import Settings
from mcp_reflect.nodes import reflection_node
from mcp_reflect.runs.assessment import read_assessment
from mcp_reflect.services.engine import Engine
from tests.scripted import Scripted
from tests.server.calls import told

_STATE: dict[str, Any] = {
    "decision": {"action": "keep", "component": "model_a"},
    "execution": {"component": "model_a", "result": "trained", "metrics": {"accuracy": 0.92}},
}


def _node(tmp_path: Path, **more: Any) -> dict[str, Any]:
    return reflection_node({**_STATE, **more}, make_engine=lambda: Engine(Settings(bank=tmp_path / "bank.db")))


def test_a_sound_decision_is_reflected_on(tmp_path: Path) -> None:
    gained = _node(tmp_path)
    assert gained["validation_results"]["valid"]
    assert gained["reflections"] == [gained["reflection"]]
    assert "error" not in gained


@pytest.mark.parametrize("name", ["error", "error_message"])
def test_an_error_in_the_state_fails_the_second_check(tmp_path: Path, name: str) -> None:
    gained = _node(tmp_path, **{name: "Execution crashed"})
    assert gained["validation_results"]["failed_check"] == "state_errors"
    assert gained["error"] == "state.error says: Execution crashed"
    assert "reflection" not in gained


def test_a_failed_check_is_logged_with_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _node(tmp_path, error="Execution crashed")
    assert "state_errors" in capsys.readouterr().err


def test_without_decision_and_execution_every_place_says_what_is_missing(tmp_path: Path) -> None:
    gained = reflection_node({"task": "x"}, make_engine=lambda: Engine(Settings(bank=tmp_path / "bank.db")))
    assert gained["error"] == gained["validation_results"]["checks"][0]["detail"] == "There is no decision."


_KILL: dict[str, Any] = {
    "decision": {"action": "kill", "component": "legacy_tokenizer", "reason": "accuracy 0.78 < 0.80"},
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

**What went well**
- Nothing depends on it

**What could be better**
- Announce it before

**Next steps**: Watch the queue for a day."""


def test_a_model_sees_reason_result_and_state_and_is_asked_about_the_decision(tmp_path: Path) -> None:
    with Scripted(_TEXT, _TEXT) as llm:  # prose is asked for as JSON once more
        engine = partial(Engine, Settings(bank=tmp_path / "bank.db"), llm=llm)
        gained = reflection_node(_KILL, make_engine=engine)
        request = llm.asked[0]
    shown = str(request)
    for part in ("accuracy 0.78 < 0.80", "removed from the ingest path", "nightly"):
        assert part in shown
    assert "Was the decision right, and was the execution effective?" in shown
    insights = gained["reflection_insights"]
    assert insights["summary"] == "Reflection on Kill Decision for Component 'legacy_tokenizer'"
    assert (insights["strengths"], insights["improvements"]) == (["Nothing depends on it"], ["Announce it before"])
    assert insights["recommendation"] == "Watch the queue for a day."
    analysis = gained["reflection_analysis"]
    assert (analysis["decision_appropriate"], analysis["execution_effective"]) == (True, False)


def test_rules_read_the_reason_the_result_and_values_with_units(tmp_path: Path) -> None:
    text = _node(tmp_path, **_KILL)["reflection"]
    for part in ("accuracy 0.78 < 0.80", "removed from the ingest path", "Latency 340 is worse than before (200)."):
        assert part in text


def test_what_metrics_do_not_settle_becomes_no_strategy(tmp_path: Path) -> None:
    metrics = {"latency": 450, "latency_threshold": 200, "accuracy": 0.9}
    gained = _node(tmp_path, **_KILL | {"execution": {"metrics": metrics}})
    assert "Improve" not in gained["reflection_insights"]["recommendation"]

    async def strategies() -> list[str | None]:
        async with Engine(Settings(bank=tmp_path / "bank.db")) as engine:
            return [found.strategy for found in await engine.query_reflections(min_importance=0)]

    assert asyncio.run(strategies()) == [None]


def test_the_same_state_again_says_that_nobody_was_asked(tmp_path: Path) -> None:
    assert "note" not in _node(tmp_path)["validation_results"]
    assert "the bank holds" in _node(tmp_path)["validation_results"]["note"]


@pytest.mark.parametrize(
    ("text", "decision", "execution", "confidence"),
    [
        ("Execution went smoothly.", None, True, "medium"),
        ("The execution was only partially effective because latency rose 30%.", None, False, "medium"),
        ("The swap broke checkout for nine minutes.", None, False, "medium"),
        ("The rollout itself was a mess.", None, False, "medium"),
        ("The decision was right. I am highly confident in this.", True, None, "high"),
        ("Killing it was right, though I'm not sure the online sample is big enough.", True, None, "low"),
        ("Marrying `ranker` paid off.", None, True, "medium"),
    ],
)
def test_the_analysis_reads_how_people_say_it(
    text: str, decision: bool | None, execution: bool | None, confidence: str
) -> None:
    read = read_assessment(text)
    assert (read.decision_appropriate, read.execution_effective, read.confidence) == (decision, execution, confidence)


async def test_over_mcp_a_decision_needs_neither_task_nor_outcome(client: Client) -> None:
    sent = {"decision": _KILL["decision"], "execution": _KILL["execution"], "detail": True}
    answer = await told(client, "reflect", sent)
    assert answer["validation"]["valid"] is True
    assert "legacy_tokenizer" in answer["reflection"]
