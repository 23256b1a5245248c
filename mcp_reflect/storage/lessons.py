"""Lessons with their guards: stored or merged, changed, retired, erased, and kept within the size of the bank."""

import asyncio
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any, Final, NamedTuple

from mcp_reflect.errors import InputError, NotAllowedError
from mcp_reflect.guards.call import Call
from mcp_reflect.guards.guard import Guard, parse_guard
from mcp_reflect.guards.matching import key_may_be_met, matches, may_be_met
from mcp_reflect.models import lesson as models
from mcp_reflect.models.common import Json, Link, Scope
from mcp_reflect.models.lesson import GuardMode, Lesson, LessonDraft, RecordKind, State, Trust
from mcp_reflect.security.injection import suspicion
from mcp_reflect.security.redact import quoted
from mcp_reflect.speaker import Speaker, refuse_agent
from mcp_reflect.storage import screening, similarity
from mcp_reflect.storage.repository import (
    LISTS,
    Bound,
    Reading,
    Repository,
    Values,
    Writing,
    bound,
    lesson_from,
    lesson_values,
    scoped,
    transaction,
)
from mcp_reflect.storage.retrieval import index

REPLACES: Final = "replaces"  # the relation of a lesson to one that it replaced
_MIN_ID_CHARS: Final = 4  # that stand for an id
_MAX_NAMED_IDS: Final = 5
# `index_rewrite` last: none of the record's terms stays in the file.
_ERASING: Final = (
    *(
        "version_erase",
        "link_erase",
        "failure_erase",
        "proposal_erase",
        "followed_erase",
        "roots_cut",
        "shown_in_erase",
        "guard_cut",
        "lesson_erase",
        "reflection_erase",
        "index_rewrite",
    ),
)


