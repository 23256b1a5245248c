"""When to reflect: the signals of a step, and the advice that follows from them."""

from dataclasses import dataclass
from enum import StrEnum


class Trigger(StrEnum):
    """Why a step should be looked back on, in the order in which they are asked; the first that holds counts."""

    LOW_CONFIDENCE = "low_confidence"
    HIGH_RISK = "high_risk"
    GOAL_DRIFT = "goal_drift"
    TOOL_FAILURE = "tool_failure"
    VERIFICATION_FAILED = "verification_failed"
    USER_CRITICAL = "user_critical"
    PERIODIC = "periodic"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """A step of a run as the agent sees it. `confidence`, `risk_level` and `goal_drift` are in 0..1."""

    confidence: float
    risk_level: float = 0.0
    goal_drift: float = 0.0
    tool_failures: int = 0
    step_number: int = 0
    is_final_step: bool = False
    verification_failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What `should_reflect` returns.

    `trigger` is what calls for looking back, null for nothing; `reflect` is false in spite of it where the
    step has had its share. `reflections_left` is what the step of this run may still have, null without a run.
    """

    reflect: bool
    trigger: Trigger | None = None
    reason: str
    reflections_left: int | None = None
    ignored: tuple[str, ...] = ()
