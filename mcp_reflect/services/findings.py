"""Findings: what a session worked out the hard way, such as a call that failed and the one that then worked.

They are noted after each call. Hooks ask the agent for a lesson beside the call that completes one, and once more at
the next prompt or at the end; what nobody keeps waits in a person's review.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from mcp_reflect import services
from mcp_reflect.errors import BankError, InputError
from mcp_reflect.models.common import Json, Scope
from mcp_reflect.models.finding import Finding, FindingState, FoundCall, SessionCall, StoredFinding
from mcp_reflect.models.lesson import State, Stored
from mcp_reflect.models.session_state import SessionState
from mcp_reflect.moments.asks import ask_again, ask_at_call
from mcp_reflect.security.injection import suspicion
from mcp_reflect.security.phrases import remembered
from mcp_reflect.services.context import Context
from mcp_reflect.sessions.call_words import call_line
from mcp_reflect.sessions.own_calls import LESSON_ID, lesson_text_in
from mcp_reflect.sessions.text import shares_words
from mcp_reflect.speaker import Speaker

if TYPE_CHECKING:
    from mcp_reflect.sessions.calls import CallWithAnswer

_WORD: Final = re.compile(r"\w{2,}")


async def after_call(
    context: Context, scope: Scope, state: SessionState, call: "CallWithAnswer", *, answers: bool
) -> str | None:
    """Note a call of a session; return the text that asks the agent for a lesson, None if nothing is asked.

    `answers`: what this hook returns reaches the agent.
    """
    # Not needed before a call:
    from mcp_reflect.sessions.noticing import due_ask, found_after  # noqa: PLC0415
    from mcp_reflect.sessions.session_calls import session_call  # noqa: PLC0415

    phrases = remembered(f"{call.answer}\n{call.error}")

    def number_and_look(before: Sequence[SessionCall]) -> tuple[SessionCall, Finding | None]:
        """Return the call with its number after the calls `before` it, and the finding that it completes."""
        number = before[-1].number + 1 if before else 1
        numbered_call = session_call(number, call)
        finding = found_after(before, numbered_call)
        if finding is not None and gives_orders(finding):
            finding = None
        return replace(numbered_call, phrases=phrases), finding

    choose_ask = None  # nothing is asked
    if answers and _asks_here(context, state, "call"):
        choose_ask = due_ask
    asked_finding = await context.bank.findings.note_call(
        scope, state.id, number_and_look, choose_ask
    )
    if asked_finding is None:
        return None
    return ask_at_call(asked_finding)


def _asks_here(context: Context, state: SessionState, moment: str) -> bool:
    """Return whether a session is asked for lessons at a moment: "call", or "stop".

    The setting `ask` chooses the moment. A session of the control group, which measures work without lessons, is asked
    at none.
    """
    return context.settings.ask == moment and not state.held_out


def gives_orders(finding: Finding) -> bool:
    """Return whether a finding's line, which an ask would repeat, is an output that gives orders to its reader.

    The calls are the agent's own: what it typed itself is no order to it.
    """
    return bool(suspicion((finding.line,)))


async def after_own_call(
    context: Context, scope: Scope, session: str, tool: str, arguments: Json, answer: str
) -> None:
    """After a call of our own tools that stored a lesson, note the findings that the lesson is about as kept.

    `answer` is what the tool answered, with the lesson's id in it.
    """
    lesson_words = lesson_text_in(tool, arguments)
    if not lesson_words:
        return
    id_in_answer = LESSON_ID.search(answer)
    lesson_id = id_in_answer[0] if id_in_answer else None
    for stored in await context.bank.findings.open_in(scope, session):
        if is_about(lesson_words, stored.finding):
            await _settle_as_kept(context, scope, stored, lesson_id)


async def _settle_as_kept(
    context: Context, scope: Scope, stored: StoredFinding, lesson_id: str | None
) -> None:
    """Note that a lesson was made of a finding; the lesson keeps both of its calls, for a guard and for its roots."""
    await context.bank.findings.settle(scope, stored.id, FindingState.KEPT, lesson_id)
    failed, worked = stored.finding.failed, stored.finding.worked
    if lesson_id is None or failed is None or worked is None:
        return
    calls = (_kept_call(failed), _kept_call(worked))
    await services.guards.keep_calls(context, scope, lesson_id, *calls)
    await services.roots.plant_again(context, scope, lesson_id, fix=calls)


def _kept_call(call: FoundCall) -> str:
    """Return a call as a lesson keeps it: the JSON of {tool, arguments}."""
    return json.dumps({"tool": call.tool, "arguments": call.arguments}, ensure_ascii=False)


def is_about(lesson_words: str, finding: Finding) -> bool:
    """Return whether a lesson is about a finding.

    It names the finding's act (`git push`), or shares enough uncommon words with its calls and line (`shares_words`).
    """
    act_words = _words_of(finding.act)
    names_act = bool(act_words) and act_words <= _words_of(lesson_words)
    if names_act:
        return True
    calls = (finding.failed, *finding.between, finding.worked)
    call_lines = [call_line(call.tool, call.arguments) for call in calls if call is not None]
    facts = " ".join((finding.line, *call_lines))
    return shares_words(facts, lesson_words)


def _words_of(text: str) -> set[str]:
    """Return the words of a text in lower case, those of one letter left out."""
    return set(_WORD.findall(text.casefold()))


async def ask_once_more(
    context: Context, scope: Scope, state: SessionState, *, at_stop: bool = False
) -> str | None:
    """Return the line about findings of a session that nobody kept, None if there is none.

    | the setting `ask` | asked at            | about                               | times asked before |
    |-------------------|---------------------|-------------------------------------|--------------------|
    | `call`            | the next prompt     | findings that a call was asked about | 1                  |
    | `stop`            | the stop alone      | findings of the whole session        | 0                  |
    """
    if not _asks_here(context, state, "stop" if at_stop else "call"):
        return None
    times_asked = 0 if at_stop else 1
    open_findings = await context.bank.findings.open_in(scope, state.id)
    due = [stored for stored in open_findings if stored.asked == times_asked]
    if not due:
        return None
    ids = [stored.id for stored in due]
    try:
        await context.bank.findings.note_asked(scope, ids, times=times_asked + 1)
    except BankError:  # it cannot be noted: asking would then come again and again
        return None
    return ask_again([stored.finding for stored in due])


async def keep(
    context: Context, stored_finding: StoredFinding, changed: Mapping[str, Any], *, by_person: bool
) -> Stored:
    """Make a lesson of a finding, trusted if a person keeps it; InputError if it would have no advice.

    `changed` are fields of the lesson by whoever keeps it; what they leave out is taken from the finding.
    """
    all_fields = {**_proposed_fields(stored_finding.finding), **changed}
    fields = {name: value for name, value in all_fields.items() if value}
    if "correction" not in fields:
        raise InputError(
            "correction",
            "it is missing",
            "Say what another session should know, such as --correction 'Build it first.'",
        )
    store = services.lessons.add if by_person else services.lessons.store
    stored = await store(context, fields)
    await context.bank.findings.settle(
        context.scopes.own, stored_finding.id, FindingState.KEPT, stored.lesson_id
    )
    return stored


def _proposed_fields(finding: Finding) -> dict[str, Any]:
    """Return the fields of a lesson that a finding proposes: a model's wording, where one was asked for it.

    The line of the failure becomes a symptom, by which the same error finds the lesson.
    """
    fields: dict[str, Any] = {}
    if finding.line and finding.failed is not None and finding.worked is not None:
        fields["symptoms"] = [finding.line]
    wording = finding.wording
    if wording is not None:
        fields["mistake"] = wording.mistake
        fields["correction"] = wording.correction
        fields["wrong_call"] = wording.wrong_call
        fields["right_call"] = wording.right_call
    return fields


async def reopen(context: Context, finding_id: str, lesson_id: str | None) -> None:
    """Undo what was decided about a finding; the lesson that was made of it, if one is named, is retired."""
    await context.bank.findings.settle(context.scopes.own, finding_id, FindingState.OPEN, None)
    if lesson_id:
        await context.bank.lessons.set_state(
            context.scopes.own, lesson_id, State.RETIRED, "decision undone", by=Speaker.PERSON
        )