class LessonRepository(Repository):
    """The records that recall can show: lessons, strategies, and the summaries of reflections.

    Every method that takes an id raises NotFoundError if the scope has no such record.
    """

    async def store(
        self, scope: Scope, draft: LessonDraft, *, by: Speaker = Speaker.AGENT
    ) -> models.Stored:
        """Store a lesson, or strengthen the one that says the same.

        It is compared with words from outside, and judged, before the bank is locked: that takes longer than writing.
        """

        def read(reading: Reading) -> tuple[list[str], list[str], list[Lesson]]:
            runs = reading.rows("latest_runs" if scope.project else "latest_runs_of_all", values)
            seen = reading.rows("lines_seen", scoped(scope, limit=_LINES_COMPARED))
            waiting = screening.waiting_records(reading, scope)
            return [run["trace"] for run in runs], [row["call"] for row in seen], waiting

        def prepare() -> Lesson:
            outputs: list[str] = []
            for run in runs:
                outputs += screening.tool_outputs(json.loads(run))
            # Of single calls only what reads as an order counts: a lesson may quote what it is about.
            lines = [str(json.loads(call).get("line", "")) for call in seen]
            outputs = [*(line for line in lines if suspicion([line])), *outputs]
            record = screening.record_of(draft, scope, self.clock)
            return screening.screened(record, ["\n".join(outputs)[:_CHARS_COMPARED]], waiting)

        def store(tx: Writing) -> models.Stored:
            lesson_id, status, near = add_or_merge(tx, scope, lesson, by=by)
            archived = archive_excess(tx, scope, self.context.size, self.clock.now())
            reason = None
            if lesson_id in archived:
                reason = "archived at once: the bank is full of more important lessons"
            if status == "quarantined":
                reason, text, similar = f"{lesson.held}; a person decides", None, None
            else:
                kept = lesson if status == "stored" else lesson_by_id(tx, scope, lesson_id)
                text = kept.text
                if status == "merged" and kept.is_kept_by_person and not lesson.is_kept_by_person:
                    reason = _KEPT_AS_IT_IS
                similar = similarity.near_meaning(lesson, near) if status == "stored" else None
            return models.Stored(
                lesson_id=lesson_id,
                status=status,
                reason=reason,
                text=text,
                similar=(similar.id, similar.text) if similar else None,
                scope=str(scope),
            )

        values = scoped(scope, limit=_RUNS_COMPARED)
        runs, seen, waiting = await self.db.look(scope.tenant, read)
        lesson = await asyncio.to_thread(prepare)
        return await self.db.write(scope.tenant, store)

    @transaction
    def supersede(
        self,
        tx: Writing,
        scope: Scope,
        old_id: str,
        new_id: str,
        *,
        by: Speaker = Speaker.AGENT,
    ) -> None:
        """Retire a lesson that another one replaces, which keeps its wording and how often it was learned."""
        old, new, now = (
            lesson_by_id(tx, scope, old_id),
            lesson_by_id(tx, scope, new_id),
            self.clock.now(),
        )
        if old.id != new.id and old.state is State.ACTIVE:
            supersede(tx, scope, old, new, now, by=by)

    async def get(self, scope: Scope, lesson_id: str, field: str = "lesson_id") -> Lesson:
        """Return the record with that id; NotFoundError names `field`."""
        return await self.db.look(
            scope.tenant, lambda reading: lesson_by_id(reading, scope, lesson_id, field)
        )

    async def resolve_id(self, scope: Scope, part: str, field: str = "id") -> str:
        """Return the one id that is `part`, or begins or ends with it (4 characters or more), else `part`.

        `les_` may stand before the end of an id. InputError if there are several.
        """
        end = part.removeprefix("les_")
        values = scoped(
            scope, part=part, end=end if len(end) >= _MIN_ID_CHARS else part, limit=_MAX_NAMED_IDS
        )
        rows = await self.db.rows("lesson_ids_like", values) if len(part) >= _MIN_ID_CHARS else []
        ids = [str(row["id"]) for row in rows]
        if len(ids) < 2 or part in ids:
            if len(ids) == 1:
                return ids[0]
            return part
        raise InputError(
            field,
            f"'{quoted(part)}' is the start or end of {', '.join(ids)}",
            "Give more characters.",
        )

    async def projects(self, tenant: str) -> dict[str, int]:
        """Return the number of active lessons of each project; the empty name is global."""
        return {
            row["project"]: row["count"]
            for row in await self.db.rows("lesson_projects", {"tenant": tenant})
        }

    async def latest(
        self,
        scope: Scope,
        *,
        kind: RecordKind | None = RecordKind.LESSON,
        state: State | None = State.ACTIVE,
        limit: int = 50,
        held: bool = False,
    ) -> list[Lesson]:
        """Return records, newest first; None means any kind or state. `held` selects those in quarantine."""
        name = "lesson_list_held" if held else "lesson_list"
        return await self.lessons(name, scope, kind=kind, state=state, limit=limit)

    async def pinned(self, scope: Scope) -> list[Lesson]:
        """Return the lessons with which every session begins, the first pinned first."""
        return await self.lessons("lessons_pinned", scope, limit=MOST_PINNED)

    @transaction
    def pin(self, tx: Writing, scope: Scope, lesson_id: str, *, pinned: bool) -> Lesson:
        """Let every session begin with a lesson, or no longer, on a person's behalf. InputError where it may not."""
        before = lesson_by_id(tx, scope, lesson_id)
        if (before.pinned_at is not None) is pinned:
            return before
        if pinned:
            _check_pin(tx, scope, before)
        after = replace(before, pinned_at=self.clock.now() if pinned else None)
        change(tx, scope, after, by=Speaker.PERSON)
        return after

    async def for_start(self, scope: Scope, limit: int = 50) -> list[Lesson]:
        """Return the lessons that matter most, first what a person or an agent told."""
        return await self.lessons("lessons_for_start", scope, limit=limit)

    async def task_types(self, scope: Scope) -> list[str]:
        """Return the task types of a scope's lessons, the most frequent first."""
        return [row["task_type"] for row in await self.db.rows("task_types", scoped(scope))]

    async def history(self, scope: Scope, record_id: str) -> list[dict[str, Any]]:
        """Return the earlier and other wordings of a record, oldest first."""
        await self.get(scope, record_id)
        rows = await self.db.rows("version_list", scoped(scope, record_id=record_id))
        names = ("version", "reason", "created_at")
        return [{name: row[name] for name in names} | json.loads(row["body"]) for row in rows]

    async def links(self, scope: Scope, record_id: str) -> list[dict[str, str]]:
        """Return the links of a record."""
        await self.get(scope, record_id)
        return [
            dict(row) for row in await self.db.rows("link_list", scoped(scope, from_id=record_id))
        ]

    @transaction
    def set_state(
        self,
        tx: Writing,
        scope: Scope,
        lesson_id: str,
        state: State,
        reason: str,
        *,
        by: Speaker = Speaker.AGENT,
    ) -> Lesson:
        """Retire, archive or restore a lesson; its former state stays in its history."""
        now = self.clock.now()
        lesson = set_state(tx, scope, lesson_id, state, reason, now, by=by)
        if state is State.ACTIVE:  # another one gives way to what a person restored
            archive_excess(
                tx, Scope(scope.tenant, lesson.project), self.context.size, now, spare=lesson_id
            )
        return lesson

    @transaction
    def decide(
        self, tx: Writing, scope: Scope, lesson_id: str, *, approved: bool, of_agents: bool = False
    ) -> Lesson:
        """Record a person's decision about a lesson in quarantine: trusted, or retired. InputError if it is not.

        A person may vouch for any lesson. With `of_agents` they may reject one that an agent stored, too.
        """
        before = lesson_by_id(tx, scope, lesson_id)
        is_agents_own = before.trust in (Trust.OBSERVED, Trust.CONFIRMED) and (
            of_agents or approved
        )
        waits = before.trust is Trust.QUARANTINED or is_agents_own
        if not waits or before.state is not State.ACTIVE:
            fix = "`mcp-reflect lessons review` lists the lessons that are."
            raise InputError("id", f"'{quoted(lesson_id)}' is not in quarantine", fix)
        if not approved:
            now = self.clock.now()
            return set_state(
                tx, scope, lesson_id, State.RETIRED, "rejected", now, by=Speaker.PERSON
            )
        after = replace(before, trust=Trust.TRUSTED, held=None, updated_at=self.clock.now())
        revise(tx, scope, before, after, "approved", by=Speaker.PERSON)
        return after

    @transaction
    def edit(
        self,
        tx: Writing,
        scope: Scope,
        lesson_id: str,
        changes: dict[str, Any],
        *,
        by: Speaker = Speaker.AGENT,
    ) -> Lesson:
        """Change a lesson's fields; the wording before stays as a version."""
        before = lesson_by_id(tx, scope, lesson_id)
        after = screening.screened(replace(before, **changes, updated_at=self.clock.now()))
        revise(tx, scope, before, after, "edited", by=by)
        return after

    async def erase(self, scope: Scope, lesson_id: str, *, by: Speaker = Speaker.AGENT) -> None:
        """Remove a record with its index entries, history, links and outcomes, and overwrite their bytes."""

        def erase(tx: Writing) -> None:
            lesson = lesson_by_id(tx, scope, lesson_id)
            refuse_change(lesson, None, by)
            values = {"id": lesson.id, "tenant": scope.tenant}
            index.remove(tx, lesson_id)
            for name in _ERASING:
                tx.run(name, values)

        await self.db.write(scope.tenant, erase)
        await self.db.truncate_log()

    async def guard_mode(self, scope: Scope) -> GuardMode | None:
        """Return what a person chose that guards do in a project, None for nothing."""
        return await self.db.look(scope.tenant, lambda reading: guard_mode(reading, scope))

    @transaction
    def set_guard_mode(
        self,
        tx: Writing,
        scope: Scope,
        mode: GuardMode | None,
        *,
        by: Speaker = Speaker.AGENT,
    ) -> None:
        """Choose what guards do in a project, which only a person may; None forgets it."""
        refuse_agent(by, "mode", "say what guards do in a project")
        tx.run("guards_mode_cut", scoped(scope))
        if mode is not None:
            tx.run("guard_add", scoped(scope, key="", lesson_id=mode.value))

    async def noted_calls(self, scope: Scope) -> list[Call]:
        """Return the latest calls of a project that are in the bank: of reflected runs, and those that failed."""

        def read(reading: Reading) -> list[Call]:
            runs = reading.rows("latest_runs", scoped(scope, limit=_MOST_RUNS))
            calls: list[Call] = []
            for run in runs:
                calls += [Call(tool, made) for tool, made in _calls_of(json.loads(run["trace"]))]
            failed = reading.rows("failing_calls", scoped(scope, limit=_MOST_CALLS))
            calls += [Call(row["tool"], json.loads(row["arguments"])[0]) for row in failed]
            return calls[:_MOST_CALLS]

        return await self.db.look(scope.tenant, read, long=True)

    async def unarmed(self, scope: Scope, limit: int = 1000) -> list[Lesson]:
        """Return the lessons whose guards wait for a person, newest first."""
        return await self.lessons("guards_unarmed", scope, limit=limit)


