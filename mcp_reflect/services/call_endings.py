"""The end of a call: what is recorded of it, and what the agent is told where it failed."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mcp_reflect.errors import BankError
from mcp_reflect.guards.call import Call
from mcp_reflect.models.common import Json, Scope
from mcp_reflect.models.run import Failure, WorkedCall
from mcp_reflect.models.session_state import SessionState
from mcp_reflect.models.warning import AfterCall, KnownCalls, KnownFailure
from mcp_reflect.moments.advice_on_failures import (
    correct_after,
    maybe_corrected,
    recurring_failure,
)
from mcp_reflect.moments.expected_failures import WatchedCall
from mcp_reflect.moments.payload import text_of
from mcp_reflect.services.context import Context
from mcp_reflect.sessions.tools import file_of, is_shell, may_change

if TYPE_CHECKING:
    from mcp_reflect.sessions.calls import CallWithAnswer


@dataclass(frozen=True, slots=True)
class CallEnding:
    """How a call ended."""

    failure: Failure | None  # None: it worked
    repeats: KnownFailure | None  # the known failure that this one repeats, if any
    was_warned: bool  # the agent was warned before this very call


async def note_ending(
    context: Context, scope: Scope, call: WatchedCall, answered: "CallWithAnswer"
) -> CallEnding:
    """Record how a call ended: that it worked, or its failure, and whether that repeats a known one."""
    from mcp_reflect.sessions.known_failures import failure_of  # noqa: PLC0415 - not needed before a call

    forms, fault = call.forms, answered.fault
    failure = repeats = None
    if fault is not None:
        repeats = recurring_failure(call)
        failure = failure_of(call.tool, call.arguments, fault, "", forms=forms)
    was_warned = await context.bank.warnings.note_call(
        scope,
        call.session,
        WorkedCall(bare_key=forms.bare_key, exact_key=forms.exact_key),
        head=forms.head,
        failure=failure,
        judged=failure is not None and _has_failed_so(call, failure),
        recurrence=repeats is not None,
        changed=fault is None and may_change(call.tool, call.arguments),
    )
    return CallEnding(failure, repeats, was_warned)


def _has_failed_so(call: WatchedCall, failure: Failure) -> bool:
    """Return whether the same call failed with the same error before."""
    return any(known.error == failure.error for known in call.known.same_call)


async def note_followed(
    context: Context,
    scope: Scope,
    call: WatchedCall,
    whole: Call,
    ended: CallEnding,
    call_id: str | None,
) -> None:
    """Record what the call means for guards that spoke before, and for lessons that the session was shown.

    `whole` is the call with all of its arguments, of which `call` has the ends of long texts alone.
    """
    state = call.session
    worked = ended.failure is None
    if state.notes.guarded:
        exact = call.forms.exact_key
        await context.bank.warnings.settle_guards(scope, state, whole, exact, worked=worked)
    # What a session was shown of failures has names with a colon; the others are ids of lessons.
    lesson_ids = [name for name in state.shown if ":" not in name]
    await context.bank.outcomes.note_followed(
        scope, state.id, whole, shown=lesson_ids, worked=worked, call_id=call_id
    )


async def told_after_failure(
    context: Context, scope: Scope, call: WatchedCall, ended: CallEnding, failure: Failure
) -> AfterCall:
    """Return the answer to a call that failed, with the lesson about its failure if there is one.

    No lesson is told to a session of the control group, nor where the agent was warned before the call. If the failure
    repeats none that is known of such a call, the lessons about the same error of this tool count as well.
    """
    if ended.was_warned or call.session.held_out:
        return AfterCall(failed=True)
    with_same_error = KnownCalls()
    if ended.repeats is None:
        with_same_error = await context.bank.warnings.same_error(
            scope, call.tool, failure.fingerprint
        )
    lessons = {**call.known.lessons, **with_same_error.lessons}
    call = replace(call, known=replace(call.known, lessons=lessons))
    advice = correct_after(call, failure, ended.repeats, with_same_error.same_call)
    if advice is None:
        return AfterCall(failed=True)
    await _note_shown(context, scope, call.session, advice.shown)
    return AfterCall(failed=True, text=advice.text, lesson_id=advice.lesson_id)


def answered_call(tool: str, arguments: Json, result: Json, error: str | None) -> "CallWithAnswer":
    """Return a call with its answer, as the analysis reads it."""
    from mcp_reflect.sessions.calls import CallWithAnswer  # noqa: PLC0415 - not needed before a call

    return CallWithAnswer(
        tool=tool,
        arguments=arguments,
        answer=text_of(result),
        error=error or "",
        marked_failed=error is not None,
        event_id="",
        answer_id="",
        answered=True,
    )


async def _note_shown(
    context: Context, scope: Scope, state: SessionState, shown: Iterable[str]
) -> None:
    """Note what a session was shown. Where that fails, it is shown once more: better than not at all."""
    with suppress(BankError):
        await context.bank.warnings.note(scope, state, shown=[*shown])


async def record_correction(
    context: Context, scope: Scope, call: WatchedCall, answered: "CallWithAnswer"
) -> None:
    """Record the call that just worked as the correction of the latest failure of the session with the same intent.

    Only shell commands and edits of files say their intent: the arguments of another tool are values of its task.
    """
    recent_failures = [*maybe_corrected(call)]
    if not recent_failures:
        return
    # Not needed before a call:
    from mcp_reflect.sessions.session_calls import session_call  # noqa: PLC0415
    from mcp_reflect.sessions.worked_later import works_in_place_of  # noqa: PLC0415

    if not is_shell(call.tool) and file_of(call.arguments) is None:
        return
    worked = session_call(0, answered)
    for known in recent_failures:
        failed = session_call(0, answered_call(known.tool, known.arguments, None, known.error))
        if works_in_place_of(failed, worked):
            await context.bank.warnings.note_correction(scope, known, call.arguments)
            return
