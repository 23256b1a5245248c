"""What a person does with lessons on the command line: at their own bank, or by a token at a team's service.

Each use takes an engine, the values of a request, and who speaks: a person at their own bank or with an admin's token, or
an agent. What an agent asks for is never trusted, changes nothing that a person keeps, and shows nothing in quarantine.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, NamedTuple

from mcp_reflect import services
from mcp_reflect.errors import InputError, NotAllowedError, NotFoundError
from mcp_reflect.models.access import AccessRole
from mcp_reflect.models.card import SessionCard
from mcp_reflect.models.common import GLOBAL, compact, from_json
from mcp_reflect.models.effect import Comparison
from mcp_reflect.models.finding import FindingState, StoredFinding
from mcp_reflect.models.lesson import (
    Filter,
    GuardMode,
    Lesson,
    Recall,
    Source,
    State,
    Stored,
    Trust,
    Undone,
)
from mcp_reflect.models.proposal import PREFIX, Proposal, ProposalKind
from mcp_reflect.moments.guarded import mode_in
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.proposals import decide_or_keep
from mcp_reflect.services.replay import Replayed
from mcp_reflect.services.roots import Doubted
from mcp_reflect.speaker import Speaker, refuse_agent

Sent = Mapping[str, Any]

_MOST_WAITING: Final = 1_000  # quarantined lessons that one review lists


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """Lessons of a scope."""

    scope: str
    lessons: tuple[Lesson, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonDetails:
    """A lesson and all that is known about it; `guards` is what guards do in its project.

    `effect` says whether it helped or hurt, by proven endings; `since` what became of what it is true of.
    """

    lesson: Lesson
    guards: GuardMode
    effectiveness_estimate: dict[str, Any]
    versions: list[dict[str, Any]]
    links: list[dict[str, Any]]
    neighbors: list[dict[str, Any]]
    effect: str = ""
    since: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What waits for a person: quarantined lessons, lessons whose guard is off until a person decides, and findings.

    `proposals` are what agents want changed of lessons that a person keeps, each with the lesson as it is. `doubted` are
    lessons whose ground is gone: are they still true? `shared` says what the repository's file has that the bank does not.
    `withheld` counts the quarantined lessons that are not shown, since an agent asks.
    """

    scope: str
    lessons: tuple[Lesson, ...]
    guards: tuple[Lesson, ...]
    findings: tuple[StoredFinding, ...]
    proposals: tuple["Proposed", ...] = ()
    doubted: tuple[Doubted, ...] = ()
    shared: str = ""
    withheld: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """A proposal, and the lesson that it is about."""

    proposal: Proposal
    lesson: Lesson


async def listed(engine: Engine, sent: Sent, *, speaker: Speaker) -> Listed:
    """Return the lessons that pass a filter, the newest first."""
    own, condition = engine.scopes.own, from_json(Filter, sent["filter"])
    lessons = await engine.bank.views.browse(
        own, condition if speaker is Speaker.PERSON else replace(condition, held=False)
    )
    return Listed(scope=str(own), lessons=tuple(lessons))


async def lesson(engine: Engine, sent: Sent, *, speaker: Speaker) -> Lesson:
    """Return the lesson with an id, or the one whose id begins or ends with it."""
    own, lessons = engine.scopes.own, engine.bank.lessons
    found = await lessons.get(own, await lessons.resolve_id(own, str(sent["id"])), "id")
    if found.held and speaker is not Speaker.PERSON:
        fault = "it is in quarantine, and waits for a person"
        raise NotFoundError("id", fault, "Ask one to run mcp-reflect lessons review.")
    return found


async def shown(engine: Engine, sent: Sent, *, speaker: Speaker) -> LessonDetails:
    """Return a lesson and all that is known about it."""
    own, found = engine.scopes.own, await lesson(engine, sent, speaker=speaker)
    versions: list[dict[str, Any]] = []
    if speaker is Speaker.PERSON:
        versions = compact(await engine.bank.lessons.history(own, found.id))
    effect = (await engine.bank.effects.of(own, [found.id])).get(found.id)
    mark = (await services.ground.marks_of(engine.context, own, [found.id])).get(found.id)
    return LessonDetails(
        lesson=found,
        guards=mode_in(engine.settings.guards, await engine.bank.lessons.guard_mode(own)),
        effectiveness_estimate=found.estimate(),
        versions=versions,
        links=list(await engine.bank.lessons.links(own, found.id)),
        neighbors=list(await engine.bank.views.neighbors(own, "record", found.id)),
        effect=(effect.comparison if effect else Comparison()).told,
        since=mark.told if mark else "",
    )


async def added(engine: Engine, sent: Sent, *, speaker: Speaker) -> Stored:
    """Store a lesson: a person's is trusted, any other counts as an agent's."""
    store = services.lessons.add if speaker is Speaker.PERSON else services.lessons.store
    return await store(engine.context, sent)