MOST_PINNED: Final = 3
"""Lessons with which a session begins: more of them would be read by nobody."""


def _check_pin(reading: Reading, scope: Scope, lesson: Lesson) -> None:
    """Refuse to pin a lesson that no session may be shown, or one too many."""
    if lesson.state is not State.ACTIVE or lesson.trust is Trust.QUARANTINED:
        fix = (
            "Restore or approve it first: mcp-reflect lessons restore, mcp-reflect lessons approve."
        )
        raise InputError("id", "that lesson is not in use", fix)
    if reason := screening.suspicion_of(lesson):
        fix = "Write a lesson of your own: mcp-reflect lessons add."
        raise InputError("id", f"hooks do not show that lesson: {reason}", fix)
    pinned = reading.lessons("lessons_pinned", scope, limit=MOST_PINNED)
    if len(pinned) >= MOST_PINNED:
        names = ", ".join(models.short_id(one.id) for one in pinned)
        fix = f"Unpin one of {names} first: mcp-reflect lessons unpin ID."
        raise InputError("id", f"{MOST_PINNED} lessons are pinned already", fix)


class LessonRows(NamedTuple):
    """A record's values as they are bound, its index entry (None unless it is active), the keys of its guard."""

    row: Bound
    entry: Values | None
    guards: list[Bound]


