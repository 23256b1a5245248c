"""The rows of a record: whoever writes a lesson writes its index entry, its guard's keys and its history as well.

The last line of defense below the services is here: only a person changes a lesson that a person keeps. A caller that
does not say that a person speaks writes as an agent.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, Final, NamedTuple

from mcp_reflect.errors import NotAllowedError
from mcp_reflect.guards.guard import stored_guard
from mcp_reflect.models.common import Link, Scope
from mcp_reflect.models.lesson import GuardMode, Lesson, RecordKind, State, Trust
from mcp_reflect.speaker import Speaker
from mcp_reflect.storage import screening
from mcp_reflect.storage.repository import Reading, Writing
from mcp_reflect.storage.retrieval import index
from mcp_reflect.storage.rows import LISTS, lesson_from, lesson_values
from mcp_reflect.storage.values import Bound, Values, bound, scoped

REPLACES: Final = "replaces"
"""The relation of a lesson to one that it replaced."""

GUARD_FIELDS: Final = ("wrong_call", "right_call", "guard", "unarmed", "guard_mode")

FIRST_BELOW: Final = 0.3
"""The importance (0..1) below which records of a full project are archived first."""

NEVER_FROM: Final = 0.8
"""The importance from which a record is never archived to make room."""

_FIELDS_OF_USE: Final = frozenset(
    "project reflection_id strength times_applied effectiveness wins losses proof guard_repeats suspicion rules_version "
    "updated_at".split()
)
"""Fields that an agent's use changes, also of a lesson that a person keeps: counts, times and the project."""

_VERSION_FIELDS: Final = tuple(
    name
    for name in screening.DRAFT_FIELDS
    if name not in ("kind", "context", *LISTS, "external_id")
)
"""The fields of a wording in the history of a record."""


class LessonRows(NamedTuple):
    """All rows that are stored of a record."""

    row: Bound
    entry: Values | None  # of the text index, None unless the record is active
    guards: list[Bound]  # the keys of its guard


def lesson_rows(scope: Scope, lesson: Lesson) -> LessonRows:
    """Return the rows of a record; the project is the record's own, the tenant the scope's."""
    guards = [*map(bound, guard_rows(scope, lesson))]
    return LessonRows(bound(lesson_values(scope, lesson)), index.entry(scope, lesson), guards)


def insert_rows(tx: Writing, records: Sequence[LessonRows]) -> None:
    """Store records with the keys of their guards, and index those that are active."""
    tx.run_many("lesson_add", [record.row for record in records])
    guard_keys: list[Bound] = []
    for record in records:
        guard_keys += record.guards
    tx.run_many("guard_add", guard_keys)
    index.add(tx, [record.entry for record in records if record.entry])


def insert(tx: Writing, scope: Scope, lesson: Lesson, *, by: Speaker = Speaker.AGENT) -> None:
    """Store a record as it is, and index it."""
    refuse_change(None, lesson, by)
    insert_rows(tx, [lesson_rows(scope, lesson)])


def supersede(
    tx: Writing,
    scope: Scope,
    old: Lesson,
    new: Lesson,
    now: float,
    *,
    by: Speaker = Speaker.AGENT,
) -> None:
    """Retire `old`, which `new` replaces, and keep it in the history of `new`.

    `old` gets a version with its state until now, so that its own history tells when it was in use. `new` keeps its words
    and gets the strength of `old`; the version that is added to its history has the words of `old`.
    """
    retired = replace(old, state=State.RETIRED, updated_at=now)
    revise(tx, scope, old, retired, f"replaced by {new.id}", by=by)
    keep_version(tx, new.id, "other_wording", old)
    change(tx, scope, replace(new, strength=new.strength + old.strength, updated_at=now), by=by)
    tx.run(
        "link_add", {"from_id": new.id, "relation": REPLACES, "to_kind": "lesson", "to_id": old.id}
    )


def refuse_change(before: Lesson | None, after: Lesson | None, by: Speaker) -> None:
    """Raise NotAllowedError for a change that is a person's alone; `by` says who speaks.

    | before                         | after                                 | an agent                        |
    |--------------------------------|---------------------------------------|---------------------------------|
    | a person keeps the lesson      | it is gone, or says something else    | is refused                      |
    | a person keeps the lesson      | only fields of its use changed        | may (`_FIELDS_OF_USE`)          |
    | any other lesson, or none      | a person would keep it                | is refused: no agent gives trust|
    | any other lesson, or none      | any other                             | may                             |
    """
    if by is Speaker.PERSON:
        return
    fix = "A person decides about it: mcp-reflect lessons review."
    if before is not None and before.is_kept_by_person:
        if after is None or _kept_fields(before) != _kept_fields(after):
            raise NotAllowedError("lesson_id", "a person keeps that lesson", fix)
    elif after is not None and after.is_kept_by_person:
        raise NotAllowedError("lesson_id", "only a person may trust a lesson", fix)


