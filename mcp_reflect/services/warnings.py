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
from mcp_reflect.moments.advice_on_failures import Warned, warn_before
from mcp_reflect.moments.expected_failures import WatchedCall
from mcp_reflect.moments.guarded import guarded, mode_in
from mcp_reflect.moments.payload import KEPT_CHARS
from mcp_reflect.security.gate import clean_ends, clean_middles, clean_output
from mcp_reflect.security.redact import clean
from mcp_reflect.services.call_endings import (
    answered_call,
    note_ending,
    note_followed,
    record_correction,
    told_after_failure,
)
from mcp_reflect.services.context import Context
from mcp_reflect.sessions.call_forms import Forms, forms_of
from mcp_reflect.sessions.own_calls import is_own_tool
from mcp_reflect.sessions.tools import without_labels
from mcp_reflect.text.signature import is_drawn

if TYPE_CHECKING:
    from mcp_reflect.sessions.calls import CallWithAnswer

_MOST_NAME: Final = 200  # characters of the name of a tool, or the id of a session


def _session_id(session: str) -> str:
    """Return the id of a session without secrets; InputError for an empty or a long one."""
    if not session.strip() or len(session) > _MOST_NAME:
        raise InputError(
            "session", "it is empty or longer than 200 characters", "Send the id of the session."
        )
    return clean(session)


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

    What is kept of its arguments has no secrets, and of long texts the ends. Guards are compared with the whole call as
    it was sent, of which nothing is stored: what they look for may stand in the middle of a long text. Where a caller
    names the `project`, the call counts for that one, and the folder (`where`) chooses none. InputError for what cannot
    be used.
    """
    scope = context.scopes.named(project)
    if not tool.strip():
        raise InputError("tool", "it is empty", "Send the name of the tool.")
    whole_call = Call(tool, arguments)
    tool = clean(tool.strip()[:_MOST_NAME])
    session = _session_id(session)

    def read_call() -> tuple[Json, Forms]:
        """Return what is kept of the arguments, and the forms of that."""
        kept = cast("Json", clean_middles(without_labels(tool, arguments), KEPT_CHARS))
        return kept, forms_of(tool, kept)

    try:  # in a thread: what a service is sent may take seconds, and other calls are answered meanwhile
        kept, forms = await asyncio.to_thread(read_call)
    except RecursionError:
        raise InputError("arguments", "they are nested too deep", "Send flatter JSON.") from None
    state, known = await context.bank.warnings.known_calls(
        scope,
        session,
        held_out=is_drawn(session, context.settings.holdout),
        call=whole_call,
        bare_key=forms.bare_key,
        loose_key=forms.loose_key,
        head=forms.head,
        where=where if project is None else None,
    )
    return scope, WatchedCall(tool, kept, forms, known, state)


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

    `holds`: the host can refuse the call. `only_advice`: nothing is said without a correction, and nothing twice.
    `where`: the folder in which the call is made, where a host of this machine says it.

    | a guard of a lesson | the call is known to fail | said                                      |
    |---------------------|---------------------------|-------------------------------------------|
    | refuses the call    | any                       | the lesson                                |
    | any                 | no                        | the lesson, if its guard speaks           |
    | does not refuse     | yes                       | the failure; in the control group nothing |
    """
    if is_own_tool(tool, arguments):
        return None
    scope, call = await _look_up(
        context, tool, arguments, session=session, project=project, where=where
    )
    settings = context.settings
    guard_warning = await _at_guard(context, scope, call, holds=holds)
    warned = warn_before(
        call,
        certainty=settings.warn_certainty,
        can_refuse=holds and settings.hold,
        only_advice=only_advice,
    )
    if warned is None or (guard_warning is not None and guard_warning.hold):
        return guard_warning
    if call.session.held_out:
        record = _record(call, warned, call_id, characters=0)
        await _is_noted(context, scope, call, warning=record)
        return None
    change = None
    if warned.hold:
        change = partial(SessionNotes.after_hold, exact=call.forms.exact_key)
    is_noted = await _is_noted(
        context,
        scope,
        call,
        change=change,
        shown=warned.shown,
        warning=_record(call, warned, call_id, characters=len(warned.text)),
    )
    return CallWarning(
        text=warned.text,
        hold=warned.hold and is_noted,
        match=warned.due.match,
        certainty=warned.due.certainty,
        lesson_id=warned.lesson_id,
    )


def _record(
    call: WatchedCall, warned: Warned, call_id: str | None, *, characters: int
) -> Mapping[str, Any]:
    """Return what the bank keeps of a warning, of which the agent reads so many `characters`."""
    return {
        "exact": call.forms.exact_key,
        "call_id": call_id,
        "lesson_id": warned.lesson_id,
        "failure": warned.due.known.row,
        "match": warned.due.match,
        "certainty": warned.due.certainty,
        "characters": characters,
    }


