"""Warn before a call that is known to fail or that goes against a lesson, and record how calls end.

`before_call` and `after_call` are what hooks, graphs and Python programs ask. What to say is decided in
`moments/advice_on_failures.py` (failures) and `moments/guarded.py` (guards of lessons); here the bank is read before
that, and written after it.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from mcp_reflect import services
from mcp_reflect.errors import BankError, InputError
from mcp_reflect.guards.call import Call
from mcp_reflect.guards.places import Where
from mcp_reflect.models.common import Json, Scope
from mcp_reflect.models.session_state import SessionNotes, SessionState
from mcp_reflect.models.warning import AfterCall, CallWarning, Match
from mcp_reflect.moments.advice_on_failures import WarningBefore, warn_before
from mcp_reflect.moments.expected_failures import WatchedCall
from mcp_reflect.moments.guarded import guarded, mode_in
from mcp_reflect.moments.payload import KEPT_CHARS
from mcp_reflect.security.gate import clean_answer, clean_middles
from mcp_reflect.security.redact import clean_text
from mcp_reflect.services.call_endings import (
    answer_to_failure,
    answered_call,
    note_ending,
    note_followed,
    record_correction,
)
from mcp_reflect.services.context import Context
from mcp_reflect.sessions.call_forms import Forms, forms_of
from mcp_reflect.sessions.own_calls import is_own_tool
from mcp_reflect.sessions.tools import without_labels
from mcp_reflect.text.signature import is_drawn

if TYPE_CHECKING:
    from mcp_reflect.sessions.calls import CallWithAnswer

_MAX_NAME_CHARS: Final = 200  # of the name of a tool, or the id of a session


def _session_id(session: str) -> str:
    """Return the id of a session without secrets; InputError for a long one, or one that shows nothing."""
    cleaned = clean_text(session[: _MAX_NAME_CHARS + 1])
    if not cleaned.strip() or len(session) > _MAX_NAME_CHARS:
        fault = f"it is empty or longer than {_MAX_NAME_CHARS} characters"
        raise InputError("session", fault, "Send the id of the session.")
    return cleaned


def _tool_name(tool: str) -> str:
    """Return the name of a tool without secrets; InputError for one that shows nothing, such as a zero-width space.

    What is stored of a call names its tool: without the name it could not be read again.
    """
    cleaned = clean_text(tool.strip()[:_MAX_NAME_CHARS]).strip()
    if not cleaned:
        raise InputError("tool", "it is empty", "Send the name of the tool.")
    return cleaned


async def session_state(context: Context, scope: Scope, session: str) -> SessionState:
    """Return the state of a session; InputError for an id that cannot be one."""
    session = _session_id(session)
    return await context.bank.warnings.session(
        scope, session, held_out=is_drawn(session, context.settings.holdout)
    )


async def _look_up(
    context: Context,
    tool: str,
    arguments: Json,
    *,
    session: str,
    project: str | None,
    where: Where | None,
) -> tuple[Scope, WatchedCall]:
    """Return a call with all that the bank knows about it and its session, and the scope that it belongs to.

    The arguments in the returned call are without secrets, and long texts in them are cut in the middle: these may be
    stored. Guards are compared with the whole call as it was sent, of which nothing is stored: what they look for may
    stand in the middle of a long text. Where a caller names the `project`, the call counts for that one, and the folder
    (`where`) chooses none. InputError for a call that cannot be used.
    """
    scope = context.scopes.named(project)
    whole_call = Call(tool, arguments)
    clean_tool = _tool_name(tool)
    session_id = _session_id(session)

    def clean_and_read() -> tuple[Json, Forms]:
        """Return the arguments as they may be stored, and the forms of that call."""
        clean_arguments = cast(
            "Json", clean_middles(without_labels(clean_tool, arguments), KEPT_CHARS)
        )
        return clean_arguments, forms_of(clean_tool, clean_arguments)

    try:  # in a thread: what a service is sent may take seconds, and other calls are answered meanwhile
        clean_arguments, forms = await asyncio.to_thread(clean_and_read)
    except RecursionError:
        raise InputError("arguments", "they are nested too deep", "Send flatter JSON.") from None
    state, known = await context.bank.warnings.known_calls(
        scope,
        session_id,
        held_out=is_drawn(session_id, context.settings.holdout),
        call=whole_call,
        bare_key=forms.bare_key,
        loose_key=forms.loose_key,
        head=forms.head,
        where=where if project is None else None,
    )
    return scope, WatchedCall(clean_tool, clean_arguments, forms, known, state)


async def before_call(
    context: Context,
    tool: str,
    arguments: Json,
    *,
    session: str,
    call_id: str | None = None,
    project: str | None = None,
    holds: bool = True,
    only_advice: bool = False,
    where: Where | None = None,
) -> CallWarning | None:
    """Return the warning that is due before a call, or None.

    A lesson's guard and a known failure may both object, and the agent reads one of them; the first row decides:

    | a guard of a lesson | the call is known to fail | the warning                               |
    |---------------------|---------------------------|-------------------------------------------|
    | refuses the call    | yes or no                 | the guard's                               |
    | speaks              | no                        | the guard's                               |
    | speaks, or is none  | yes                       | the failure's; none in the control group  |
    | is none             | no                        | none                                      |

    `holds`: the host can refuse the call. `only_advice`: nothing is said without a correction, and nothing twice.
    `where`: the folder in which the call is made, where a host of this machine says it.
    """
    if is_own_tool(tool, arguments):
        return None
    scope, call = await _look_up(
        context, tool, arguments, session=session, project=project, where=where
    )
    settings = context.settings
    guard_warning = await _guard_warning(context, scope, call, host_can_refuse=holds)
    warned = warn_before(
        call,
        certainty=settings.warn_certainty,
        can_refuse=holds and settings.hold,
        only_advice=only_advice,
    )
    if warned is None or (guard_warning is not None and guard_warning.hold):
        return guard_warning
    if call.session.held_out:
        record = _warning_record(call, warned, call_id, characters_read=0)
        await _is_recorded(context, scope, call, warning=record)
        return None
    change = None
    if warned.hold:
        change = partial(SessionNotes.after_hold, exact_key=call.forms.exact_key)
    is_recorded = await _is_recorded(
        context,
        scope,
        call,
        change=change,
        shown=warned.shown,
        warning=_warning_record(call, warned, call_id, characters_read=len(warned.text)),
    )
    return CallWarning(
        text=warned.text,
        hold=warned.hold and is_recorded,
        match=warned.due.match,
        certainty=warned.due.certainty,
        lesson_id=warned.lesson_id,
    )


def _warning_record(
    call: WatchedCall, warned: WarningBefore, call_id: str | None, *, characters_read: int
) -> Mapping[str, Any]:
    """Return the row that the bank keeps of a warning.

    A session of the control group is shown no warning, so that its agent reads 0 characters; the row is kept all the
    same, for the comparison.
    """
    return {
        "exact": call.forms.exact_key,
        "call_id": call_id,
        "lesson_id": warned.lesson_id,
        "failure": warned.due.known.row,
        "match": warned.due.match,
        "certainty": warned.due.certainty,
        "characters": characters_read,
    }


async def _is_recorded(
    context: Context,
    scope: Scope,
    call: WatchedCall,
    *,
    change: Callable[[SessionNotes], SessionNotes] | None = None,
    shown: Sequence[str] | None = None,
    warning: Mapping[str, Any] | None = None,
) -> bool:
    """Record what the agent is told before a call, and return whether that worked.

    A call may be refused only if that was recorded: otherwise it would be refused again and again. `change` makes the
    new notes of the session, `shown` are ids of what the session was shown, and `warning` is the record of a warning.
    """
    try:
        await context.bank.warnings.note(scope, call.session, change, shown=shown, warning=warning)
    except BankError:  # read-only or busy: the words are worth more than their record
        return False
    return True


async def _guard_warning(
    context: Context, scope: Scope, call: WatchedCall, *, host_can_refuse: bool
) -> CallWarning | None:
    """Return the warning with the lesson that the call goes against, and record that it was given; None for no such lesson.

    `guarded` chooses the lesson and whether its guard refuses the call or only tells the lesson; it refuses only where
    the host can. Here that choice meets the bank, which may fail to record the warning:

    | the guard                                         | is recorded | the call                                        |
    |---------------------------------------------------|-------------|-------------------------------------------------|
    | refuses, as a person enforces it                  | yes or no   | is refused every time                           |
    | refuses once                                      | yes         | is refused                                      |
    | refuses once                                      | no          | goes on: else it would be refused at every try  |
    | tells the lesson                                  | yes or no   | goes on                                         |
    """
    objection = guarded(
        call.known.guards,
        call.session,
        call.forms.exact_key,
        mode=mode_in(context.settings.guards, call.known.guard_mode),
        can_refuse=host_can_refuse,
        unread=call.known.unread,
    )
    if objection is None:
        return None

    def with_this_guard(notes: SessionNotes) -> SessionNotes:
        """Return the notes of the session with this call as one at which the guard has spoken."""
        return notes.after_guard(objection.note)

    is_recorded = await _is_recorded(
        context, scope, call, change=with_this_guard, shown=objection.shown
    )
    may_refuse = is_recorded or objection.enforced
    return CallWarning(
        text=await _with_remark(context, scope, objection.text, objection.lesson_id),
        hold=objection.hold and may_refuse,
        match=Match.GUARD,
        certainty=1.0,
        lesson_id=objection.lesson_id,
    )


async def _with_remark(context: Context, scope: Scope, text: str, lesson_id: str) -> str:
    """Return what a guard says of a lesson, with a second line where the lesson may be outdated.

    "Pull first." gets the line "Since that lesson was stored: deploy.sh changed since."
    """
    try:
        remarks = await services.ground.remarks_on(context, scope, (lesson_id,))
    except BankError:  # the guard speaks all the same
        return text
    if lesson_id not in remarks:
        return text
    return f"{text}\nSince that lesson was stored: {remarks[lesson_id].what_changed}."


async def after_call(
    context: Context,
    tool: str,
    arguments: Json,
    result: Json = None,
    *,
    error: str | None = None,
    session: str,
    project: str | None = None,
    shows_late: bool = False,
    reaches_agent: bool = True,
    call_id: str | None = None,
    witnessed: bool = True,
    where: Where | None = None,
) -> AfterCall:
    """Record the result of a call, and return what the agent is told of it.

    | the call                                  | recorded                            | told                        |
    |-------------------------------------------|-------------------------------------|-----------------------------|
    | is of a tool of this server               | which findings it settles           | nothing                     |
    | was reported by a tool alone              | that it was made: it proves nothing | an ask for a lesson         |
    | failed (the host's `error`, or by rules)  | its failure                         | the lesson about it         |
    | worked                                    | that, and which failure it corrects | an ask for a lesson         |

    `shows_late`: the host may have shown nothing before the call, so that the lesson which it goes against is told now.
    Without `witnessed` a tool alone reported the call. Without `reaches_agent` no agent reads the answer, so that no ask
    counts as asked. `where` is as for `before_call`.
    """
    if is_own_tool(tool, arguments):
        scope = context.scopes.named(project)
        await services.findings.after_own_call(
            context, scope, clean_text(session), tool, arguments, str(result)
        )
        return AfterCall(failed=False)
    scope, call = await _look_up(
        context, tool, arguments, session=session, project=project, where=where
    )
    answer = await asyncio.to_thread(clean_answer, arguments, result, error, KEPT_CHARS)
    clean_result, clean_error = cast("tuple[Json, str | None]", answer)
    answered = answered_call(call.tool, call.arguments, clean_result, clean_error)
    if not witnessed:
        await context.bank.warnings.note(scope, call.session)
        ask = await _ask_for_lesson(context, scope, call, answered, reaches_agent=reaches_agent)
        return AfterCall(failed=answered.fault is not None, text=ask)
    ending = await note_ending(context, scope, call, answered)
    whole_call = Call(tool, arguments)
    await note_followed(context, scope, call, whole_call, ending, call_id=call_id)
    ask = await _ask_for_lesson(context, scope, call, answered, reaches_agent=reaches_agent)
    if ending.failure is not None:
        return await answer_to_failure(context, scope, call, ending, ending.failure)
    await record_correction(context, scope, call, answered)
    if shows_late:
        late_warning = await _guard_warning(context, scope, call, host_can_refuse=False)
        if late_warning is not None:
            text, lesson_id = late_warning.text, late_warning.lesson_id
            return AfterCall(failed=False, text=text, lesson_id=lesson_id)
    return AfterCall(failed=False, text=ask)


async def _ask_for_lesson(
    context: Context,
    scope: Scope,
    call: WatchedCall,
    answered: "CallWithAnswer",
    *,
    reaches_agent: bool,
) -> str | None:
    """Note the call among those of its session; return the text that asks for a lesson, None if nothing is asked."""
    return await services.finding_asks.after_call(
        context, scope, call.session, answered, reaches_agent=reaches_agent
    )
