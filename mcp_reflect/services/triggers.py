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
from mcp_reflect.schemas.fields import read
from mcp_reflect.schemas.run import StepArguments
from mcp_reflect.services.context import Context


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """The result of `should_reflect`.

    `trigger` is the signal that asks for a reflection; `reflect` is False in spite of it where the step has used up its
    reflections. `reflections_left` is None if nothing is counted.
    """

    reflect: bool
    trigger: str | None = None
    reason: str
    reflections_left: int | None = None
    ignored: tuple[str, ...] = ()


def trigger_of(step: StepArguments, settings: Settings) -> tuple[str, str] | None:
    """Return the first trigger that holds and its reason. A signal that equals its threshold does not count."""
    confidence, risk, drift = (
        settings.quality_threshold,
        settings.risk_threshold,
        settings.drift_threshold,
    )
    interval, number, failures = settings.periodic_interval, step.step_number, step.tool_failures
    triggers = (
        (
            "low_confidence",
            step.confidence < confidence,
            f"Confidence {step.confidence:g} is below {confidence:g}.",
        ),
        ("high_risk", step.risk_level > risk, f"Risk {step.risk_level:g} is above {risk:g}."),
        (
            "goal_drift",
            step.goal_drift > drift,
            f"The goal drift {step.goal_drift:g} is above {drift:g}.",
        ),
        (
            "tool_failure",
            failures > 0,
            f"{failures} tool {'call' if failures == 1 else 'calls'} failed.",
        ),
        ("verification_failed", step.verification_failed, "A check of the work failed."),
        (
            "user_critical",
            step.is_final_step,
            "This is the final step: its result goes to the user.",
        ),
        (
            "periodic",
            interval and number > 0 and number % interval == 0,
            f"Step {number}: time to reflect, as after every {interval}.",
        ),
    )
    return next(((name, reason) for name, holds, reason in triggers if holds), None)


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
    before = context.latest_task.get(key)
    context.latest_task[key] = task
    if before != task:
        context.begun_tasks.add(context.scopes.own)


async def _forget_an_earlier_task(context: Context, scope: Scope, sent: StepArguments) -> None:
    """Reset the count if the step number of the session goes back: a new run without a name begins."""
    if sent.run_id is not None or "step_number" not in sent.model_fields_set:
        return
    if sent.step_number < context.latest_step.get(scope, 0):
        with suppress(BankReadOnlyError):
            await context.bank.steps.reset(scope, context.session)
    context.latest_step[scope] = sent.step_number


async def _advise(context: Context, sent: StepArguments) -> Advice:
    scope, steps = context.scopes.named(sent.project), context.bank.steps
    if not context.settings.enabled:
        return Advice(
            reflect=False, reason="Reflection is switched off (MCP_REFLECT_ENABLED is false)."
        )
    if context.scopes.own in context.begun_tasks:
        context.begun_tasks.discard(context.scopes.own)
        await begin_task(context)
    await _forget_an_earlier_task(context, scope, sent)
    limit = context.settings.max_reflections_per_step
    trigger, reason = trigger_of(sent, context.settings) or (
        None,
        "Nothing calls for a reflection at this step.",
    )
    run_id = sent.run_id or context.session
    if trigger is None:
        left = max(limit - await steps.taken(scope, run_id, sent.step_number), 0)
        return Advice(reflect=False, reason=reason, reflections_left=left)
    try:
        taken = await steps.take(scope, run_id, sent.step_number, limit)
    except BankReadOnlyError:
        return Advice(
            reflect=True,
            trigger=trigger,
            reason=f"{reason} The bank is read-only: nothing is counted.",
        )
    if taken is None:
        spent = f"{reason} But this step has had its {limit} {'reflection' if limit == 1 else 'reflections'}: go on."
        return Advice(reflect=False, trigger=trigger, reason=spent, reflections_left=0)
    return Advice(reflect=True, trigger=trigger, reason=reason, reflections_left=limit - taken)