def lesson_rows(scope: Scope, lesson: Lesson) -> LessonRows:
    """Return the rows of a record; the project is the record's own, the tenant the scope's."""
    guards = [*map(bound, guard_rows(scope, lesson))]
    return LessonRows(bound(lesson_values(scope, lesson)), index.entry(scope, lesson), guards)


def insert_rows(tx: Writing, records: Sequence[LessonRows]) -> None:
    """Store records and index them."""
    tx.run_many("lesson_add", [record.row for record in records])
    tx.run_many("guard_add", [values for record in records for values in record.guards])
    index.add(tx, [record.entry for record in records if record.entry])


def insert(tx: Writing, scope: Scope, lesson: Lesson, *, by: Speaker = Speaker.AGENT) -> None:
    """Store a record as it is, and index it."""
    refuse_change(None, lesson, by)
    insert_rows(tx, [lesson_rows(scope, lesson)])


_KEPT_AS_IT_IS: Final = "a person keeps a lesson that says the same; it stays as it is"
_RUNS_COMPARED: Final = (
    5  # latest runs with whose outputs a lesson is compared that is told without a run
)
_LINES_COMPARED: Final = 200  # of the latest calls that hooks saw
_CHARS_COMPARED: Final = 400_000  # of these outputs, those of the latest run first
_MAX_WORDS: Final = 50  # symptoms, keywords and tags that a merged lesson collects