def _kept_fields(lesson: Lesson) -> dict[str, Any]:
    """Return the fields of a lesson that stay as a person keeps them."""
    return {name: value for name, value in asdict(lesson).items() if name not in _FIELDS_OF_USE}


def change(tx: Writing, scope: Scope, lesson: Lesson, *, by: Speaker = Speaker.AGENT) -> None:
    """Write a changed record and its index entry, without a version. NotAllowedError for what a person keeps."""
    refuse_change(find(tx, scope, lesson.id), lesson, by)
    tx.run("lesson_change", lesson_values(scope, lesson))
    index.renew(tx, scope, lesson)
    tx.run("guard_cut", {"id": lesson.id, "tenant": scope.tenant})
    tx.run_many("guard_add", guard_rows(scope, lesson))


def revise(
    tx: Writing,
    scope: Scope,
    before: Lesson,
    after: Lesson,
    reason: str,
    *,
    by: Speaker = Speaker.AGENT,
) -> None:
    """Write a changed record, and keep its wording before the change as a version."""
    keep_version(tx, before.id, reason, before)
    change(tx, scope, after, by=by)


def keep_version(tx: Writing, record_id: str, reason: str, lesson: Lesson) -> None:
    """Keep the wording of `lesson` in the history of a record: its own earlier one, or that of a lesson that it replaced."""
    body = {name: getattr(lesson, name) for name in _VERSION_FIELDS}
    tx.run(
        "version_add",
        {"record_id": record_id, "reason": reason, "body": body, "now": lesson.updated_at},
    )


def add_links(tx: Writing, record_id: str, links: Sequence[Link]) -> None:
    """Link a record to others."""
    tx.run_many("link_add", [{"from_id": record_id, **asdict(link)} for link in links])


def lesson_by_id(
    reading: Reading, scope: Scope, lesson_id: str, field: str = "lesson_id"
) -> Lesson:
    """Return the record of this scope with that id; NotFoundError names `field`."""
    fix = "Send an id that recall_lessons or bank://lessons gave."
    return lesson_from(reading.existing("lesson_by_id", scope, field, lesson_id, fix))


def find(reading: Reading, scope: Scope, lesson_id: str) -> Lesson | None:
    """Return the record of this scope with that id, None if there is none."""
    row = reading.row("lesson_by_id", scoped(scope, id=lesson_id))
    if row is None:
        return None
    return lesson_from(row)


def set_state(
    tx: Writing,
    scope: Scope,
    lesson_id: str,
    state: State,
    reason: str,
    now: float,
    *,
    by: Speaker = Speaker.AGENT,
) -> Lesson:
    """Retire, archive or restore a lesson; its former state stays in its history."""
    before = lesson_by_id(tx, scope, lesson_id)
    if before.state is state:
        return before
    after = replace(before, state=state, updated_at=now)
    revise(tx, scope, before, after, reason, by=by)
    return after


def archive_excess(
    tx: Writing, scope: Scope, size: int | None, now: float, spare: str | None = None
) -> tuple[str, ...]:
    """Archive the records that a project has above `size` active ones of a kind (None: no limit); return their ids.

    Important and trusted records stay, and the one with the id `spare`. Unimportant ones go first; of these the least
    effective, then the one that was not updated for longest. This runs in the transaction that added some, so the limit
    holds exactly for any number of writing processes.
    """
    if size is None:
        return ()
    archived: list[str] = []
    limits = scoped(scope, size=size, spare=spare, first=FIRST_BELOW, never=NEVER_FROM)
    for kind in RecordKind:
        for row in tx.rows("lesson_over_size", {**limits, "kind": kind}):
            lesson = lesson_from(row)
            after = replace(lesson, state=State.ARCHIVED, updated_at=now)
            revise(tx, scope, lesson, after, "archived: the bank is full")
            archived.append(lesson.id)
    return tuple(archived)


def guard_rows(scope: Scope, lesson: Lesson) -> list[dict[str, Any]]:
    """Return the rows by which a call finds the guard of a lesson: one for each program, file or tool of the guard.

    The guard `git push --force` has one with the key `$ git`. There is none for a guard that is off, and for a lesson
    that is not in use.
    """
    guard = stored_guard(lesson.guard)
    is_in_use = lesson.state is State.ACTIVE and lesson.trust is not Trust.QUARANTINED
    is_off = bool(lesson.unarmed) or lesson.guard_mode is GuardMode.OFF
    if guard is None or not is_in_use or is_off:
        return []
    of_lesson = {"tenant": scope.tenant, "project": lesson.project, "lesson_id": lesson.id}
    return [{**of_lesson, "key": key} for key in guard.keys]
