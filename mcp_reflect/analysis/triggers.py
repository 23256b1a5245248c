"""The seven triggers of a reflection."""

from dataclasses import dataclass
from typing import Final

from mcp_reflect.models.trigger import Signals, Trigger


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """From where on a signal counts. Shares in 0..1; `interval` in steps, 0 for never."""

    confidence: float = 0.5
    risk: float = 0.7
    drift: float = 0.4
    interval: int = 5


DEFAULTS: Final = Thresholds()


def trigger_of(seen: Signals, limits: Thresholds = DEFAULTS) -> tuple[Trigger, str] | None:
    """The first trigger that holds and a sentence that says why; nothing where none does.

    A signal that stands exactly on its threshold does not count.
    """
    if seen.confidence < limits.confidence:
        return Trigger.LOW_CONFIDENCE, f"Confidence {seen.confidence:g} is below {limits.confidence:g}."
    if seen.risk_level > limits.risk:
        return Trigger.HIGH_RISK, f"Risk {seen.risk_level:g} is above {limits.risk:g}."
    if seen.goal_drift > limits.drift:
        return Trigger.GOAL_DRIFT, f"The work is {seen.goal_drift:g} away from its goal, more than {limits.drift:g}."
    if seen.tool_failures > 0:
        calls = "call" if seen.tool_failures == 1 else "calls"
        return Trigger.TOOL_FAILURE, f"{seen.tool_failures} tool {calls} failed."
    if seen.verification_failed:
        return Trigger.VERIFICATION_FAILED, "A check of the work failed."
    if seen.is_final_step:
        return Trigger.USER_CRITICAL, "This is the final step: what it gives goes to the person."
    if limits.interval and seen.step_number > 0 and seen.step_number % limits.interval == 0:
        return Trigger.PERIODIC, f"Step {seen.step_number}: time to look back, as after every {limits.interval}."
    return None
