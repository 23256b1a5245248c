"""What becomes of a finding, a call that failed and the one that then worked: a lesson, or the next person's review.

An agent that stores a lesson about a finding settles it. What no agent settles waits until a person keeps or drops it.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from mcp_reflect import services
from mcp_reflect.errors import InputError
from mcp_reflect.models.common import Json, Scope
from mcp_reflect.models.finding import Finding, FindingState, FoundCall, StoredFinding
from mcp_reflect.models.lesson import State, Stored
from mcp_reflect.services.context import Context
from mcp_reflect.sessions.call_words import call_line
from mcp_reflect.sessions.own_calls import LESSON_ID, lesson_text_in
from mcp_reflect.sessions.text import shares_words
from mcp_reflect.speaker import Speaker

_WORD: Final = re.compile(r"\w{2,}")


async def after_own_call(
    context: Context, scope: Scope, session: str, tool: str, arguments: Json, answer: str
) -> None:
    """After a call of our own tools that stored a lesson, settle the session's findings that the lesson is about.

    The agent was asked for a lesson about them, so that a person need not review them any more. `answer` is what the
    tool answered, with the lesson's id in it.
    """
    lesson_words = lesson_text_in(tool, arguments)
    if not lesson_words:
        return
    id_in_answer = LESSON_ID.search(answer)
    lesson_id = id_in_answer[0] if id_in_answer else None
    for stored in await context.bank.findings.open_in(scope, session):
        if is_about(lesson_words, stored.finding):
            await _settle_as_kept(context, scope, stored, lesson_id)


def is_about(lesson_words: str, finding: Finding) -> bool:
    """Return whether a lesson is about a finding.

    It names the finding's act, or shares enough uncommon words with its calls and line (`shares_words`):

    | the finding                          | the lesson                                    | is about it |
    |--------------------------------------|-----------------------------------------------|-------------|
    | `git push` was rejected              | "Pull before every git push."                 | yes         |
    | `npm test`: "Cannot find dist/app"   | "dist/app is built by npm run build."         | yes         |
    | `npm test`: "Cannot find dist/app"   | "Keep the reviews short."                     | no          |
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


async def _settle_as_kept(
    context: Context, scope: Scope, stored: StoredFinding, lesson_id: str | None
) -> None:
    """Note that a lesson was made of a finding; the lesson keeps both of its calls, for a guard and for its roots."""
    await context.bank.findings.settle(scope, stored.id, FindingState.KEPT, lesson_id)
    failed_call, working_call = stored.finding.failed, stored.finding.worked
    if lesson_id is None or failed_call is None or working_call is None:
        return
    calls = (_json_of_call(failed_call), _json_of_call(working_call))
    await services.guards.keep_calls(context, scope, lesson_id, *calls)
    await services.roots.plant_again(context, scope, lesson_id, fix=calls)


def _json_of_call(call: FoundCall) -> str:
    """Return a call as a lesson stores it: `{"tool": "shell", "arguments": {"command": "git push"}}`."""
    return json.dumps({"tool": call.tool, "arguments": call.arguments}, ensure_ascii=False)


async def keep(
    context: Context,
    stored_finding: StoredFinding,
    changed_fields: Mapping[str, Any],
    *,
    by_person: bool,
) -> Stored:
    """Make a lesson of a finding, trusted if a person keeps it; InputError if it would have no advice.

    `changed_fields` are the fields of the lesson that whoever keeps it wrote; all others are taken from the finding.
    """
    all_fields = {**_proposed_fields(stored_finding.finding), **changed_fields}
    fields = {name: value for name, value in all_fields.items() if value}
    if "correction" not in fields:
        raise InputError(
            "correction",
            "it is missing",
            "Say what another session should know, such as --correction 'Build it first.'",
        )
    store_lesson = services.lessons.add if by_person else services.lessons.store
    stored = await store_lesson(context, fields)
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
