"""The seven triggers: each on its own, which one comes first, and what stands on a threshold."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.analysis.triggers import Thresholds, trigger_of
from mcp_reflect.models.trigger import Signals, Trigger

CALM = Signals(confidence=0.9)
RAISED: dict[Trigger, dict[str, Any]] = {
    Trigger.LOW_CONFIDENCE: {"confidence": 0.49},
    Trigger.HIGH_RISK: {"risk_level": 0.71},
    Trigger.GOAL_DRIFT: {"goal_drift": 0.41},
    Trigger.TOOL_FAILURE: {"tool_failures": 1},
    Trigger.VERIFICATION_FAILED: {"verification_failed": True},
    Trigger.USER_CRITICAL: {"is_final_step": True},
    Trigger.PERIODIC: {"step_number": 10},
}
steps = st.builds(
    Signals,
    confidence=st.floats(0, 1),
    risk_level=st.floats(0, 1),
    goal_drift=st.floats(0, 1),
    tool_failures=st.integers(0, 3),
    step_number=st.integers(0, 30),
    is_final_step=st.booleans(),
    verification_failed=st.booleans(),
)


def trigger(seen: Signals, limits: Thresholds | None = None) -> Trigger | None:
    found = trigger_of(seen, limits or Thresholds())
    return found[0] if found else None


@pytest.mark.parametrize(("expected", "signal"), RAISED.items())
def test_each_signal_alone_is_its_trigger(expected: Trigger, signal: dict[str, Any]) -> None:
    assert trigger(replace(CALM, **signal)) == expected


def test_a_calm_step_calls_for_nothing() -> None:
    assert trigger_of(CALM) is None


@pytest.mark.parametrize(
    "signal",
    [{"confidence": 0.5}, {"risk_level": 0.7}, {"goal_drift": 0.4}, {"tool_failures": 0}, {"step_number": 0}],
)
def test_what_stands_on_its_threshold_does_not_count(signal: dict[str, Any]) -> None:
    assert trigger(replace(CALM, **signal)) is None


@given(raised=st.sets(st.sampled_from(list(Trigger)), min_size=1))
def test_the_first_that_holds_wins_whatever_else_holds(raised: set[Trigger]) -> None:
    signals: dict[str, Any] = {}
    for name in raised:
        signals |= RAISED[name]
    assert trigger(replace(CALM, **signals)) == min(raised, key=list(Trigger).index)


def test_thresholds_move_the_triggers_and_an_interval_of_none_never_comes() -> None:
    limits = Thresholds(confidence=0.95, risk=0.1, drift=0.1, interval=0)
    assert trigger(CALM, limits) == Trigger.LOW_CONFIDENCE
    assert trigger(replace(CALM, confidence=1, step_number=10), limits) is None
    assert trigger(replace(CALM, confidence=1, step_number=9), replace(limits, interval=3)) == Trigger.PERIODIC


@given(seen=steps)
def test_the_reason_quotes_the_signal_that_raised_it(seen: Signals) -> None:
    found = trigger_of(seen)
    if found is None:
        return
    kind, reason = found
    quoted = {
        Trigger.LOW_CONFIDENCE: f"{seen.confidence:g}",
        Trigger.HIGH_RISK: f"{seen.risk_level:g}",
        Trigger.GOAL_DRIFT: f"{seen.goal_drift:g}",
        Trigger.TOOL_FAILURE: f"{seen.tool_failures} tool call",
        Trigger.VERIFICATION_FAILED: "check",
        Trigger.USER_CRITICAL: "final step",
        Trigger.PERIODIC: f"Step {seen.step_number}",
    }
    assert quoted[kind] in reason
