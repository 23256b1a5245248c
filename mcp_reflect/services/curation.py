"""The uses of lessons on the command line and the board, at a person's own bank or by a token at a team's service.

Each use is a function of an engine, the values of a request, and who speaks: a person at their own bank or with an
admin's token, or an agent. An agent's request is never trusted: it changes nothing that a person keeps, and shows
nothing in quarantine. A person's request has in `seen` the digests of the lessons that it changes, as the person was
shown them: where a lesson has changed since, nothing is done. `USES` lists all uses; those of a review are in `reviews`.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from mcp_reflect import services
from mcp_reflect.errors import InputError, NotAllowedError
from mcp_reflect.models.access import AccessRole
from mcp_reflect.models.card import SessionCard
from mcp_reflect.models.common import GLOBAL, compact, from_json
from mcp_reflect.models.dream import Undone
from mcp_reflect.models.effect import Comparison
from mcp_reflect.models.lesson import Filter, GuardMode, Lesson, State, Stored
from mcp_reflect.models.proposal import ProposalKind
from mcp_reflect.models.recall import Recall
from mcp_reflect.moments.guarded import mode_in
from mcp_reflect.services import reviews
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.lesson_of_request import (
    Sent,
    lesson_to_change,
    lesson_to_read,
    seen_by_speaker,
)
from mcp_reflect.services.proposals import decide_or_keep
from mcp_reflect.services.replay import Replayed
from mcp_reflect.services.reviews import Waiting
from mcp_reflect.speaker import Speaker, refuse_agent

_MOST_REASON: Final = 500  # characters of why a lesson is taken out of use


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """Lessons of a scope."""

    scope: str
    lessons: tuple[Lesson, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonDetails:
    """A lesson with all that the bank has about it."""

    lesson: Lesson
    guards: GuardMode  # of its project
    effectiveness_estimate: dict[str, Any]
    versions: list[dict[str, Any]]
    links: list[dict[str, Any]]
    neighbors: list[dict[str, Any]]
    effect: str = ""  # whether it helped or hurt, by proven endings of sessions
    since: str = ""  # the remark that it may be outdated: "app.py is gone since"


async def list_lessons(engine: Engine, sent: Sent, *, speaker: Speaker) -> Listed:
    """Return the lessons that pass a filter, the newest first; to an agent none in quarantine."""
    own = engine.scopes.own
    condition = from_json(Filter, sent["filter"])
    if speaker is not Speaker.PERSON:
        condition = replace(condition, held=False)
    lessons = await engine.bank.views.browse(own, condition)
    return Listed(scope=str(own), lessons=tuple(lessons))


async def show_lesson(engine: Engine, sent: Sent, *, speaker: Speaker) -> LessonDetails:
    """Return a lesson with all that the bank has about it; its earlier versions only to a person."""
    own = engine.scopes.own
    bank = engine.bank
    lesson = await lesson_to_read(engine, sent, speaker=speaker)
    versions: list[dict[str, Any]] = []
    if speaker is Speaker.PERSON:
        versions = compact(await bank.lessons.history(own, lesson.id))
    effects = await bank.effects.of(own, [lesson.id])
    comparison = Comparison()
    if lesson.id in effects:
        comparison = effects[lesson.id].comparison
    remarks = await services.ground.remarks_on(engine.context, own, [lesson.id])
    since = ""
    if lesson.id in remarks:
        since = remarks[lesson.id].what_changed
    return LessonDetails(
        lesson=lesson,
        guards=mode_in(engine.settings.guards, await bank.guards.mode(own)),
        effectiveness_estimate=lesson.estimate(),
        versions=versions,
        links=list(await bank.lessons.links(own, lesson.id)),
        neighbors=list(await bank.views.neighbors(own, "record", lesson.id)),
        effect=comparison.in_words,
        since=since,
    )


async def add_lesson(engine: Engine, sent: Sent, *, speaker: Speaker) -> Stored:
    """Store a lesson: a person's is trusted, any other counts as an agent's."""
    if speaker is Speaker.PERSON:
        return await services.lessons.add(engine.context, sent)
    return await services.lessons.store(engine.context, sent)


async def edit_lesson(engine: Engine, sent: Sent, *, speaker: Speaker) -> Lesson:
    """Change fields of a lesson; an agent's change of what a person keeps waits for the person."""
    lesson = await lesson_to_change(engine, sent, speaker=speaker)
    if speaker is not Speaker.PERSON and lesson.is_kept_by_person:
        changes = await services.lesson_edits.checked_changes(
            engine.context, lesson, sent["changes"]
        )
        await _propose_instead(engine, lesson, ProposalKind.EDIT, "an edit", changes)
    seen = seen_by_speaker(sent, speaker, lesson.id)
    edited = await engine.edit_lesson(lesson.id, sent["changes"], by=speaker, seen=seen)
    await _settle_fulfilled(engine, edited, speaker)
    return edited


async def _settle_fulfilled(engine: Engine, lesson: Lesson, speaker: Speaker) -> None:
    """After a person changed a lesson, close the proposals of agents that asked for the same change."""
    if speaker is Speaker.PERSON:
        await engine.bank.proposals.settle_fulfilled(engine.scopes.own, lesson.id)