class Added(NamedTuple):
    """A lesson's id, whether it was `stored`, `merged` or `quarantined`, and those that share most of its words."""

    id: str
    status: str
    near: Sequence[Lesson] = ()


def add_or_merge(
    tx: Writing,
    scope: Scope,
    lesson: Lesson,
    session: str | None = None,
    *,
    by: Speaker = Speaker.AGENT,
) -> Added:
    """Store a lesson, or strengthen the one that says the same; one of the same `session` is the same case.

    A lesson in quarantine is never merged.
    """
    if lesson.trust is Trust.QUARANTINED:
        if same := tx.row("lesson_held_same", scoped(scope, text=lesson.text, kind=lesson.kind)):
            return Added(same["id"], "quarantined")
        insert(tx, scope, lesson, by=by)
        return Added(lesson.id, "quarantined")
    near = similarity.nearest(tx, scope, lesson)
    equal = first_equal(lesson, near)
    if equal is None:
        insert(tx, scope, lesson, by=by)
        return Added(lesson.id, "stored", near)
    is_of_person = lesson.trust is Trust.TRUSTED
    if equal.is_kept_by_person and not is_of_person:
        return Added(equal.id, "merged")  # a person keeps it as it is
    first = tx.row("reflection_by_id", scoped(scope, id=equal.reflection_id)) if session else None
    if first is not None and session_of(first["run_id"]) == session:
        return Added(equal.id, "merged")
    if (equal.mistake, equal.correction) != (lesson.mistake, lesson.correction):
        keep_version(tx, equal.id, "other_wording", lesson)
    after = merged(equal, lesson)
    if is_of_person and not equal.is_kept_by_person:
        after = in_words_of(after, lesson)
    change(tx, scope, after, by=by)
    return Added(equal.id, "merged")


def in_words_of(stored: Lesson, told: Lesson) -> Lesson:
    """Return a record with the words and the trust of a person who told the same."""
    words = {name: getattr(told, name) for name in ("text", "mistake", "correction")}
    own = {"trust": Trust.TRUSTED, "outside": told.outside}
    return screening.judged(replace(stored, **words, **own))


def supersede(
    tx: Writing,
    scope: Scope,
    old: Lesson,
    new: Lesson,
    now: float,
    *,
    by: Speaker = Speaker.AGENT,
) -> None:
    """Retire `old`, which `new` replaces, and keep it in the history of `new`."""
    retired = replace(old, state=State.RETIRED, updated_at=now)
    revise(tx, scope, old, retired, f"replaced by {new.id}", by=by)
    keep_version(tx, new.id, "other_wording", old)
    change(tx, scope, replace(new, strength=new.strength + old.strength, updated_at=now), by=by)
    tx.run(
        "link_add", {"from_id": new.id, "relation": REPLACES, "to_kind": "lesson", "to_id": old.id}
    )


def session_of(run_id: str | None) -> str | None:
    """Return the session of a run: the run of a transcript is a part of its session."""
    return run_id and run_id.partition("#")[0]


def first_equal(lesson: Lesson, near: Iterable[Lesson]) -> Lesson | None:
    """Return the first of `near` that says the same, None if none does."""
    trusted = (other for other in near if other.trust is not Trust.QUARANTINED)
    return next((other for other in trusted if similarity.same_record(lesson, other)), None)


