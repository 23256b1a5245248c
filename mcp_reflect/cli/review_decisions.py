"""Carry out a person's decision about one thing that waits: approve or drop it, and say what undoes that.

`cli.review` asks the person; each sort of item has a use of `services.curation` of its own, which `do` carries out.
"""

from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mcp_reflect.cli.output import write_result
from mcp_reflect.cli.running import Do
from mcp_reflect.models.finding import StoredFinding
from mcp_reflect.models.lesson import Lesson
from mcp_reflect.models.shown_digest import (
    Seen,
    digest_of_finding,
    digest_of_proposal,
    seen_lessons,
)
from mcp_reflect.services.reviews import Proposed
from mcp_reflect.services.roots import Doubted
from mcp_reflect.speaker import Speaker, speaker_of_process, speaker_to_service

Item = Lesson | StoredFinding | Proposed | Doubted
"""What waits: a lesson in quarantine, a finding, what an agent proposes, or a lesson that may no longer be true."""


def seen_of(item: Item) -> Seen:
    """Return what a person is shown of an item, by its id: their decision is bound to that."""
    if isinstance(item, Proposed):
        return {item.proposal.id: digest_of_proposal(item.proposal, item.lesson)}
    if isinstance(item, StoredFinding):
        return {item.id: digest_of_finding(item)}
    if isinstance(item, Doubted):
        return seen_lessons(item.lesson)
    return seen_lessons(item)


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of an item: its state for a program, the result for a person, and what undoes it (if anything)."""

    state: Mapping[str, Any]
    result: str
    undo: Mapping[str, Any] = field(default_factory=dict[str, Any])


async def settle(
    do: Do,
    options: Namespace,
    item: Item,
    *,
    approved: bool,
    changes: Mapping[str, str] | None = None,
) -> Mapping[str, Any]:
    """Approve or drop an item and say so; return what undoes it, nothing where that cannot be undone.

    | the item                                | approved             | not approved        | can be undone |
    |-----------------------------------------|----------------------|---------------------|---------------|
    | `Doubted`: it may no longer be true     | it stands            | it is retired       | no            |
    | `Proposed`: an agent's wish             | it is done           | it is dropped       | no            |
    | `Lesson`: it waits in quarantine        | trusted, as changed  | retired             | yes           |
    | a finding: nobody made a lesson of it   | becomes a lesson     | nobody asks again   | yes           |

    `do` carries out a use of `services.curation.USES` by its name, in the bank or at a service.
    """
    if isinstance(item, Doubted):
        settled = await _settle_doubted(do, item, approved=approved)
    elif isinstance(item, Proposed):
        settled = await _settle_proposal(do, item, approved=approved)
    elif isinstance(item, Lesson):
        settled = await _settle_lesson(do, item, changes or {}, approved=approved)
    else:
        arguments = {
            "id": item.id,
            "approved": approved,
            "changes": changes or {},
            "seen": seen_of(item),
        }
        answer = await do("finding", arguments)
        settled = _settled_finding(item, answer, options, approved=approved)
    write_result(options, settled.state, f"{settled.state['id']}: {settled.result}.")
    return settled.undo


async def _settle_doubted(do: Do, item: Doubted, *, approved: bool) -> Settled:
    """Say of a lesson that it is still true, or retire it."""
    sent = {"id": item.lesson.id, "true": approved, "seen": seen_of(item)}
    after: Lesson = await do("still", sent)
    state = {"id": after.id, "state": after.state.value}
    if approved:
        return Settled(state, "still true: it stands on what is there now")
    return Settled(state, "retired")


async def _settle_proposal(do: Do, item: Proposed, *, approved: bool) -> Settled:
    """Do what an agent proposes, or drop it."""
    name = item.proposal.id
    sent = {"id": name, "approved": approved, "seen": seen_of(item)}
    after: Lesson = await do("decide", sent)
    state = {"id": name, "lesson_id": after.id, "state": after.state.value}
    if approved:
        return Settled(state, f"done; {after.id} is {after.state.value}")
    return Settled(state, "dropped")


async def _settle_lesson(
    do: Do, item: Lesson, changes: Mapping[str, str], *, approved: bool
) -> Settled:
    """Trust a lesson, after storing changes of it, or retire it."""
    decided_about = item
    if changes:
        decided_about = await do("edit", {"id": item.id, "changes": changes, "seen": seen_of(item)})
    sent = {"id": item.id, "approved": approved, "seen": seen_of(decided_about)}
    after: Lesson = await do("decide", sent)
    state = {"id": item.id, "state": after.state.value, "trust": after.trust.value}
    undo = {
        "id": item.id,
        "state": item.state.value,
        "trust": item.trust.value,
        "held": item.held,
        "seen": seen_of(after),
    }
    if approved:
        return Settled(state, "trusted, and recalled from now on", undo)
    return Settled(state, "retired", undo)


def _settled_finding(
    item: StoredFinding, answer: Mapping[str, Any], options: Namespace, *, approved: bool
) -> Settled:
    """Return what became of a finding: dropped, or kept as the lesson that the `answer` names.

    An undo drops that lesson again, but only one that was not there before: a finding may be kept as a lesson that says
    the same already.
    """
    state = {"id": item.id, **answer}
    new_lesson: str | None = None
    if answer.get("is_new"):
        new_lesson = answer.get("lesson_id")
    undo = {"finding": item.id, "lesson": new_lesson}
    if not approved:
        return Settled(state, "dropped; nobody is asked about it again", undo)
    trust = "not trusted"
    if _speaker_of(options) is Speaker.PERSON:
        trust = "trusted"
    return Settled(state, f"kept as {answer['lesson_id']}, {trust}", undo)


def _speaker_of(options: Namespace) -> Speaker:
    """Return whose word this command is: at a service, its token may say more."""
    if options.url:
        return speaker_to_service()
    return speaker_of_process()