async def _propose_instead(
    engine: Engine,
    lesson: Lesson,
    kind: ProposalKind,
    reason: str,
    body: Mapping[str, Any] | None = None,
) -> None:
    """Store an agent's wish to change a person's lesson as a proposal, and raise NotAllowedError that says so."""
    _, message = await decide_or_keep(
        engine.context, engine.scopes.own, lesson, kind, reason=reason, body=dict(body or {})
    )
    raise NotAllowedError("id", message, "A person decides about it in a terminal of their own.")


async def set_state(engine: Engine, sent: Sent, *, speaker: Speaker) -> Lesson:
    """Set the state of a lesson.

    | who asks  | the lesson             | the new state           | result                          |
    |-----------|------------------------|-------------------------|---------------------------------|
    | a person  | any                    | any                     | it is set                       |
    | an agent  | any                    | active or archived      | an error: only a person may     |
    | an agent  | is kept by a person    | retired                 | a proposal, and an error        |
    | an agent  | any other              | retired                 | it is set                       |
    """
    lesson = await lesson_to_change(engine, sent, speaker=speaker)
    state = State(sent["state"])
    reason = str(sent["reason"])[:_MOST_REASON]
    if state is not State.RETIRED:
        refuse_agent(speaker, "state", "bring a lesson back")
    elif speaker is not Speaker.PERSON and lesson.is_kept_by_person:
        await _propose_instead(engine, lesson, ProposalKind.RETIRE, reason)
    changed = await engine.bank.lessons.set_state(
        engine.scopes.own,
        lesson.id,
        state,
        reason,
        by=speaker,
        seen=seen_by_speaker(sent, speaker, lesson.id),
    )
    await _settle_fulfilled(engine, changed, speaker)
    return changed


async def lesson_history(engine: Engine, sent: Sent, *, speaker: Speaker) -> dict[str, Any]:
    """Return a lesson's earlier versions, the outcomes of its use, and the recalls that showed it."""
    own = engine.scopes.own
    lesson = await lesson_to_read(engine, sent, speaker=speaker)
    await engine.bank.recalls.flush()
    versions = compact(await engine.bank.lessons.history(own, lesson.id))
    return {"versions": versions, **await engine.bank.views.use_of(own, lesson.id)}


async def set_guard_mode(engine: Engine, sent: Sent, *, speaker: Speaker) -> Lesson:
    """Set the act of a lesson's guard at a call that it matches: hold the call, tell the lesson, nothing."""
    refuse_agent(speaker, "mode", "say what a guard does")
    lesson = await lesson_to_change(engine, sent, speaker=speaker)
    seen = seen_by_speaker(sent, speaker, lesson.id)
    mode = GuardMode(sent["mode"])
    changed = await services.guards.set_mode(engine.context, lesson.id, mode, seen)
    await _settle_fulfilled(engine, changed, speaker)
    return changed


async def try_guard(engine: Engine, sent: Sent, *, speaker: Speaker) -> Replayed:
    """Return the calls that the guard of a lesson would have met in the past sessions of this machine."""
    lesson = await lesson_to_read(engine, sent, speaker=speaker)
    if engine.scopes.folder is None:
        fix = "Run it in the project's folder, without a service and MCP_REFLECT_PROJECT."
        raise InputError("id", "the sessions of its project are not known here", fix)
    return await services.replay.replay(engine.context, only=lesson.id)


async def pin_lesson(engine: Engine, sent: Sent, *, speaker: Speaker) -> Lesson:
    """Let every session begin with a lesson, or no longer."""
    refuse_agent(speaker, "id", "say what every session begins with")
    lesson = await lesson_to_change(engine, sent, speaker=speaker)
    pinned = sent["pinned"] is True
    seen = seen_by_speaker(sent, speaker, lesson.id)
    return await engine.bank.lessons.pin(engine.scopes.own, lesson.id, pinned=pinned, seen=seen)


async def merge_lessons(engine: Engine, sent: Sent, *, speaker: Speaker) -> dict[str, Any]:
    """Merge lessons that say the same into the first of `ids`, as a dream that can be undone.

    Those that a person keeps are merged by a person alone.
    """
    from mcp_reflect.services.consolidate import merge  # noqa: PLC0415 - slow to import, needed here alone

    lessons = [
        await lesson_to_change(engine, {"id": lesson_id}, speaker=speaker)
        for lesson_id in sent["ids"]
    ]
    if any(lesson.is_kept_by_person for lesson in lessons):
        refuse_agent(speaker, "ids", "merge lessons that a person keeps")
    kept_id, *merged_ids = [lesson.id for lesson in lessons]
    if not merged_ids:
        raise InputError(
            "merge", "it takes two lessons or more", "Name the one that stays, then the others."
        )
    seen = seen_by_speaker(sent, speaker, kept_id, *merged_ids)
    dream = await merge(engine.context, kept_id, merged_ids, by=speaker, seen=seen)
    return {"id": kept_id, "merged": merged_ids, "dream_id": dream.dream_id}