async def edited(engine: Engine, sent: Sent, *, speaker: Speaker) -> Lesson:
    """Change fields of a lesson; an agent's change of what a person keeps waits for the person."""
    found = await _own(engine, sent, speaker=speaker)
    if speaker is not Speaker.PERSON and found.is_kept_by_person:
        changes = await services.lessons.checked_changes(engine.context, found, sent["changes"])
        await _refuse_kept(engine, found, ProposalKind.EDIT, "an edit", changes)
    after = await engine.edit_lesson(found.id, sent["changes"], by=speaker)
    return await _settle_fulfilled(engine, after, speaker)


async def _settle_fulfilled(engine: Engine, after: Lesson, speaker: Speaker) -> Lesson:
    """Close what agents proposed of a lesson where its person has just done so by themselves; return the lesson."""
    if speaker is Speaker.PERSON:
        await engine.bank.proposals.settle_fulfilled(engine.scopes.own, after.id)
    return after


async def _refuse_kept(
    engine: Engine,
    found: Lesson,
    kind: ProposalKind,
    reason: str,
    body: Mapping[str, Any] | None = None,
) -> None:
    """Keep what an agent wants of a person's lesson as a proposal, and raise NotAllowedError that says so."""
    own = engine.scopes.own
    _, told = await decide_or_keep(
        engine.context, own, found, kind, reason=reason, body=dict(body or {})
    )
    raise NotAllowedError("id", told, "A person decides about it in a terminal of their own.")


async def moved(engine: Engine, sent: Sent, *, speaker: Speaker) -> Lesson:
    """Take a lesson out of use, or into use again."""
    found = await _own(engine, sent, speaker=speaker)
    state, reason = State(sent["state"]), str(sent["reason"])[:500]
    if state is not State.RETIRED:
        refuse_agent(speaker, "state", "bring a lesson back")
    elif speaker is not Speaker.PERSON and found.is_kept_by_person:
        await _refuse_kept(engine, found, ProposalKind.RETIRE, reason)
    after = await engine.bank.lessons.set_state(
        engine.scopes.own, found.id, state, reason, by=speaker
    )
    return await _settle_fulfilled(engine, after, speaker)


async def _own(engine: Engine, sent: Sent, *, speaker: Speaker) -> Lesson:
    found = await lesson(engine, sent, speaker=speaker)
    if found.project == GLOBAL:
        engine.scopes.refuse_shared("id")
    return found


async def remembered(engine: Engine, sent: Sent, *, speaker: Speaker) -> dict[str, Any]:
    """Return a lesson's earlier versions, the outcomes of its use, and the recalls that showed it."""
    own, found = engine.scopes.own, await lesson(engine, sent, speaker=speaker)
    await engine.bank.recalls.flush()
    versions = compact(await engine.bank.lessons.history(own, found.id))
    return {"versions": versions, **await engine.bank.views.use_of(own, found.id)}


async def waiting(engine: Engine, _: Sent, *, speaker: Speaker) -> Waiting:
    """Return what waits for a person; nothing in quarantine is shown to an agent."""
    own, withheld = engine.scopes.own, 0
    lessons = await engine.bank.lessons.latest(own, kind=None, limit=_MOST_WAITING, held=True)
    if speaker is not Speaker.PERSON:
        lessons, withheld = [], len(lessons)
    if engine.settings.review == "ask":
        lessons += filter(_is_of_agents, await engine.bank.lessons.latest(own, limit=_MOST_WAITING))
    return Waiting(
        scope=str(own),
        lessons=tuple(lessons),
        guards=tuple(await engine.bank.lessons.unarmed(own, _MOST_WAITING)),
        findings=tuple(await engine.bank.findings.waiting(engine.scopes.own)),
        proposals=tuple(await proposed(engine)),
        doubted=await services.roots.doubted(engine.context),
        shared=(await services.shared.shared_here(engine.context)).note,
        withheld=withheld,
    )


async def proposed(engine: Engine) -> list[Proposed]:
    """Return what agents want changed of lessons that a person keeps, each with its lesson."""
    own = engine.scopes.own
    return [
        Proposed(proposal=one, lesson=await engine.bank.lessons.get(own, one.lesson_id))
        for one in await engine.bank.proposals.waiting(own)
    ]


def _is_of_agents(lesson: Lesson) -> bool:
    return lesson.trust is Trust.OBSERVED and lesson.source in (
        Source.AGENT,
        Source.MODEL,
        Source.RULES,
    )