async def _is_noted(
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


async def _at_guard(
    context: Context, scope: Scope, call: WatchedCall, *, holds: bool
) -> CallWarning | None:
    """Return what the agent is told of a lesson that the call goes against, and record it; None for nothing.

    | the guard of the lesson                           | recorded   | the call                                        |
    |---------------------------------------------------|------------|-------------------------------------------------|
    | refuses once, and the host can (`holds`)          | yes        | is refused                                      |
    | the same                                          | no         | goes on: else it would be refused at every try  |
    | is enforced by a person                           | any        | is refused every time                           |
    | tells the lesson                                  | any        | goes on                                         |
    """
    objection = guarded(
        call.known.guards,
        call.session,
        call.forms.exact_key,
        mode=mode_in(context.settings.guards, call.known.guard_mode),
        can_refuse=holds,
        unread=call.known.unread,
    )
    if objection is None:
        return None

    def after_guard(notes: SessionNotes) -> SessionNotes:
        """Return the notes of the session with this call as one at which the guard has spoken."""
        return notes.after_guard(objection.note)

    is_noted = await _is_noted(context, scope, call, change=after_guard, shown=objection.shown)
    may_refuse = is_noted or objection.enforced
    return CallWarning(
        text=await _with_change(context, scope, objection.text, objection.lesson_id),
        hold=objection.hold and may_refuse,
        match=Match.GUARD,
        certainty=1.0,
        lesson_id=objection.lesson_id,
    )


async def _with_change(context: Context, scope: Scope, text: str, lesson_id: str) -> str:
    """Return what is said of a lesson, with what changed since it was stored: the agent may know that it is outdated."""
    try:
        marks = await services.ground.marks_of(context, scope, (lesson_id,))
    except BankError:  # the guard speaks all the same
        return text
    if lesson_id not in marks:
        return text
    return f"{text}\nSince that lesson was stored: {marks[lesson_id].what_changed}."


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
    answers: bool = True,
    call_id: str | None = None,
    witnessed: bool = True,
    where: Where | None = None,
) -> AfterCall:
    """Record the result of a call, and return what the agent is told of it.

    | the call                                  | recorded                            | told                        |
    |-------------------------------------------|-------------------------------------|-----------------------------|
    | is of a tool of ours                      | which findings it settles           | nothing                     |
    | was reported by a tool alone              | that it was made: it proves nothing | an ask for a lesson         |
    | failed (the host's `error`, or by rules)  | its failure                         | the lesson about it         |
    | worked                                    | that, and which failure it corrects | an ask for a lesson         |

    `shows_late`: the host shows nothing before a call, so that the lesson which a call goes against is told now. Not
    `witnessed`: a tool alone reported the call. Without `answers` nobody reads what is told, so that nothing counts as
    told. `where` is as for `before_call`.
    """
    if is_own_tool(tool, arguments):
        scope = context.scopes.named(project)
        await services.findings.after_own_call(
            context, scope, clean(session), tool, arguments, str(result)
        )
        return AfterCall(failed=False)
    scope, call = await _look_up(
        context, tool, arguments, session=session, project=project, where=where
    )
    answered = answered_call(
        call.tool,
        call.arguments,
        cast("Json", await asyncio.to_thread(clean_output, result, KEPT_CHARS)),
        None if error is None else clean_ends(error, KEPT_CHARS),
    )
    if not witnessed:
        await context.bank.warnings.note(scope, call.session)
        ask = await _ask_for_lesson(context, scope, call, answered, answers=answers)
        return AfterCall(failed=answered.fault is not None, text=ask)
    ended = await note_ending(context, scope, call, answered)
    await note_followed(context, scope, call, Call(tool, arguments), ended, call_id)
    ask = await _ask_for_lesson(context, scope, call, answered, answers=answers)
    if ended.failure is not None:
        return await told_after_failure(context, scope, call, ended, ended.failure)
    await record_correction(context, scope, call, answered)
    late_warning = None
    if shows_late:
        late_warning = await _at_guard(context, scope, call, holds=False)
    if late_warning is None:
        return AfterCall(failed=False, text=ask)
    return AfterCall(failed=False, text=late_warning.text, lesson_id=late_warning.lesson_id)


async def _ask_for_lesson(
    context: Context, scope: Scope, call: WatchedCall, answered: "CallWithAnswer", *, answers: bool
) -> str | None:
    """Note the call among those of its session; return the text that asks for a lesson, None if nothing is asked."""
    return await services.findings.after_call(
        context, scope, call.session, answered, answers=answers
    )
