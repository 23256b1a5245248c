"""Whether to reflect at a step. All processes of a run share one count of reflections per step.

Without a `run_id`, the steps of a session are counted: of an engine, which a server opens for its client. A session begins
another task, and the count starts again, where a step number goes back, with the prompt start_task, and where a tool is
called for another task or goal than it was before.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from mcp_reflect.config import Settings
from mcp_reflect.errors import BankReadOnlyError
from mcp_reflect.models.common import Scope
from mcp_reflect.schemas.reading import read
from mcp_reflect.schemas.step import StepArguments
from mcp_reflect.services.context import Context


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """The result of `should_reflect`."""

    reflect: bool  # False also where a trigger holds, and the step has used up its reflections
    trigger: str | None = None  # the signal that asks for a reflection
    reason: str
    reflections_left: int | None = None  # None if nothing is counted
    ignored: tuple[str, ...] = ()


def trigger_of(step: StepArguments, settings: Settings) -> tuple[str, str] | None:
    """Return the first trigger that holds, with its reason: ("low_confidence", "Confidence 0.4 is below 0.7.").

    None where none holds. A signal that equals its threshold does not count.
    """
    confidence = settings.quality_threshold
    if step.confidence < confidence:
        return "low_confidence", f"Confidence {step.confidence:g} is below {confidence:g}."
    risk = settings.risk_threshold
    if step.risk_level > risk:
        return "high_risk", f"Risk {step.risk_level:g} is above {risk:g}."
    drift = settings.drift_threshold
    if step.goal_drift > drift:
        return "goal_drift", f"The goal drift {step.goal_drift:g} is above {drift:g}."
    if step.tool_failures > 0:
        return "tool_failure", f"{_counted(step.tool_failures, 'tool call')} failed."
    if step.verification_failed:
        return "verification_failed", "A check of the work failed."
    if step.is_final_step:
        return "user_critical", "This is the final step: its result goes to the user."
    interval = settings.periodic_interval
    number = step.step_number
    if interval and number > 0 and number % interval == 0:
        return "periodic", f"Step {number}: time to reflect, as after every {interval}."
    return None


def _counted(count: int, what: str) -> str:
    """Return a number with the word for what it counts: "1 tool call", "2 tool calls"."""
    if count == 1:
        return f"1 {what}"
    return f"{count} {what}s"


async def should_reflect(context: Context, arguments: Mapping[str, Any]) -> Advice:
    """Return whether to reflect, and why. A yes uses one of the reflections that the step may have."""
    sent = read(StepArguments, arguments, context.settings)
    advice = await _advise(context, sent)
    context.log.info(
        "reflection_considered", reflect=advice.reflect, trigger=advice.trigger, run_id=sent.run_id
    )
    return replace(advice, ignored=sent.ignored)


async def begin_task(context: Context) -> None:
    """Reset the counts of the session's steps."""
    context.latest_step[context.scopes.own] = 0
    with suppress(BankReadOnlyError):
        await context.bank.steps.reset(context.scopes.own, context.session)


def note_task(context: Context, tool: str, task: str) -> None:
    """Note that another task begins where a tool is called for another one than before.

    Each tool is compared with itself: an agent words the task of a recall and the goal of a critique differently. The
    counts are reset when should_reflect asks for them: a recall writes nothing, and waits for no writer.
    """
    key = (context.scopes.own, tool)
    earlier_task = context.latest_task.get(key)
    context.latest_task[key] = task
    if earlier_task != task:
        context.begun_tasks.add(context.scopes.own)


async def _forget_an_earlier_task(context: Context, scope: Scope, sent: StepArguments) -> None:
    """Reset the count if the step number of the session goes back: a new run without an id begins then.

    A call that sends no step number says nothing of that, and a run with an id has a count of its own.
    """
    if sent.run_id is not None or "step_number" not in sent.model_fields_set:
        return
    if sent.step_number < context.latest_step.get(scope, 0):
        with suppress(BankReadOnlyError):
            await context.bank.steps.reset(scope, context.session)
    context.latest_step[scope] = sent.step_number


async def _advise(context: Context, sent: StepArguments) -> Advice:
    """Return whether to reflect; the counts of an earlier task are forgotten before this step is counted."""
    scope = context.scopes.named(sent.project)
    if not context.settings.enabled:
        return Advice(
            reflect=False, reason="Reflection is switched off (MCP_REFLECT_ENABLED is false)."
        )
    if context.scopes.own in context.begun_tasks:
        context.begun_tasks.discard(context.scopes.own)
        await begin_task(context)
    await _forget_an_earlier_task(context, scope, sent)
    triggered = trigger_of(sent, context.settings)
    if triggered is None:
        return await _advise_to_go_on(context, scope, sent)
    trigger, reason = triggered
    return await _advise_to_reflect(context, scope, sent, trigger, reason)


async def _advise_to_go_on(context: Context, scope: Scope, sent: StepArguments) -> Advice:
    """Return a no, with the reflections that the step still may have."""
    limit = context.settings.max_reflections_per_step
    run_id = sent.run_id or context.session
    used_count = await context.bank.steps.taken(scope, run_id, sent.step_number)
    return Advice(
        reflect=False,
        reason="Nothing calls for a reflection at this step.",
        reflections_left=max(limit - used_count, 0),
    )


async def _advise_to_reflect(
    context: Context, scope: Scope, sent: StepArguments, trigger: str, reason: str
) -> Advice:
    """Return a yes, which uses one of the reflections that the step may have, or a no where it had them all."""
    limit = context.settings.max_reflections_per_step
    run_id = sent.run_id or context.session
    steps = context.bank.steps
    try:
        used_count = await steps.take(scope, run_id, sent.step_number, limit)
    except BankReadOnlyError:
        return Advice(
            reflect=True,
            trigger=trigger,
            reason=f"{reason} The bank is read-only: nothing is counted.",
        )
    if used_count is None:
        why_not = f"{reason} But this step has had its {_counted(limit, 'reflection')}: go on."
        return Advice(reflect=False, trigger=trigger, reason=why_not, reflections_left=0)
    return Advice(reflect=True, trigger=trigger, reason=reason, reflections_left=limit - used_count)