async def decided(engine: Engine, sent: Sent, *, speaker: Speaker) -> Lesson:
    """Trust a lesson, or retire one in quarantine; or do what a proposal wants, or drop that."""
    refuse_agent(speaker, "id", "decide about what waits")
    if str(sent["id"]).startswith(f"{PREFIX}_"):
        own, name = engine.scopes.own, str(sent["id"])
        if not engine.scopes.shares and (await _about(engine, name)).project == GLOBAL:
            engine.scopes.refuse_shared("id")
        return await engine.bank.proposals.decide(own, name, approved=sent["approved"] is True)
    found = await _own(engine, sent, speaker=speaker)
    asks = {
        "approved": sent["approved"] is True,
        "of_agents": engine.settings.review == "ask" and _is_of_agents(found),
    }
    after = await engine.bank.lessons.decide(engine.scopes.own, found.id, **asks)
    if asks["approved"]:
        await services.roots.plant_again(engine.context, engine.scopes.own, found.id)
    return after


async def _about(engine: Engine, proposal_id: str) -> Lesson:
    """Return the lesson that a proposal is about."""
    own = engine.scopes.own
    return await engine.bank.lessons.get(
        own, (await engine.bank.proposals.get(own, proposal_id)).lesson_id
    )


async def answered(engine: Engine, sent: Sent, *, speaker: Speaker) -> Lesson:
    """Say of a lesson whose ground is gone that it is still true, which plants new roots, or retire it."""
    refuse_agent(speaker, "id", "say what is still true")
    found = await _own(engine, sent, speaker=speaker)
    own = engine.scopes.own
    if sent["true"] is True:
        await services.roots.still_true(engine.context, own, found)
        return found
    return await engine.bank.lessons.set_state(
        own, found.id, State.RETIRED, "no longer true", by=speaker
    )


async def reopened(engine: Engine, sent: Sent, *, speaker: Speaker) -> None:
    """Undo a decision of a review: about the `finding` of which a `lesson` was made, or about the lesson `id`."""
    refuse_agent(speaker, "id", "undo a decision")
    if "finding" in sent:
        await services.findings.reopen(engine.context, str(sent["finding"]), sent.get("lesson"))
        return
    found = await _own(engine, sent, speaker=speaker)
    before = {
        "state": State(sent["state"]),
        "trust": Trust(sent["trust"]),
        "held": sent.get("held"),
    }
    await engine.bank.lessons.edit(engine.scopes.own, found.id, before, by=speaker)


async def settled(engine: Engine, sent: Sent, *, speaker: Speaker) -> dict[str, Any]:
    """Make a lesson of a finding, with the fields in `changes`, or drop it; an agent's lesson is not trusted."""
    for found in await engine.bank.findings.waiting(engine.scopes.own):
        if found.id == sent["id"]:
            break
    else:
        raise NotFoundError("id", "no such finding waits", "List them: mcp-reflect lessons review.")
    if sent["approved"] is not True:
        # Nobody is asked about it again.
        await engine.bank.findings.settle(engine.scopes.own, found.id, FindingState.DROPPED, None)
        return {"state": "dropped"}
    keep = partial(services.findings.keep, by_person=speaker is Speaker.PERSON)
    stored = await keep(engine.context, found, sent.get("changes") or {})
    return {"lesson_id": stored.lesson_id, "state": "kept", "is_new": stored.status == "stored"}


async def guarded(engine: Engine, sent: Sent, *, speaker: Speaker) -> Lesson:
    """Set what the guard of a lesson does at a call."""
    refuse_agent(speaker, "mode", "say what a guard does")
    found = await _own(engine, sent, speaker=speaker)
    after = await services.guards.set_mode(engine.context, found.id, GuardMode(sent["mode"]))
    return await _settle_fulfilled(engine, after, speaker)


async def tried(engine: Engine, sent: Sent, *, speaker: Speaker) -> Replayed:
    """Return what the guard of a lesson would have met in the past sessions of this machine."""
    found = await lesson(engine, sent, speaker=speaker)
    if engine.scopes.folder is None:
        fix = "Run it in the project's folder, without a service and MCP_REFLECT_PROJECT."
        raise InputError("id", "the sessions of its project are not known here", fix)
    return await services.replay.replay(engine.context, only=found.id)


async def pinned(engine: Engine, sent: Sent, *, speaker: Speaker) -> Lesson:
    """Let every session begin with a lesson, or no longer."""
    refuse_agent(speaker, "id", "say what every session begins with")
    found = await _own(engine, sent, speaker=speaker)
    return await engine.bank.lessons.pin(engine.scopes.own, found.id, pinned=sent["pinned"] is True)