def merged(stored: Lesson, lesson: Lesson) -> Lesson:
    """Return the stored record after the same was learned again: its confidence gains a fifth of what is missing."""
    words = {
        name: dict.fromkeys((*getattr(stored, name), *getattr(lesson, name))) for name in LISTS
    }
    apart = ("context", "task_type", "external_id", *GUARD_FIELDS)  # what tells records apart stays
    added = set(screening.TEXT_FIELDS).difference(apart)
    missing = {name: getattr(lesson, name) for name in added if getattr(stored, name) is None}
    if stored.guard is None:
        missing |= {name: getattr(lesson, name) for name in GUARD_FIELDS}
    after = replace(
        stored,
        **missing,
        **{name: tuple(words[name])[:_MAX_WORDS] for name in LISTS},
        outside=stored.outside or lesson.outside,
        told=stored.told or lesson.told,
        strength=stored.strength + lesson.strength,
        importance=max(stored.importance, lesson.importance),
        confidence=stored.confidence + 0.2 * (1 - stored.confidence),
        updated_at=lesson.updated_at,
    )
    return screening.judged(after) if after.outside > stored.outside else after


# The last line below the services: what a person keeps, only a person changes. Who does not say that a person speaks
# writes as an agent. The counts of its use, and where it lies, are nobody's words.

_OF_USE: Final = frozenset(
    "project reflection_id strength times_applied effectiveness wins losses proof guard_repeats suspicion rules_version "
    "updated_at".split()
)


def refuse_change(before: Lesson | None, after: Lesson | None, by: Speaker) -> None:
    """Raise NotAllowedError if an agent would change or remove a lesson that a person keeps, or make one theirs."""
    if by is Speaker.PERSON:
        return
    fix = "A person decides about it: mcp-reflect lessons review."
    if before is not None and before.is_kept_by_person:
        if after is None or _kept_fields(before) != _kept_fields(after):
            raise NotAllowedError("lesson_id", "a person keeps that lesson", fix)
    elif after is not None and after.is_kept_by_person:
        raise NotAllowedError("lesson_id", "only a person may trust a lesson", fix)


def _kept_fields(lesson: Lesson) -> dict[str, Any]:
    return {name: value for name, value in asdict(lesson).items() if name not in _OF_USE}


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
    """Write a changed record, and keep what it was as a version."""
    keep_version(tx, before.id, reason, before)
    change(tx, scope, after, by=by)


GUARD_FIELDS: Final = ("wrong_call", "right_call", "guard", "unarmed", "guard_mode")
_VERSION_FIELDS: Final = tuple(
    name
    for name in screening.DRAFT_FIELDS
    if name not in ("kind", "context", *LISTS, "external_id")
)


def keep_version(tx: Writing, record_id: str, reason: str, lesson: Lesson) -> None:
    """Keep a wording in a record's history."""
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


# A project keeps a number of active records; the excess is archived in bands of importance. Important and trusted ones
# stay. In a band, the least effective goes first, then the one that was not updated for longest.
FIRST_BELOW: Final = 0.3
NEVER_FROM: Final = 0.8


def archive_excess(
    tx: Writing, scope: Scope, size: int | None, now: float, spare: str | None = None
) -> tuple[str, ...]:
    """Archive the active records of a kind above `size` (None: no limit) except `spare`; return their ids.

    This runs in the transaction that added some, so the limit holds exactly for any number of writing processes.
    """
    archived: list[str] = []
    for kind in RecordKind if size is not None else ():
        values = scoped(
            scope, kind=kind, size=size, spare=spare, first=FIRST_BELOW, never=NEVER_FROM
        )
        for lesson in map(lesson_from, tx.rows("lesson_over_size", values)):
            after = replace(lesson, state=State.ARCHIVED, updated_at=now)
            revise(tx, scope, lesson, after, "archived: the bank is full")
            archived.append(lesson.id)
    return tuple(archived)


# The guards of lessons that are on, by the programs, files and tools of the calls that they may meet.

MOST_REPEATS: Final = 3
"""Calls against a guard that worked all the same, one after the other, after which it waits for a person."""

PASSED: Final = f"its calls were made all the same and worked {MOST_REPEATS} times in a row"
_MOST_MET: Final = 300  # guards of the same program that one call is compared with
_MOST_RUNS: Final = 20
_MOST_CALLS: Final = 2_000