async def undo_merge(engine: Engine, sent: Sent, *, speaker: Speaker) -> Undone:
    """Undo a merge, which `id` names by its `dream_id`."""
    refuse_agent(speaker, "id", "undo a merge")
    return await engine.undo_dream(str(sent["id"]), by=speaker)


async def import_lines(engine: Engine, sent: Sent, *, speaker: Speaker) -> tuple[Stored, ...]:
    """Store numbered lines of an export. With `own`, a person's alone, the lines keep the trust that they claim."""
    lines: Sequence[tuple[int, dict[str, Any]]] = sent["lines"]
    if not engine.scopes.shares:
        _refuse_lines_of_others(engine, lines)
    if sent.get("own"):
        refuse_agent(speaker, "--own", "keep the trust that a file claims")
        return tuple(await services.imports.import_own(engine.context, lines))
    stored: list[Stored] = []
    async for batch in engine.import_lessons(lines):
        stored += batch
    return tuple(stored)


def _refuse_lines_of_others(engine: Engine, lines: Sequence[tuple[int, dict[str, Any]]]) -> None:
    """Raise InputError for a line of a project that this caller may not use, or one for all projects."""
    for number, line in lines:
        project = line.get("project")
        engine.scopes.named(project)
        if project == GLOBAL or line.get("visibility") == "global":
            engine.scopes.refuse_shared(f"line {number}, visibility")


_FOR_PERSONS_ALONE: Final = ("versions", "outcomes")
"""Fields of an exported line that may hold words which an agent must not see."""


async def export_lines(engine: Engine, sent: Sent, *, speaker: Speaker) -> list[dict[str, Any]]:
    """Return the lessons of the project, or at one's own bank of all projects, as lines of an export.

    An agent gets no lesson in quarantine, and no earlier versions and outcomes.
    """
    own = engine.scopes.own
    project: str | None = own.project
    if sent.get("all_projects") is True and engine.scopes.shares:
        project = None
    lines = [line async for line in engine.bank.transfer.export(own.tenant, project)]
    if speaker is Speaker.PERSON:
        return lines
    return [_line_for_agent(line) for line in lines if "held" not in line]


def _line_for_agent(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return an exported line without the fields that only a person sees."""
    return {name: value for name, value in line.items() if name not in _FOR_PERSONS_ALONE}


async def recall_lessons(engine: Engine, sent: Sent, *, speaker: Speaker) -> Recall:  # noqa: ARG001 - as all uses
    """Return the lessons that fit a task; a look does not count as a use."""
    return await services.lessons.recall(engine.context, sent, applied=False)


async def count_records(engine: Engine, _: Sent, *, speaker: Speaker) -> dict[str, Any]:  # noqa: ARG001 - as all uses
    """Return counts of the records of the project and the global ones."""
    return dict(await engine.get_stats())


async def session_card(engine: Engine, sent: Sent, *, speaker: Speaker) -> SessionCard | None:  # noqa: ARG001 - as all uses
    """Return what became of a session of the project, by default of the latest; None if there is none."""
    session = sent.get("session")
    if session is not None:
        session = str(session)
    return await engine.bank.effects.card(engine.scopes.own, session)


class Use(NamedTuple):
    """A use: its function, the type of its result, and the least role that a token needs for it.

    The type is what `from_json` makes of a service's answer; None leaves that as JSON.
    """

    work: Callable[..., Awaitable[Any]]
    result: Any
    role: AccessRole


USES: Final[Mapping[str, Use]] = {
    "lessons": Use(list_lessons, Listed, AccessRole.READER),
    "show": Use(show_lesson, LessonDetails, AccessRole.READER),
    "add": Use(add_lesson, Stored, AccessRole.WRITER),
    "edit": Use(edit_lesson, Lesson, AccessRole.ADMIN),
    "state": Use(set_state, Lesson, AccessRole.WRITER),
    "history": Use(lesson_history, None, AccessRole.ADMIN),
    "review": Use(reviews.list_waiting, Waiting, AccessRole.ADMIN),
    "decide": Use(reviews.decide, Lesson, AccessRole.ADMIN),
    "still": Use(reviews.answer_still_true, Lesson, AccessRole.ADMIN),
    "finding": Use(reviews.settle_finding, None, AccessRole.ADMIN),
    "reopen": Use(reviews.undo_decision, None, AccessRole.ADMIN),
    "guard": Use(set_guard_mode, Lesson, AccessRole.ADMIN),
    "try": Use(try_guard, None, AccessRole.ADMIN),
    "pin": Use(pin_lesson, Lesson, AccessRole.ADMIN),
    "merge": Use(merge_lessons, None, AccessRole.ADMIN),
    "undo": Use(undo_merge, Undone, AccessRole.ADMIN),
    "import": Use(import_lines, tuple[Stored, ...], AccessRole.WRITER),
    "export": Use(export_lines, None, AccessRole.READER),
    "recall": Use(recall_lessons, Recall, AccessRole.READER),
    "card": Use(session_card, SessionCard | None, AccessRole.READER),
    "stats": Use(count_records, None, AccessRole.READER),
}
