"""Twenty inputs that a user of the reflection node might send, and what its document says of them."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.nodes import reflection_node
from mcp_reflect.services.engine import Engine
from tests.scripted import Scripted


def decided(action: str, component: str, **more: Any) -> dict[str, Any]:
    return {"decision": {"action": action, "component": component, **more}}


def ran(metrics: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"execution": {**more, **({} if metrics is None else {"metrics": metrics})}}


TOLD: list[tuple[str, dict[str, Any], list[str]]] = [
    (
        "percent and a required value of the state",
        {**decided("Keep", "parser"), **ran({"accuracy": "92.5%"}), "required_accuracy": "90%"},
        [
            "Reflection on Keep Decision for Component 'parser'",
            "Accuracy: 92.5% (required_accuracy: 90%)",
            "is above required_accuracy",
        ],
    ),
    (
        "a list as the result",
        {**decided("marry", "cache", reasoning="they share keys"), **ran(result=["a", "b"])},
        ["they share keys", '["a", "b"]'],
    ),
    (
        "a metric nobody knows",
        {
            **decided("kill", "old_index"),
            **ran({"tokens_per_second": 14, "tokens_per_second_before": 30}),
        },
        ["Tokens_per_second: 14 (tokens_per_second_before: 30)", "is below"],
    ),
    (
        "targets in an object of the state",
        {**decided("keep", "ranker"), **ran({"latency": 1.8}), "targets": {"latency": 2.0}},
        ["Latency: 1.8 (targets.latency: 2.0)", "is below targets.latency (2.0)"],
    ),
    (
        "a limit in the decision",
        {**decided("kill", "ocr", max_latency="1s"), **ran({"latency": "2500 ms"})},
        ["Latency: 2500 ms (max_latency: 1s)", "is above max_latency (1s)"],
    ),
    (
        "text in Chinese",
        {**decided("keep", "检索器", reason="准确率达标"), **ran(result="完成")},
        ["检索器", "准确率达标", "完成"],
    ),
    (
        "the active component alone",
        {**decided("marry", "reranker"), "active_component": "reranker"},
        ["component 'reranker' returned no result"],
    ),
    (
        "metrics as text and null",
        {**decided("keep", "api"), **ran({"latency": "n/a", "accuracy": None})},
        ["Latency: n/a", "Accuracy: not given"],
    ),
]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(bank=tmp_path / "bank.db", project="p")


@pytest.mark.parametrize(("state", "parts"), [case[1:] for case in TOLD], ids=[c[0] for c in TOLD])
def test_without_a_model_the_facts_stand_side_by_side(
    state: dict[str, Any], parts: list[str], settings: Settings
) -> None:
    gained = reflection_node(state, make_engine=partial(Engine, settings))
    for part in parts:
        assert part in gained["reflection"]
    assert gained["reflection_analysis"]["decision_appropriate"] is None


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("no decision", {"execution": {"result": "ok"}}, "presence"),
    ("an error of the state", {**decided("keep", "a"), "error": {"code": 500}}, "state_errors"),
    ("a decision in words", {"decision": "keep the parser"}, "structure"),
    ("no component", {"decision": {"action": "keep"}}, "required_fields"),
    ("another action", decided("divorce", "a"), "allowed_action"),
]


@pytest.mark.parametrize(("state", "check"), [c[1:] for c in REFUSED], ids=[c[0] for c in REFUSED])
def test_a_decision_that_fails_a_check_is_not_reflected_on(
    state: dict[str, Any], check: str, settings: Settings
) -> None:
    gained = reflection_node(state, make_engine=partial(Engine, settings))
    assert gained["validation_results"]["failed_check"] == check
    assert gained["error"]
    assert "reflection" not in gained


STATE = {**decided("kill", "legacy_api", reason="slow"), **ran({"latency": 900})}
SAID: list[tuple[str, str, tuple[Any, Any, Any], dict[str, Any]]] = [
    (
        "the template with a doubtful execution",
        (
            "# Reflection on Kill Decision for Component 'legacy_api'\n\n## Decision Analysis\nThe kill decision for component "
            "'legacy_api' was justified by its latency.\n\n## Execution Assessment\nThe execution using component 'legacy_api' "
            "was effective in the end.\n\n## Strengths\n- Fast switch\n\n## Areas for Improvement\n- Warn users\n\n"
            "## Recommendation\nWatch errors."
        ),
        (True, True, None),
        {
            "strengths": ["Fast switch"],
            "improvements": ["Warn users"],
            "recommendation": "Watch errors.",
        },
    ),
    (
        "JSON with fields",
        '{"reflection": "Right to kill it.", "decision_appropriate": true, "execution_effective": false, "confidence": 0.9}',
        (True, False, "high"),
        {},
    ),
    (
        "prose that disagrees",
        (
            "Killing legacy_api was not the right decision: two clients still use it. The execution went well. "
            "I am fairly confident."
        ),
        (False, True, "medium"),
        {},
    ),
    (
        "prose without a verdict",
        "The component was removed on Monday. Latency was 900.",
        (None, None, None),
        {},
    ),
    (
        "Spanish headings",
        (
            "## Fortalezas\n- rápido\n\n## Áreas de mejora\n- avisar antes\n\n## Recomendación\nVigilar errores.\n\n"
            "La decisión fue acertada."
        ),
        (True, None, None),
        {"strengths": ["rápido"], "improvements": ["avisar antes"]},
    ),
    (
        "bold headings",
        (
            "**Decision Analysis**: The decision was appropriate.\n**Execution Assessment**: Not effective, it broke clients.\n"
            "**Strengths**\n- simple\n**Confidence**: low"
        ),
        (True, False, "low"),
        {"strengths": ["simple"]},
    ),
    (
        "a reply that hedges",
        "If traffic had fallen, the decision would have been right. As it stands the decision was premature.",
        (False, None, None),
        {},
    ),
]


@pytest.mark.parametrize(
    ("text", "verdict", "insights"), [c[1:] for c in SAID], ids=[c[0] for c in SAID]
)
def test_a_models_own_words_count(
    text: str, verdict: tuple[Any, Any, Any], insights: dict[str, Any], settings: Settings
) -> None:
    llm = Scripted(text, text)  # prose is asked for as JSON once more
    gained = reflection_node(STATE, make_engine=partial(Engine, settings, llm=llm))
    found = gained["reflection_analysis"]
    names = ("decision_appropriate", "execution_effective", "confidence")
    assert tuple(found[name] for name in names) == verdict
    for name, value in insights.items():
        assert gained["reflection_insights"][name] == value
