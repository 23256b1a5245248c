"""An agent's wish to change a lesson that a person keeps: put before the person at once, or kept for their review."""

from typing import Any, Final

from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson
from mcp_reflect.models.lesson_words import short_id
from mcp_reflect.models.proposal import Proposal, ProposalKind
from mcp_reflect.services.context import Context
from mcp_reflect.sessions.text import clip
from mcp_reflect.speaker import Speaker

_MOST_SHOWN: Final = 600  # characters of a lesson in a question
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
    shown: str = "",
) -> tuple[Lesson | None, str]:
    """Ask the person about an agent's change of their lesson, or keep it as a proposal for their review.

    Returns the changed lesson after a yes, else None, and what to tell the agent. Where the host can show a question,
    its person is asked, about the text that is `shown`; after a no nothing is kept. Else the proposal waits. `body` is
    what would change, as for `Proposal`.
    """
    decision = None  # nobody could be asked
    if context.confirm is not None:
        decision = await context.confirm(_question(lesson, kind, reason, shown))
    if decision is Speaker.AGENT:
        return None, "the person was asked and said no; nothing changed"
    proposals = context.bank.proposals
    proposal = await proposals.add(scope, lesson, kind, reason, body or {})
    if proposal is None:
        return None, "a person keeps that lesson, and many proposals about it wait already"
    if decision is Speaker.PERSON:
        after = await proposals.decide(scope, proposal.id, approved=True)
        return after, "the person confirmed it"
    context.log.info("change_proposed", lesson_id=lesson.id, kind=kind.value)
    return None, waits_text(lesson, kind)


def waits_text(lesson: Lesson, kind: ProposalKind) -> str:
    """Return what an agent is told of a proposal that waits."""
    return (
        f"a person keeps {short_id(lesson.id)}: that you want to {_WANTS[kind]} waits for them in "
        "`mcp-reflect lessons review`; until then it stays as it is"
    )


def wish_text(proposal: Proposal) -> str:
    """Return what an agent wants, for a person."""
    return f"an agent wants to {_WANTS[proposal.kind]}: {proposal.reason}"


def _question(lesson: Lesson, kind: ProposalKind, reason: str, shown: str) -> str:
    """Return the question that the host shows its person: what would change, the lesson, and why."""
    lines = [
        f"mcp-reflect: the agent wants to change a lesson that you keep ({_WANTS[kind]}).",
        f"The lesson {short_id(lesson.id)}: {clip(lesson.text, _MOST_SHOWN)}",
    ]
    if shown:
        lines.append(f"The new text, by the agent: {clip(shown, _MOST_SHOWN)}")
    lines.append(f"Its reason: {clip(reason, 200)}")
    return "\n".join(lines)
