"""The seven triggers: each on its own, which one comes first, and what stands on a threshold."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.config import Settings
from mcp_reflect.schemas.triggers import StepArguments
from mcp_reflect.services.triggers import trigger_of

RAISED: dict[str, dict[str, Any]] = {
    "low_confidence": {"confidence": 0.49},
    "high_risk": {"risk_level": 0.71},
    "goal_drift": {"goal_drift": 0.41},
    "tool_failure": {"tool_failures": 1},
    "verification_failed": {"verification_failed": True},
    "user_critical": {"is_final_step": True},
    "periodic": {"step_number": 10},
}
steps = st.builds(
    StepArguments,
    confidence=st.floats(0, 1),
    risk_level=st.floats(0, 1),
    goal_drift=st.floats(0, 1),
    tool_failures=st.integers(0, 3),
    step_number=st.integers(0, 30),
    is_final_step=st.booleans(),
    verification_failed=st.booleans(),
)


def trigger(settings: Settings | None = None, **signals: Any) -> str | None:
    values: dict[str, Any] = {"confidence": 0.9, **signals}
    step = StepArguments(**values)
    found = trigger_of(step, settings or Settings())
    return found[0] if found else None


@pytest.mark.parametrize(("expected", "signal"), RAISED.items())
def test_each_signal_alone_is_its_trigger(expected: str, signal: dict[str, Any]) -> None:
    assert trigger(**signal) == expected


def test_a_calm_step_calls_for_nothing() -> None:
    assert trigger() is None


@pytest.mark.parametrize(
    "signal",
    [{"confidence": 0.5}, {"risk_level": 0.7}, {"goal_drift": 0.4}, {"tool_failures": 0}, {"step_number": 0}],
)
def test_a_signal_that_equals_its_threshold_does_not_count(signal: dict[str, Any]) -> None:
    assert trigger(**signal) is None


@given(raised=st.sets(st.sampled_from(list(RAISED)), min_size=1))
def test_the_first_that_holds_wins_whatever_else_holds(raised: set[str]) -> None:
    signals: dict[str, Any] = {}
    for name in raised:
        signals |= RAISED[name]
    assert trigger(**signals) == min(raised, key=list(RAISED).index)


def test_thresholds_move_the_triggers_and_an_interval_of_zero_never_comes() -> None:
    settings = Settings(quality_threshold=0.95, risk_threshold=0.1, drift_threshold=0.1, periodic_interval=0)
    assert trigger(settings) == "low_confidence"
    assert trigger(settings, confidence=1, step_number=10) is None
    assert trigger(replace(settings, periodic_interval=3), confidence=1, step_number=9) == "periodic"


@given(step=steps)
def test_the_reason_quotes_the_signal_that_raised_it(step: StepArguments) -> None:
    found = trigger_of(step, Settings())
    if found is None:
        return
    name, reason = found
    quoted = {
        "low_confidence": f"{step.confidence:g}",
        "high_risk": f"{step.risk_level:g}",
        "goal_drift": f"{step.goal_drift:g}",
        "tool_failure": f"{step.tool_failures} tool call",
        "verification_failed": "check",
        "user_critical": "final step",
        "periodic": f"Step {step.step_number}",
    }
    assert quoted[name] in reason
