"""Whether to reflect now; all processes of a run share the budget of its steps."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from mcp_reflect.analysis.triggers import Thresholds, trigger_of
from mcp_reflect.config import Settings
from mcp_reflect.errors import BankReadOnlyError
from mcp_reflect.models.common import Scope
from mcp_reflect.models.trigger import Advice, Trigger
from mcp_reflect.schemas.fields import read
from mcp_reflect.schemas.triggers import StepShape

if TYPE_CHECKING:
    from mcp_reflect.services.context import Context


OFF: Final = "Looking back is switched off here (MCP_REFLECT_ENABLED is false)."
NOTHING: Final = "Nothing calls for looking back at this step."


async def should_reflect(context: "Context", arguments: Mapping[str, Any]) -> Advice:
    """Whether this step should be looked back on, and why; a yes takes one of the reflections that it may have."""
    sent = read(StepShape, arguments, context.settings)
    scope = context.scopes.named(sent.project)
    if not context.settings.enabled:
        return _told(context, sent.run_id, Advice(reflect=False, reason=OFF))
    found = trigger_of(sent.signals(), thresholds(context.settings))
    if sent.run_id is None:
        trigger, reason = found or (None, NOTHING)
        return _told(context, None, Advice(reflect=found is not None, trigger=trigger, reason=reason))
    most = context.settings.max_reflections_per_step
    advice = await _within_budget(context, scope, (sent.run_id, sent.step_number), found, most)
    return _told(context, sent.run_id, advice)


def thresholds(settings: Settings) -> Thresholds:
    """From where on a signal counts, as a person set it."""
    return Thresholds(
        confidence=settings.quality_threshold,
        risk=settings.risk_threshold,
        drift=settings.drift_threshold,
        interval=settings.periodic_interval,
    )


async def _within_budget(
    context: "Context", scope: Scope, step: tuple[str, int], found: tuple[Trigger, str] | None, most: int
) -> Advice:
    if found is None:
        left = max(most - await context.bank.steps.taken(scope, *step), 0)
        return Advice(reflect=False, reason=NOTHING, reflections_left=left)
    trigger, reason = found
    try:
        taken = await context.bank.steps.take(scope, *step, most)
    except BankReadOnlyError:
        uncounted = f"{reason} The bank can only be read: nothing is counted."
        return Advice(reflect=True, trigger=trigger, reason=uncounted)
    if taken is None:
        spent = f"{reason} But this step has had its {most} {'reflection' if most == 1 else 'reflections'}: go on."
        return Advice(reflect=False, trigger=trigger, reason=spent, reflections_left=0)
    return Advice(reflect=True, trigger=trigger, reason=reason, reflections_left=most - taken)


def _told(context: "Context", run_id: str | None, advice: Advice) -> Advice:
    trigger = advice.trigger and advice.trigger.value
    context.log("reflection_considered", reflect=advice.reflect, trigger=trigger, run_id=run_id)
    return advice
