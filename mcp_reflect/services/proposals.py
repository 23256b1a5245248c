"""An agent's wish to change a lesson that a person keeps: put before the person at once, or kept for their review."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

from mcp_reflect.errors import ChangedError
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson
from mcp_reflect.models.lesson_words import short_id
from mcp_reflect.models.proposal import (
    FieldChange,
    Proposal,
    ProposalKind,
    changes_of,
    guard_words,
)
from mcp_reflect.models.shown_digest import digest_of_lesson
from mcp_reflect.services.context import Context
from mcp_reflect.speaker import Speaker
from mcp_reflect.text.one_line import one_line

_MAX_REASON_CHARS: Final = 500  # of a reason in a question
_MAX_QUESTION_CHARS: Final = 8_000
"""Of a question: a person decides about a longer one in a review."""

_WANTS: Final = {
    ProposalKind.REPLACE: "replace it",
    ProposalKind.EDIT: "change it",
    ProposalKind.RETIRE: "retire it",
    ProposalKind.DISARM: "turn its guard off",
}


async def decide_or_keep(
    context: Context,
    scope: Scope,
    lesson: Lesson,
    kind: ProposalKind,
    *,
    reason: str,
    body: dict[str, Any] | None = None,
) -> tuple[Lesson | None, str]:
    """Ask the person about an agent's change of their lesson, or keep it as a proposal for their review.

    Returns the changed lesson, None if nothing changed yet, with the words for the agent. `body` are the new values, as
    for `Proposal`.

    | the person                                                     | the change                            |
    |----------------------------------------------------------------|---------------------------------------|
    | is asked, and says no                                          | is dropped                            |
    | is asked, and says yes                                         | is made                               |
    | says yes, but the lesson changed while the question was open   | waits: they saw another lesson        |
    | cannot be asked by the host, or the question is too long       | waits                                 |
    """
    body = body or {}
    decision = None  # nobody could be asked
    question = _question(lesson, kind, reason, body)
    if context.confirm is not None and len(question) <= _MAX_QUESTION_CHARS:
        decision = await context.confirm(question)
    if decision is Speaker.AGENT:
        return None, "the person was asked and said no; nothing changed"
    proposals = context.bank.proposals
    proposal = await proposals.add(scope, lesson, kind, reason, body)
    if proposal is None:
        return None, "a person keeps that lesson, and many proposals about it wait already"
    if decision is Speaker.PERSON:
        seen = {lesson.id: digest_of_lesson(lesson)}
        with suppress(ChangedError):
            after = await proposals.decide(scope, proposal.id, approved=True, seen=seen)
            return after, "the person confirmed it"
    context.log.info("change_proposed", lesson_id=lesson.id, kind=kind.value)
    return None, waits_text(lesson, kind)


def waits_text(lesson: Lesson, kind: ProposalKind) -> str:
    """Return the words for an agent about a proposal that waits."""
    return (
        f"a person keeps {short_id(lesson.id)}: that you want to {_WANTS[kind]} waits for them in "
        "`mcp-reflect lessons review`; until then it stays as it is"
    )


def wish_of(kind: ProposalKind) -> str:
    """Return the wish of a proposal in words, such as "replace it"."""
    return _WANTS[kind]


def wish_text(proposal: Proposal) -> str:
    """Return an agent's wish for a person: "an agent wants to retire it: it was wrong"."""
    return (
        f"an agent wants to {_WANTS[proposal.kind]}: {one_line(proposal.reason, _MAX_REASON_CHARS)}"
    )


def change_lines(changes: Iterable[FieldChange]) -> list[str]:
    """Return two lines for each field that a proposal changes, for a person: what it is now, and what it would be."""
    lines: list[str] = []
    for change in changes:
        name = change.field.replace("_", " ")
        lines.append(f"{name} now: {one_line(change.before) or 'none'}")
        lines.append(f"{name} then: {one_line(change.after) or 'none'}")
    return lines


def _question(lesson: Lesson, kind: ProposalKind, reason: str, body: Mapping[str, Any]) -> str:
    """Return the question that the host shows its person: the lesson, its guard, all that would change, and why."""
    wish = _WANTS[kind]
    return "\n".join(
        [
            f"mcp-reflect: the agent wants to change a lesson that you keep ({wish}).",
            f"The lesson {short_id(lesson.id)}: {one_line(lesson.text)}",
            f"Its guard: {one_line(guard_words(lesson))}",
            *change_lines(changes_of(lesson, kind, body)),
            f"The agent's reason: {one_line(reason, _MAX_REASON_CHARS)}",
            f"Shall it {wish}?",
        ]
    )
