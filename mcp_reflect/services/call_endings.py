"""The end of a call: it is recorded whether the call worked, and after a failure the agent reads the lesson about it."""

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
    repeated_failure: KnownFailure | None  # the known failure that this one repeats, if any
    was_warned: bool  # the agent was warned before this very call


async def note_ending(
    context: Context, scope: Scope, call: WatchedCall, answered: "CallWithAnswer"
) -> CallEnding:
    """Record how a call ended: that it worked, or its failure, and whether that repeats a known one."""
    from mcp_reflect.sessions.known_failures import failure_of  # noqa: PLC0415 - not needed before a call

    forms = call.forms
    fault = answered.fault
    failure: Failure | None = None
    repeated_failure: KnownFailure | None = None
    if fault is not None:
        repeated_failure = recurring_failure(call)
        failure = failure_of(call.tool, call.arguments, fault, "", forms=forms)
    was_warned = await context.bank.warnings.note_call(
        scope,
        call.session,
        WorkedCall(bare_key=forms.bare_key, exact_key=forms.exact_key),
        head=forms.head,
        failure=failure,
        judged=failure is not None and _has_failed_so(call, failure),
        recurrence=repeated_failure is not None,
        changed=fault is None and may_change(call.tool, call.arguments),
    )
    return CallEnding(failure, repeated_failure, was_warned)


def _has_failed_so(call: WatchedCall, failure: Failure) -> bool:
    """Return whether the bank knows a failure of the same call with the same error."""
    return any(known.error == failure.error for known in call.known.same_call)


async def note_followed(
    context: Context,
    scope: Scope,
    call: WatchedCall,
    whole_call: Call,
    ending: CallEnding,
    *,
    call_id: str | None,
) -> None:
    """Record whether a call did as advised: by guards that spoke before it, and by lessons that the session was shown.

    By these records hooks prove later that a lesson helped. `whole_call` is the call with all of its arguments; in
    `call` long texts are cut in the middle.
    """
    state = call.session
    worked = ending.failure is None
    if state.notes.guarded:
        await context.bank.warnings.settle_guards(
            scope, state, whole_call, call.forms.exact_key, worked=worked
        )
    # `shown` names failures with a colon in them; all other names are ids of lessons.
    lesson_ids = [name for name in state.shown if ":" not in name]
    await context.bank.outcomes.note_followed(
        scope, state.id, whole_call, shown=lesson_ids, worked=worked, call_id=call_id
    )


async def answer_to_failure(
    context: Context, scope: Scope, call: WatchedCall, ending: CallEnding, failure: Failure
) -> AfterCall:
    """Return the answer to a call that failed, with the lesson about its failure if there is one.

    | the call                                            | lessons that may be in the answer                    |
    |-----------------------------------------------------|------------------------------------------------------|
    | the agent was warned before it                      | none: it has just read one                           |
    | is of a session of the control group                | none: it measures work without lessons               |
    | repeats a known failure                             | those about the same call                            |
    | fails as no such call is known to fail              | these, and those about the same error of this tool   |
    """
    if ending.was_warned or call.session.held_out:
        return AfterCall(failed=True)
    with_same_error = KnownCalls()
    if ending.repeated_failure is None:
        with_same_error = await context.bank.warnings.same_error(
            scope, call.tool, failure.fingerprint
        )
    lessons = {**call.known.lessons, **with_same_error.lessons}
    call_with_lessons = replace(call, known=replace(call.known, lessons=lessons))
    advice = correct_after(
        call_with_lessons, failure, ending.repeated_failure, with_same_error.same_call
    )
    if advice is None:
        return AfterCall(failed=True)
    await _note_shown(context, scope, call.session, advice.shown)
    return AfterCall(failed=True, text=advice.text, lesson_id=advice.lesson_id)


def answered_call(tool: str, arguments: Json, result: Json, error: str | None) -> "CallWithAnswer":
    """Return a call with its answer, in the type from which the analysis of sessions reads faults."""
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
    """Note what a session was shown, so that it is shown once.

    Where the bank cannot be written, the lesson is shown once more later: better than not at all.
    """
    with suppress(BankError):
        await context.bank.warnings.note(scope, state, shown=[*shown])


async def record_correction(
    context: Context, scope: Scope, call: WatchedCall, answered: "CallWithAnswer"
) -> None:
    """Record the call that just worked as the correction of the latest failure of the session with the same intent.

    `npm tset` failed and `npm test` works: the second corrects the first. Only shell commands and edits of files say
    their intent: the arguments of another tool are values of its task.
    """
    recent_failures = [*maybe_corrected(call)]
    if not recent_failures:
        return
    # Not needed before a call:
    from mcp_reflect.sessions.session_calls import session_call  # noqa: PLC0415
    from mcp_reflect.sessions.worked_later import works_in_place_of  # noqa: PLC0415

    if not is_shell(call.tool) and file_of(call.arguments) is None:
        return
    working_call = session_call(0, answered)
    for failure in recent_failures:
        failed_call = session_call(
            0, answered_call(failure.tool, failure.arguments, None, failure.error)
        )
        if works_in_place_of(failed_call, working_call):
            await context.bank.warnings.note_correction(scope, failure, call.arguments)
            return
