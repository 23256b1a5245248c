"""Reviews, in which a person decides about waiting lessons, guards, findings and proposals.

`mcp-reflect lessons review` and the board show them. `curation.USES` lists these functions with all other uses, and
its module explains their arguments.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from mcp_reflect import services
from mcp_reflect.errors import NotFoundError
from mcp_reflect.models.common import GLOBAL
from mcp_reflect.models.finding import FindingState, StoredFinding
from mcp_reflect.models.lesson import Lesson, Source, State, Trust
from mcp_reflect.models.proposal import PREFIX, Proposal
from mcp_reflect.models.shown_digest import digest_of_finding, digest_of_lesson
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.lesson_of_request import Sent, lesson_to_change, seen_by_speaker
from mcp_reflect.services.roots import Doubted
from mcp_reflect.speaker import Speaker, refuse_agent
from mcp_reflect.storage.seen import refuse_other_than_seen

_MOST_WAITING: Final = 1_000  # lessons of each sort that one review lists


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """A proposal, and the lesson that it is about."""

    proposal: Proposal
    lesson: Lesson


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """All that waits for a person's decision."""

    scope: str
    lessons: tuple[Lesson, ...]  # in quarantine
    guards: tuple[Lesson, ...]  # lessons whose guard is off until a person decides
    findings: tuple[StoredFinding, ...]
    proposals: tuple[Proposed, ...] = ()  # of agents, to change lessons that a person keeps
    doubted: tuple[Doubted, ...] = ()  # lessons that may be outdated: are they still true?
    shared: str = ""  # the sentence on lessons of the repository's file that the bank does not have
    withheld: int = 0  # how many lessons in quarantine are not shown, since an agent asks


async def list_waiting(engine: Engine, _: Sent, *, speaker: Speaker) -> Waiting:
    """Return what waits for a person; nothing in quarantine is shown to an agent.

    Where the setting `review` is `ask`, lessons that agents stored wait as well.
    """
    own = engine.scopes.own
    bank = engine.bank
    lessons = await bank.lessons.latest(own, kind=None, limit=_MOST_WAITING, held=True)
    withheld_count = 0
    if speaker is not Speaker.PERSON:
        withheld_count = len(lessons)
        lessons = []
    if engine.settings.review == "ask":
        newest = await bank.lessons.latest(own, limit=_MOST_WAITING)
        lessons += filter(_is_by_agent, newest)
    return Waiting(
        scope=str(own),
        lessons=tuple(lessons),
        guards=tuple(await bank.guards.unarmed(own, _MOST_WAITING)),
        findings=tuple(await bank.findings.waiting(own)),
        proposals=tuple(await proposed_changes(engine)),
        doubted=await services.roots.doubted(engine.context),
        shared=(await services.shared.shared_here(engine.context)).note,
        withheld=withheld_count,
    )


async def proposed_changes(engine: Engine) -> list[Proposed]:
    """Return the proposals of agents to change lessons that a person keeps, each with its lesson."""
    own = engine.scopes.own
    changes: list[Proposed] = []
    for proposal in await engine.bank.proposals.waiting(own):
        lesson = await engine.bank.lessons.get(own, proposal.lesson_id)
        changes.append(Proposed(proposal=proposal, lesson=lesson))
    return changes


def _is_by_agent(lesson: Lesson) -> bool:
    """Return whether an agent or a program made a lesson, and no person decided about it yet."""
    by_program = lesson.source in (Source.AGENT, Source.MODEL, Source.RULES)
    return by_program and lesson.trust is Trust.OBSERVED


async def decide(engine: Engine, sent: Sent, *, speaker: Speaker) -> Lesson:
    """Decide about the record `id`, as `approved` says.

    | the record  | approved                                     | refused       |
    |-------------|----------------------------------------------|---------------|
    | a lesson    | is trusted, and its roots are measured anew  | is retired    |
    | a proposal  | is carried out                               | is dropped    |
    """
    refuse_agent(speaker, "id", "decide about what waits")
    is_approved = sent["approved"] is True
    if str(sent["id"]).startswith(f"{PREFIX}_"):
        return await _decide_proposal(engine, sent, is_approved=is_approved)
    lesson = await lesson_to_change(engine, sent, speaker=speaker)
    of_agents = engine.settings.review == "ask" and _is_by_agent(lesson)
    own = engine.scopes.own
    decided = await engine.bank.lessons.decide(
        own,
        lesson.id,
        approved=is_approved,
        of_agents=of_agents,
        seen=seen_by_speaker(sent, speaker, lesson.id),
    )
    if is_approved:
        await services.roots.plant_again(engine.context, own, lesson.id)
    return decided