async def merged(engine: Engine, sent: Sent, *, speaker: Speaker) -> dict[str, Any]:
    """Merge lessons that say the same into the first of `ids`."""
    from mcp_reflect.services.consolidate import merge  # noqa: PLC0415 - slow to import, needed here alone

    found = [await _own(engine, {"id": part}, speaker=speaker) for part in sent["ids"]]
    if any(one.is_kept_by_person for one in found):
        refuse_agent(speaker, "ids", "merge lessons that a person keeps")
    kept_id, *gone = [one.id for one in found]
    if not gone:
        raise InputError(
            "merge", "it takes two lessons or more", "Name the one that stays, then the others."
        )
    dream = await merge(engine.context, kept_id, gone, by=speaker)
    return {"id": kept_id, "merged": gone, "dream_id": dream.dream_id}


async def unmerged(engine: Engine, sent: Sent, *, speaker: Speaker) -> Undone:
    """Undo a merge."""
    refuse_agent(speaker, "id", "undo a merge")
    return await engine.undo_dream(str(sent["id"]), by=speaker)


async def imported(engine: Engine, sent: Sent, *, speaker: Speaker) -> tuple[Stored, ...]:
    """Store numbered lines of an export; `own` lines keep their trust, and are only for those who may do all."""
    lines: Sequence[tuple[int, dict[str, Any]]] = sent["lines"]
    for number, line in lines if not engine.scopes.shares else ():
        engine.scopes.named(line.get("project"))
        if GLOBAL in (line.get("project"), None if line.get("visibility") != "global" else GLOBAL):
            engine.scopes.refuse_shared(f"line {number}, visibility")
    if sent.get("own"):
        refuse_agent(speaker, "--own", "keep the trust that a file claims")
        return tuple(await services.imports.import_own(engine.context, lines))
    stored: list[Stored] = []
    async for batch in engine.import_lessons(lines):
        stored += batch
    return tuple(stored)


async def exported(engine: Engine, sent: Sent, *, speaker: Speaker) -> list[dict[str, Any]]:
    """Return the lessons of the project, or at one's own bank of all projects, as lines of an export."""
    own = engine.scopes.own
    every_project = sent.get("all_projects") is True and engine.scopes.shares
    lines = [
        line
        async for line in engine.bank.transfer.export(
            own.tenant, None if every_project else own.project
        )
    ]
    if speaker is Speaker.PERSON:
        return lines
    history = ("versions", "outcomes")
    shown = [line for line in lines if "held" not in line]
    return [{name: value for name, value in line.items() if name not in history} for line in shown]


async def recalled(engine: Engine, sent: Sent, *, speaker: Speaker) -> Recall:  # noqa: ARG001 - as all uses
    """Return the lessons that fit a task; a look does not count as a use."""
    return await services.lessons.recall(engine.context, sent, applied=False)


async def counted(engine: Engine, _: Sent, *, speaker: Speaker) -> dict[str, Any]:  # noqa: ARG001 - as all uses
    """Return counts of the records of the project and the global ones."""
    return dict(await engine.get_stats())


async def card(engine: Engine, sent: Sent, *, speaker: Speaker) -> SessionCard | None:  # noqa: ARG001 - as all uses
    """Return what became of a session of the project, by default of the latest; None if there is none."""
    session = sent.get("session")
    return await engine.bank.effects.card(engine.scopes.own, session and str(session))


class Use(NamedTuple):
    """A use: its function, the type of its result, and the least role that a token needs for it."""

    work: Callable[..., Awaitable[Any]]
    result: Any
    role: AccessRole


USES: Final[Mapping[str, Use]] = {
    "lessons": Use(listed, Listed, AccessRole.READER),
    "show": Use(shown, LessonDetails, AccessRole.READER),
    "add": Use(added, Stored, AccessRole.WRITER),
    "edit": Use(edited, Lesson, AccessRole.ADMIN),
    "state": Use(moved, Lesson, AccessRole.WRITER),
    "history": Use(remembered, None, AccessRole.ADMIN),
    "review": Use(waiting, Waiting, AccessRole.ADMIN),
    "decide": Use(decided, Lesson, AccessRole.ADMIN),
    "still": Use(answered, Lesson, AccessRole.ADMIN),
    "finding": Use(settled, None, AccessRole.ADMIN),
    "reopen": Use(reopened, None, AccessRole.ADMIN),
    "guard": Use(guarded, Lesson, AccessRole.ADMIN),
    "try": Use(tried, None, AccessRole.ADMIN),
    "pin": Use(pinned, Lesson, AccessRole.ADMIN),
    "merge": Use(merged, None, AccessRole.ADMIN),
    "undo": Use(unmerged, Undone, AccessRole.ADMIN),
    "import": Use(imported, tuple[Stored, ...], AccessRole.WRITER),
    "export": Use(exported, None, AccessRole.READER),
    "recall": Use(recalled, Recall, AccessRole.READER),
    "card": Use(card, SessionCard | None, AccessRole.READER),
    "stats": Use(counted, None, AccessRole.READER),
}
