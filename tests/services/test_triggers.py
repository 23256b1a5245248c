"""The seven triggers: each on its own, which one comes first, and what stands on a threshold."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.config import Settings
from mcp_reflect.schemas.run import StepArguments
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


def trigger(**signals: Any) -> str | None:
    values: dict[str, Any] = {"confidence": 0.9, **signals}
    step = StepArguments(**values)
    found = trigger_of(step, Settings())
    return found[0] if found else None


@pytest.mark.parametrize(("expected", "signal"), RAISED.items())
def test_each_signal_alone_is_its_trigger(expected: str, signal: dict[str, Any]) -> None:
    assert trigger(**signal) == expected


@given(raised=st.sets(st.sampled_from(list(RAISED)), min_size=1))
def test_the_first_that_holds_wins_whatever_else_holds(raised: set[str]) -> None:
    signals: dict[str, Any] = {}
    for name in raised:
        signals |= RAISED[name]
    assert trigger(**signals) == min(raised, key=list(RAISED).index)


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