async def _decide_proposal(engine: Engine, sent: Sent, *, is_approved: bool) -> Lesson:
    """Carry a proposal out or drop it; return its lesson. InputError if that is for all projects, as for a lesson."""
    own = engine.scopes.own
    proposals = engine.bank.proposals
    proposal_id = str(sent["id"])
    seen = seen_by_speaker(sent, Speaker.PERSON, proposal_id)
    if not engine.scopes.shares:
        proposal = await proposals.get(own, proposal_id)
        lesson = await engine.bank.lessons.get(own, proposal.lesson_id)
        if lesson.project == GLOBAL:
            engine.scopes.refuse_shared("id")
    return await proposals.decide(own, proposal_id, approved=is_approved, seen=seen)


async def answer_still_true(engine: Engine, sent: Sent, *, speaker: Speaker) -> Lesson:
    """Take a person's answer whether a lesson is still true, though a file or version that it is about is gone.

    After a yes, the roots of the lesson are measured anew; after a no, it is retired.
    """
    refuse_agent(speaker, "id", "say what is still true")
    lesson = await lesson_to_change(engine, sent, speaker=speaker)
    own = engine.scopes.own
    seen = seen_by_speaker(sent, speaker, lesson.id)
    refuse_other_than_seen(seen, lesson.id, lambda: digest_of_lesson(lesson))
    if sent["true"] is True:
        await services.roots.still_true(engine.context, own, lesson, seen)
        return lesson
    return await engine.bank.lessons.set_state(
        own, lesson.id, State.RETIRED, "no longer true", by=speaker, seen=seen
    )


async def settle_finding(engine: Engine, sent: Sent, *, speaker: Speaker) -> dict[str, Any]:
    """Make a lesson of a finding, with the fields in `changes`, or drop it; an agent's lesson is not trusted."""
    own = engine.scopes.own
    findings = engine.bank.findings
    finding_by_id = {finding.id: finding for finding in await findings.waiting(own)}
    finding = finding_by_id.get(str(sent["id"]))
    if finding is None:
        raise NotFoundError("id", "no such finding waits", "List them: mcp-reflect lessons review.")
    seen = seen_by_speaker(sent, speaker, finding.id)
    refuse_other_than_seen(seen, finding.id, lambda: digest_of_finding(finding))
    if sent["approved"] is not True:
        # Nobody is asked about it again.
        await findings.settle(own, finding.id, FindingState.DROPPED, None)
        return {"state": "dropped"}
    keep = partial(services.findings.keep, by_person=speaker is Speaker.PERSON)
    stored = await keep(engine.context, finding, sent.get("changes") or {})
    return {"lesson_id": stored.lesson_id, "state": "kept", "is_new": stored.status == "stored"}


async def undo_decision(engine: Engine, sent: Sent, *, speaker: Speaker) -> None:
    """Undo a decision of a review: about the `finding` of which a `lesson` was made, or about the lesson `id`.

    Of a lesson, `state`, `trust` and `held` are what it had before the decision.
    """
    refuse_agent(speaker, "id", "undo a decision")
    if "finding" in sent:
        await services.findings.reopen(engine.context, str(sent["finding"]), sent.get("lesson"))
        return
    lesson = await lesson_to_change(engine, sent, speaker=speaker)
    before = {
        "state": State(sent["state"]),
        "trust": Trust(sent["trust"]),
        "held": sent.get("held"),
    }
    seen = seen_by_speaker(sent, speaker, lesson.id)
    await engine.bank.lessons.edit(engine.scopes.own, lesson.id, before, by=speaker, seen=seen)
