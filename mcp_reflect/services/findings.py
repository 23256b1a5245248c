"""Notice what is hard-won in a session, ask for a lesson about it, and note what became of it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mcp_reflect import services
from mcp_reflect.errors import BankError, InputError
from mcp_reflect.models.common import Json, Scope
from mcp_reflect.models.finding import Finding, FindingState, SessionCall, StoredFinding
from mcp_reflect.models.lesson import State, Stored
from mcp_reflect.models.warning import SessionState
from mcp_reflect.moments.texts import ask_again, ask_at_call
from mcp_reflect.security.injection import suspicion
from mcp_reflect.services.context import Context
from mcp_reflect.sessions.text import shares_words
from mcp_reflect.sessions.tools import LESSON_ID, told_in

if TYPE_CHECKING:
    from mcp_reflect.sessions.calls import Call


async def after_call(
    context: Context, scope: Scope, state: SessionState, call: "Call", *, answers: bool
) -> str | None:
    """Note a call of a session; return the ask for a lesson if something was hard-won, and the hook `answers`."""
    from mcp_reflect.sessions.hard_won import found_after, session_call  # noqa: PLC0415 - not needed before a call

    def look(before: Sequence[SessionCall]) -> tuple[SessionCall, Finding | None]:
        seen = session_call(before[-1].number + 1 if before else 1, call)
        found = found_after(before, seen)
        if found is not None and suspicion(
            (found.line, found.draft.mistake, found.draft.correction)
        ):
            found = None  # an ask would repeat words that give orders to their reader
        return seen, found

    ask = answers and context.settings.ask == "call" and not state.held_out
    told = await context.bank.findings.note_call(scope, state.id, look, ask=ask)
    return None if told is None else ask_at_call(told.draft)


async def after_own_call(
    context: Context, scope: Scope, session: str, tool: str, arguments: Json, answer: str
) -> None:
    """Note as kept what the agent stored a lesson of: the findings of its session with which it shares words."""
    told, stored = told_in(tool, arguments), LESSON_ID.search(answer)
    if not told:
        return
    for found in await context.bank.findings.open_in(scope, session):
        draft = found.finding.draft
        if shares_words(f"{draft.mistake} {draft.correction} {draft.right_call}", told):
            await context.bank.findings.settle(
                scope, found.id, FindingState.KEPT, stored and stored[0]
            )


async def ask_once_more(
    context: Context, scope: Scope, state: SessionState, *, at_stop: bool = False
) -> str | None:
    """Return the ask about findings of a session that nobody kept, None if there is none.

    At a prompt most were named before, at the call; where the setting is `stop`, they are named there alone.
    """
    if context.settings.ask != ("stop" if at_stop else "call") or state.held_out:
        return None
    most = 0 if at_stop else 1
    left = [
        found
        for found in await context.bank.findings.open_in(scope, state.id)
        if found.asked <= most
    ]
    if not left:
        return None
    try:
        await context.bank.findings.note_asked(scope, [found.id for found in left], times=most + 1)
    except BankError:  # unwritable: not asked, or it would be asked again and again
        return None
    return ask_again([found.finding.draft for found in left])


async def keep(
    context: Context, found: StoredFinding, changed: Mapping[str, Any], *, by_person: bool
) -> Stored:
    """Make a lesson of a finding; `changed` overrides fields of its draft. It is trusted if a person keeps it."""
    draft = found.finding.draft
    calls = {"wrong_call": draft.wrong_call, "right_call": draft.right_call} if draft.guards else {}
    symptoms = [found.finding.line] if found.finding.worked or found.finding.failed else []
    told = {"mistake": draft.mistake, "correction": draft.correction, "symptoms": symptoms}
    fields = {name: value for name, value in {**told, **calls, **changed}.items() if value}
    if "correction" not in fields:
        raise InputError(
            "correction",
            "it is missing",
            "Say what put it right, such as --correction 'Build it first.'",
        )
    store = services.lessons.add if by_person else services.lessons.store
    stored = await store(context, fields)
    await context.bank.findings.settle(
        context.scopes.own, found.id, FindingState.KEPT, stored.lesson_id
    )
    return stored


async def reopen(context: Context, finding_id: str, lesson_id: str | None) -> None:
    """Undo what was decided about a finding; the lesson that was made of it, if one is named, is retired."""
    await context.bank.findings.settle(context.scopes.own, finding_id, FindingState.OPEN, None)
    if lesson_id:
        await context.bank.lessons.set_state(
            context.scopes.own, lesson_id, State.RETIRED, "decision undone"
        )