def guard_rows(scope: Scope, lesson: Lesson) -> list[dict[str, Any]]:
    """Return the rows under which a lesson's guard is looked up; none for one that is off."""
    guard = guard_of(lesson)
    used = lesson.state is State.ACTIVE and lesson.trust is not Trust.QUARANTINED
    if guard is None or not used or lesson.unarmed or lesson.guard_mode is GuardMode.OFF:
        return []
    own = {"tenant": scope.tenant, "project": lesson.project, "lesson_id": lesson.id}
    return [{**own, "key": key} for key in guard.keys]


def guard_of(lesson: Lesson) -> Guard | None:
    """Return a lesson's guard; None for one that cannot be read, of another release."""
    try:
        if not lesson.guard:
            return None
        return parse_guard(lesson.guard)
    except InputError:
        return None


def guards_met(reading: Reading, scope: Scope, call: Call) -> tuple[Lesson, ...]:
    """Return the lessons whose guards a call goes against, a person's first.

    Of a call that could not be read they are those that it may go against: its words have the program of each.
    """
    meets = may_be_met if call.script.is_partial else matches
    keys = _keys_in(reading, scope, call) if call.script.is_partial else sorted(call.keys)
    rows = reading.lessons("guards_met", scope, keys=keys, limit=_MOST_MET)
    lessons = {lesson.id: lesson for lesson in rows}
    found = ((lesson, guard_of(lesson)) for lesson in lessons.values())
    return tuple(lesson for lesson, guard in found if guard is not None and meets(guard, call))


def _keys_in(reading: Reading, scope: Scope, call: Call) -> list[str]:
    rows = reading.rows("guard_keys_of_project", scoped(scope))
    return [row["key"] for row in rows if key_may_be_met(row["key"], call)]


def guard_mode(reading: Reading, scope: Scope) -> GuardMode | None:
    """Return what a person chose that guards do in a project, None for nothing."""
    row = reading.row("guards_mode", scoped(scope))
    if not row:
        return None
    return GuardMode(row["mode"])


def is_guarded(reading: Reading, scope: Scope, lesson_id: str, call: Call) -> bool:
    """Return whether a call has the program, file or tool of a lesson's guard."""
    rows = reading.rows("guard_keys", scoped(scope, id=lesson_id))
    return not call.keys.isdisjoint(row["key"] for row in rows)


def note_passed(tx: Writing, scope: Scope, lesson_id: str, *, worked: bool) -> Lesson | None:
    """Record that a call against a guard was made anyway and worked, or that its lesson was right.

    After `MOST_REPEATS` calls in a row that were made and worked, the guard is off. A person's stays as it is: then it
    is returned, for the person to decide about.
    """
    lesson = find(tx, scope, lesson_id)
    if lesson is None or lesson.guard_mode is GuardMode.ENFORCE:
        return None
    repeats = lesson.guard_repeats + 1 if worked else 0
    is_doubted = repeats >= MOST_REPEATS
    unarmed = PASSED if is_doubted and not lesson.is_kept_by_person else lesson.unarmed
    tx.run(
        "guard_passed",
        {"id": lesson_id, "repeats": repeats, "unarmed": unarmed, "tenant": scope.tenant},
    )
    if unarmed:
        tx.run("guard_cut", {"id": lesson_id, "tenant": scope.tenant})
    if not (is_doubted and lesson.is_kept_by_person):
        return None
    return lesson


def _calls_of(run: Json) -> Iterator[tuple[str, Json]]:
    events: Sequence[Json] = (
        run["events"] if isinstance(run, dict) and isinstance(run.get("events"), list) else ()
    )  # type: ignore[assignment]
    for event in events:
        if isinstance(event, dict) and event.get("type") == "tool_call":
            yield str(event.get("tool")), event.get("arguments")
