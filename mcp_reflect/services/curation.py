"""What a person does with lessons on the command line: at their own bank, or by a token at a team's service.

Each use takes an engine, the values of a request, and whether the caller may do all: a person at their own bank, or an
admin. Others see nothing that is in quarantine.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from mcp_reflect import services
from mcp_reflect.errors import InputError, NotFoundError
from mcp_reflect.models.access import Role
from mcp_reflect.models.common import GLOBAL, compact, from_json
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
from mcp_reflect.moments.guarded import mode_in
from mcp_reflect.services.engine import Engine

Sent = Mapping[str, Any]

_MOST_WAITING: Final = 1_000  # quarantined lessons that one review lists


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """Lessons of a scope."""

    scope: str
    lessons: tuple[Lesson, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A lesson and all that is known about it; `guards` is what guards do in its project."""

    lesson: Lesson
    guards: GuardMode
    effectiveness_estimate: dict[str, Any]
    versions: list[dict[str, Any]]
    links: list[dict[str, Any]]
    neighbors: list[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What waits for a person: quarantined lessons, lessons whose guard is off until a person decides, and findings."""

    scope: str
    lessons: tuple[Lesson, ...]
    guards: tuple[Lesson, ...]
    findings: tuple[StoredFinding, ...]


async def listed(engine: Engine, sent: Sent, *, whole: bool) -> Listed:
    """Return the lessons that pass a filter, the newest first."""
    own, condition = engine.scopes.own, from_json(Filter, sent["filter"])
    lessons = await engine.bank.views.browse(
        own, condition if whole else replace(condition, held=False)
    )
    return Listed(scope=str(own), lessons=tuple(lessons))


async def lesson(engine: Engine, sent: Sent, *, whole: bool) -> Lesson:
    """Return the lesson with an id, or the one whose id begins or ends with it."""
    own, lessons = engine.scopes.own, engine.bank.lessons
    found = await lessons.get(own, await lessons.resolve_id(own, str(sent["id"])), "id")
    if found.held and not whole:
        raise NotFoundError("id", "it waits for an admin", "Ask one: mcp-reflect lessons review.")
    return found


async def shown(engine: Engine, sent: Sent, *, whole: bool) -> Shown:
    """Return a lesson and all that is known about it."""
    own, found = engine.scopes.own, await lesson(engine, sent, whole=whole)
    return Shown(
        lesson=found,
        guards=mode_in(engine.settings.guards, await engine.bank.lessons.guard_mode(own)),
        effectiveness_estimate=found.estimate(),
        versions=compact(await engine.bank.lessons.history(own, found.id)) if whole else [],
        links=list(await engine.bank.lessons.links(own, found.id)),
        neighbors=list(await engine.bank.views.neighbors(own, "record", found.id)),
    )


async def added(engine: Engine, sent: Sent, *, whole: bool) -> Stored:
    """Store a lesson that a person wrote; it is trusted if they may do all, else it counts as an agent's."""
    return await (services.lessons.add if whole else services.lessons.store)(engine.context, sent)


async def edited(engine: Engine, sent: Sent, *, whole: bool) -> Lesson:
    """Change fields of a lesson."""
    return await engine.edit_lesson((await _own(engine, sent, whole=whole)).id, sent["changes"])


async def moved(engine: Engine, sent: Sent, *, whole: bool) -> Lesson:
    """Take a lesson out of use, or into use again."""
    found = await _own(engine, sent, whole=whole)
    state = State(sent["state"])
    if state is not State.RETIRED and not whole:
        raise InputError("state", "only an admin can restore a lesson", "Ask an admin.")
    return await engine.bank.lessons.set_state(
        engine.scopes.own, found.id, state, str(sent["reason"])[:500]
    )


async def _own(engine: Engine, sent: Sent, *, whole: bool) -> Lesson:
    found = await lesson(engine, sent, whole=whole)
    if found.project == GLOBAL:
        engine.scopes.refuse_shared("id")
    return found


async def remembered(engine: Engine, sent: Sent, *, whole: bool) -> dict[str, Any]:
    """Return a lesson's earlier versions, the outcomes of its use, and the recalls that showed it."""
    own, found = engine.scopes.own, await lesson(engine, sent, whole=whole)
    await engine.bank.recalls.flush()
    versions = compact(await engine.bank.lessons.history(own, found.id))
    return {"versions": versions, **await engine.bank.views.use_of(own, found.id)}


async def waiting(engine: Engine, _: Sent, *, whole: bool) -> Waiting:  # noqa: ARG001 - as all uses
    """Return what waits for a person."""
    own = engine.scopes.own
    lessons = await engine.bank.lessons.latest(own, kind=None, limit=_MOST_WAITING, held=True)
    if engine.settings.review == "ask":
        lessons += filter(_is_of_agents, await engine.bank.lessons.latest(own, limit=_MOST_WAITING))
    return Waiting(
        scope=str(own),
        lessons=tuple(lessons),
        guards=tuple(await engine.bank.lessons.unarmed(own, _MOST_WAITING)),
        findings=tuple(await engine.bank.findings.waiting(engine.scopes.own)),
    )


def _is_of_agents(lesson: Lesson) -> bool:
    return lesson.trust is Trust.OBSERVED and lesson.source in (
        Source.AGENT,
        Source.MODEL,
        Source.RULES,
    )


async def decided(engine: Engine, sent: Sent, *, whole: bool) -> Lesson:
    """Trust a quarantined lesson, or retire it."""
    found = await _own(engine, sent, whole=whole)
    asks = {
        "approved": sent["approved"] is True,
        "of_agents": engine.settings.review == "ask" and _is_of_agents(found),
    }
    return await engine.bank.lessons.decide(engine.scopes.own, found.id, **asks)


async def reopened(engine: Engine, sent: Sent, *, whole: bool) -> None:
    """Undo a decision of a review: about the `finding` of which a `lesson` was made, or about the lesson `id`."""
    if "finding" in sent:
        await services.findings.reopen(engine.context, str(sent["finding"]), sent.get("lesson"))
        return
    found = await _own(engine, sent, whole=whole)
    before = {
        "state": State(sent["state"]),
        "trust": Trust(sent["trust"]),
        "held": sent.get("held"),
    }
    await engine.bank.lessons.edit(engine.scopes.own, found.id, before)


async def settled(engine: Engine, sent: Sent, *, whole: bool) -> dict[str, Any]:  # noqa: ARG001 - as all uses
    """Make a lesson of a finding, with the fields in `changes`, or drop it."""
    for found in await engine.bank.findings.waiting(engine.scopes.own):
        if found.id == sent["id"]:
            break
    else:
        raise NotFoundError("id", "no such finding waits", "List them: mcp-reflect lessons review.")
    if sent["approved"] is not True:
        # Nobody is asked about it again.
        await engine.bank.findings.settle(engine.scopes.own, found.id, FindingState.DROPPED, None)
        return {"state": "dropped"}
    stored = await services.findings.keep(engine.context, found, sent.get("changes") or {})
    return {"lesson_id": stored.lesson_id, "state": "kept", "is_new": stored.status == "stored"}


async def guarded(engine: Engine, sent: Sent, *, whole: bool) -> Lesson:
    """Set what the guard of a lesson does at a call."""
    found = await _own(engine, sent, whole=whole)
    return await services.guards.set_mode(engine.context, found.id, GuardMode(sent["mode"]))


async def pinned(engine: Engine, sent: Sent, *, whole: bool) -> Lesson:
    """Let every session begin with a lesson, or no longer."""
    found = await _own(engine, sent, whole=whole)
    return await engine.bank.lessons.pin(engine.scopes.own, found.id, pinned=sent["pinned"] is True)


async def merged(engine: Engine, sent: Sent, *, whole: bool) -> dict[str, Any]:
    """Merge lessons that say the same into the first of `ids`."""
    from mcp_reflect.services.consolidate import merge  # noqa: PLC0415 - slow to import, needed here alone

    kept_id, *gone = [(await _own(engine, {"id": part}, whole=whole)).id for part in sent["ids"]]
    if not gone:
        raise InputError(
            "merge", "it takes two lessons or more", "Name the one that stays, then the others."
        )
    dream = await merge(engine.context, kept_id, gone)
    return {"id": kept_id, "merged": gone, "dream_id": dream.dream_id}


async def unmerged(engine: Engine, sent: Sent, *, whole: bool) -> Undone:  # noqa: ARG001 - as all uses
    """Undo a merge."""
    return await engine.undo_dream(str(sent["id"]))


async def imported(engine: Engine, sent: Sent, *, whole: bool) -> tuple[Stored, ...]:
    """Store numbered lines of an export; `own` lines keep their trust, and are only for those who may do all."""
    lines: Sequence[tuple[int, dict[str, Any]]] = sent["lines"]
    for number, line in lines if not engine.scopes.shares else ():
        engine.scopes.named(line.get("project"))
        if GLOBAL in (line.get("project"), None if line.get("visibility") != "global" else GLOBAL):
            engine.scopes.refuse_shared(f"line {number}, visibility")
    if sent.get("own"):
        if not whole:
            raise InputError(
                "--own",
                "it keeps the trust that the file claims, so it takes an admin",
                "Leave it out.",
            )
        return tuple(await services.lessons.import_own(engine.context, lines))
    stored: list[Stored] = []
    async for batch in engine.import_lessons(lines):
        stored += batch
    return tuple(stored)


async def exported(engine: Engine, sent: Sent, *, whole: bool) -> list[dict[str, Any]]:
    """Return the lessons of the project, or at one's own bank of all projects, as lines of an export."""
    own = engine.scopes.own
    every_project = sent.get("all_projects") is True and engine.scopes.shares
    lines = [
        line
        async for line in engine.bank.transfer.export(
            own.tenant, None if every_project else own.project
        )
    ]
    if whole:
        return lines
    history = ("versions", "outcomes")
    shown = [line for line in lines if "held" not in line]
    return [{name: value for name, value in line.items() if name not in history} for line in shown]


async def recalled(engine: Engine, sent: Sent, *, whole: bool) -> Recall:  # noqa: ARG001 - as all uses
    """Return the lessons that fit a task; a look does not count as a use."""
    return await services.lessons.recall(engine.context, sent, applied=False)


async def counted(engine: Engine, _: Sent, *, whole: bool) -> dict[str, Any]:  # noqa: ARG001 - as all uses
    """Return counts of the records of the project and the global ones."""
    return dict(await engine.get_stats())


class Use(NamedTuple):
    """A use: its function, the type of its result, and the least role that a token needs for it."""

    work: Callable[..., Awaitable[Any]]
    result: Any
    role: Role


USES: Final[Mapping[str, Use]] = {
    "lessons": Use(listed, Listed, Role.READER),
    "show": Use(shown, Shown, Role.READER),
    "add": Use(added, Stored, Role.WRITER),
    "edit": Use(edited, Lesson, Role.ADMIN),
    "state": Use(moved, Lesson, Role.WRITER),
    "history": Use(remembered, None, Role.ADMIN),
    "review": Use(waiting, Waiting, Role.ADMIN),
    "decide": Use(decided, Lesson, Role.ADMIN),
    "finding": Use(settled, None, Role.ADMIN),
    "reopen": Use(reopened, None, Role.ADMIN),
    "guard": Use(guarded, Lesson, Role.ADMIN),
    "pin": Use(pinned, Lesson, Role.ADMIN),
    "merge": Use(merged, None, Role.ADMIN),
    "undo": Use(unmerged, Undone, Role.ADMIN),
    "import": Use(imported, tuple[Stored, ...], Role.WRITER),
    "export": Use(exported, None, Role.READER),
    "recall": Use(recalled, Recall, Role.READER),
    "stats": Use(counted, None, Role.READER),
}
