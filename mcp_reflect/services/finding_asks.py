"""When a session's agent is asked for a lesson: each of its calls is noted, and some of them complete a finding.

A finding is a call that failed together with the one that then worked. Hooks ask for a lesson about it beside the call
that completes it, and once more at the next prompt; or at the end of the session alone, as the setting `ask` says.
"""

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING

from mcp_reflect.errors import BankError
from mcp_reflect.models.common import Scope
from mcp_reflect.models.finding import Finding, SessionCall
from mcp_reflect.models.session_state import SessionState
from mcp_reflect.moments.asks import ask_again, ask_at_call
from mcp_reflect.security.injection import suspicion
from mcp_reflect.security.phrases import remembered
from mcp_reflect.services.context import Context

if TYPE_CHECKING:
    from mcp_reflect.sessions.calls import CallWithAnswer


class _AskMoment(StrEnum):
    """The values of the setting `ask` that name a moment at which a session is asked for lessons."""

    CALL = "call"
    STOP = "stop"


async def after_call(
    context: Context,
    scope: Scope,
    state: SessionState,
    call: "CallWithAnswer",
    *,
    reaches_agent: bool,
) -> str | None:
    """Note a call of a session; return the text that asks the agent for a lesson, None if nothing is asked.

    Without `reaches_agent` the call is noted all the same, and nothing is asked: the agent would not read it.
    """
    # Not needed before a call:
    from mcp_reflect.sessions.noticing import due_ask, found_after  # noqa: PLC0415
    from mcp_reflect.sessions.session_calls import session_call  # noqa: PLC0415

    phrases = remembered(f"{call.answer}\n{call.error}")

    def number_call_and_find(
        earlier_calls: Sequence[SessionCall],
    ) -> tuple[SessionCall, Finding | None]:
        """Return the call, numbered after the `earlier_calls` of its session, and the finding that it completes."""
        number = earlier_calls[-1].number + 1 if earlier_calls else 1
        numbered_call = session_call(number, call)
        finding = found_after(earlier_calls, numbered_call)
        if finding is not None and gives_orders(finding):
            finding = None
        return replace(numbered_call, phrases=phrases), finding

    choose_ask = None  # nothing is asked
    if reaches_agent and _is_asked_at(_AskMoment.CALL, context, state):
        choose_ask = due_ask
    asked_finding = await context.bank.findings.note_call(
        scope, state.id, number_call_and_find, choose_ask
    )
    if asked_finding is None:
        return None
    return ask_at_call(asked_finding)


def gives_orders(finding: Finding) -> bool:
    """Return whether a finding's line, which an ask would repeat, is an output that gives orders to its reader.

    The calls are the agent's own: what it typed itself is no order to it.
    """
    return bool(suspicion((finding.line,)))


async def ask_once_more(
    context: Context, scope: Scope, state: SessionState, *, at_stop: bool = False
) -> str | None:
    """Return the line about findings of a session of which nobody made a lesson, None if there is none.

    | the setting `ask` | asked at            | about                                | times asked before |
    |-------------------|---------------------|--------------------------------------|--------------------|
    | `call`            | the next prompt     | findings that a call was asked about | 1                  |
    | `stop`            | the stop alone      | findings of the whole session        | 0                  |

    Nothing is asked where the bank cannot note that it was: the same line would then come again and again.
    """
    moment = _AskMoment.STOP if at_stop else _AskMoment.CALL
    if not _is_asked_at(moment, context, state):
        return None
    times_asked = 0 if at_stop else 1
    open_findings = await context.bank.findings.open_in(scope, state.id)
    due = [stored for stored in open_findings if stored.asked == times_asked]
    if not due:
        return None
    ids = [stored.id for stored in due]
    try:
        await context.bank.findings.note_asked(scope, ids, times=times_asked + 1)
    except BankError:
        return None
    return ask_again([stored.finding for stored in due])


def _is_asked_at(moment: _AskMoment, context: Context, state: SessionState) -> bool:
    """Return whether a session is asked for lessons at a moment: at the one alone that the setting `ask` names.

    A session of the control group, which measures work without lessons, is never asked.
    """
    return context.settings.ask == moment and not state.held_out
