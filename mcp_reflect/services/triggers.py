"""Whether to reflect at a step. All processes of a run share one count of reflections per step."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mcp_reflect.analysis.triggers import Thresholds, trigger_of
from mcp_reflect.errors import BankReadOnlyError
from mcp_reflect.models.trigger import Advice
from mcp_reflect.schemas.fields import read
from mcp_reflect.schemas.triggers import StepArguments
from mcp_reflect.services.context import Context


async def should_reflect(context: Context, arguments: Mapping[str, Any]) -> Advice:
    """Return whether to reflect, and why. A yes uses one of the reflections that the step may have."""
    sent = read(StepArguments, arguments, context.settings)
    advice = await _advise(context, sent)
    trigger = advice.trigger and advice.trigger.value
    context.log("reflection_considered", reflect=advice.reflect, trigger=trigger, run_id=sent.run_id)
    return replace(advice, ignored=sent.ignored)


async def _advise(context: Context, sent: StepArguments) -> Advice:
    settings, steps = context.settings, context.bank.steps
    scope = context.scopes.named(sent.project)
    if not settings.enabled:
        return Advice(reflect=False, reason="Reflection is switched off (MCP_REFLECT_ENABLED is false).")
    thresholds = Thresholds(
        confidence=settings.quality_threshold,
        risk=settings.risk_threshold,
        drift=settings.drift_threshold,
        interval=settings.periodic_interval,
    )
    limit = settings.max_reflections_per_step
    result = trigger_of(sent.signals(), thresholds)
    if result is None:
        left = None if sent.run_id is None else limit - await steps.taken(scope, sent.run_id, sent.step_number)
        reason = "Nothing calls for a reflection at this step."
        return Advice(reflect=False, reason=reason, reflections_left=None if left is None else max(left, 0))
    trigger, reason = result
    if sent.run_id is None:
        return Advice(reflect=True, trigger=trigger, reason=reason)
    try:
        taken = await steps.take(scope, sent.run_id, sent.step_number, limit)
    except BankReadOnlyError:
        return Advice(reflect=True, trigger=trigger, reason=f"{reason} The bank is read-only: nothing is counted.")
    if taken is None:
        spent = f"{reason} But this step has had its {limit} {'reflection' if limit == 1 else 'reflections'}: go on."
        return Advice(reflect=False, trigger=trigger, reason=spent, reflections_left=0)
    return Advice(reflect=True, trigger=trigger, reason=reason, reflections_left=limit - taken)
