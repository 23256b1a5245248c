"""What is noticed in sessions: noted after each call, asked about beside it, and named again at the next prompt."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from mcp_reflect import services
from mcp_reflect.errors import BankError, InputError
from mcp_reflect.models.common import Json, Scope
from mcp_reflect.models.finding import Finding, FindingState, FoundCall, SessionCall, StoredFinding
from mcp_reflect.models.lesson import State, Stored
from mcp_reflect.models.warning import SessionState
from mcp_reflect.moments.asks import ask_again, ask_at_call
from mcp_reflect.security.injection import suspicion
from mcp_reflect.services.context import Context
from mcp_reflect.sessions.text import shares_words
from mcp_reflect.sessions.tools import LESSON_ID, call_line, told_in
from mcp_reflect.speaker import Speaker

if TYPE_CHECKING:
    from mcp_reflect.sessions.calls import CallWithAnswer

_WORD: Final = re.compile(r"\w{2,}")


async def after_call(
    context: Context, scope: Scope, state: SessionState, call: "CallWithAnswer", *, answers: bool
) -> str | None:
    """Note a call of a session; return the ask for a lesson if something was hard-won, and the hook `answers`."""
    # Not needed before a call:
    from mcp_reflect.sessions.noticing import due_ask, found_after  # noqa: PLC0415
    from mcp_reflect.sessions.session_calls import session_call  # noqa: PLC0415

    def look(before: Sequence[SessionCall]) -> tuple[SessionCall, Finding | None]:
        seen = session_call(before[-1].number + 1 if before else 1, call)
        found = found_after(before, seen)
        if found is not None and gives_orders(found):
            found = None
        return seen, found

    asks = answers and context.settings.ask == "call" and not state.held_out
    chosen = await context.bank.findings.note_call(scope, state.id, look, due_ask if asks else None)
    return None if chosen is None else ask_at_call(chosen)


def gives_orders(found: Finding) -> bool:
    """True where an ask would repeat words of an output that give orders to their reader.

    The calls are the agent's own: what it typed itself is no order to it.
    """
    return bool(suspicion((found.line,)))


async def after_own_call(
    context: Context, scope: Scope, session: str, tool: str, arguments: Json, answer: str
) -> None:
    """Note as kept what the agent stored a lesson of: the findings of its session that the lesson is about."""
    told = told_in(tool, arguments)
    if not told:
        return
    stored = LESSON_ID.search(answer)
    lesson_id = stored[0] if stored else None
    for found in await context.bank.findings.open_in(scope, session):
        if is_about(told, found.finding):
            await _settle_as_kept(context, scope, found, lesson_id)


async def _settle_as_kept(
    context: Context, scope: Scope, found: StoredFinding, lesson_id: str | None
) -> None:
    """Note that a lesson was made of a finding; the lesson keeps both of its calls, for a guard and for its roots."""
    await context.bank.findings.settle(scope, found.id, FindingState.KEPT, lesson_id)
    failed, worked = found.finding.failed, found.finding.worked
    if lesson_id is None or failed is None or worked is None:
        return
    calls = (_kept_call(failed), _kept_call(worked))
    await services.guards.keep_calls(context, scope, lesson_id, *calls)
    await services.roots.plant_again(context, scope, lesson_id, fix=calls)


def _kept_call(call: FoundCall) -> str:
    """Return a call as a lesson keeps it: the JSON of {tool, arguments}."""
    return json.dumps({"tool": call.tool, "arguments": call.arguments}, ensure_ascii=False)


def is_about(told: str, found: Finding) -> bool:
    """True where a lesson's words name the act of a finding, or share telling words with its calls and line."""
    acted = _words_of(found.act)
    calls = (found.failed, *found.between, found.worked)
    facts = " ".join((found.line, *map(_text_of, calls)))
    return (bool(acted) and acted <= _words_of(told)) or shares_words(facts, told)


def _words_of(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def _text_of(call: FoundCall | None) -> str:
    return call_line(call.tool, call.arguments) if call else ""


async def ask_once_more(
    context: Context, scope: Scope, state: SessionState, *, at_stop: bool = False
) -> str | None:
    """Return the line about findings of a session that nobody kept, None if there is none.

    At a prompt those are named again that were named at a call; where the setting is `stop`, they are named at the end
    alone.
    """
    if context.settings.ask != ("stop" if at_stop else "call") or state.held_out:
        return None
    wanted = 0 if at_stop else 1
    left = [
        found
        for found in await context.bank.findings.open_in(scope, state.id)
        if found.asked == wanted
    ]
    if not left:
        return None
    try:
        names = [found.id for found in left]
        await context.bank.findings.note_asked(scope, names, times=wanted + 1)
    except BankError:  # unwritable: not asked, or it would be asked again and again
        return None
    return ask_again([found.finding for found in left])


async def keep(
    context: Context, found: StoredFinding, changed: Mapping[str, Any], *, by_person: bool
) -> Stored:
    """Make a lesson of a finding, trusted if a person keeps it.

    `changed` are the words of whoever keeps it; a model's are taken where they have none. The line of the failure
    becomes a symptom, by which the same error finds the lesson.
    """
    finding = found.finding
    is_pair = finding.failed is not None and finding.worked is not None
    symptoms = [finding.line] if is_pair and finding.line else []
    told: dict[str, Any] = {"symptoms": symptoms}
    if finding.wording is not None:
        wording = finding.wording
        told |= {"mistake": wording.mistake, "correction": wording.correction}
        told |= {"wrong_call": wording.wrong_call, "right_call": wording.right_call}
    fields = {name: value for name, value in {**told, **changed}.items() if value}
    if "correction" not in fields:
        raise InputError(
            "correction",
            "it is missing",
            "Say what another session should know, such as --correction 'Build it first.'",
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
            context.scopes.own, lesson_id, State.RETIRED, "decision undone", by=Speaker.PERSON
        )
