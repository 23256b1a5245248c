"""Lessons: stored or merged, changed, retired, restored, erased, and kept within the bank's size."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final

from mcp_reflect.clock import Clock
from mcp_reflect.errors import InputError, NotFoundError
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson, LessonDraft, RecordKind, Source, State, Stored, Trust, lesson_text
from mcp_reflect.security.injection import repeats, suspicion
from mcp_reflect.security.redact import clean_text, context_hash, quoted
from mcp_reflect.storage import similarity
from mcp_reflect.storage.effectiveness import Effectiveness
from mcp_reflect.storage.recalls import rates
from mcp_reflect.storage.retrieval import candidates, index
from mcp_reflect.storage.retrieval.graph import MENTIONS, named
from mcp_reflect.storage.sqlite.database import Database
from mcp_reflect.storage.sqlite.rows import LISTS, lesson_from, lesson_values, lessons_from, scope_values
from mcp_reflect.storage.sqlite.statements import Bound, Reader, Transaction, Writing, bound

if TYPE_CHECKING:
    from mcp_reflect.models.reflection import Link


_MIN_ID_CHARS: Final = 4
"""The fewest characters that stand for an id."""

_MAX_NAMED_IDS: Final = 5


class LessonRepository:
    """The records that recall can show: lessons, strategies, and the summaries of reflections.

    `size` is the number of active records of a kind that a project keeps, None for no limit. Every method that takes
    an id raises NotFoundError if the scope has no such record.
    """

    def __init__(self, db: Database, clock: Clock, size: int | None) -> None:
        self._db = db
        self._clock = clock
        self._size = size

    async def store(self, scope: Scope, draft: LessonDraft) -> Stored:
        """Store a lesson, or strengthen the one that says the same."""
        async with self._db.write() as tx:
            lesson = prepared(draft, scope, self._clock)
            lesson_id, status = await add_or_merge(tx, scope, lesson)
            archived = await archive_excess(tx, scope, self._size, self._clock.now())
        reason = "archived at once: the bank is full of more important lessons" if lesson_id in archived else None
        reason = f"{lesson.held}; a person decides" if lesson.held else reason
        return Stored(lesson_id=lesson_id, status=status, reason=reason, scope=str(scope))

    async def get(self, scope: Scope, lesson_id: str, field: str = "lesson_id") -> Lesson:
        """Return the record with that id; NotFoundError names `field`."""
        return await lesson_by_id(self._db, scope, lesson_id, field)

    async def resolve_id(self, scope: Scope, part: str, field: str = "id") -> str:
        """Return the one id that is `part`, or begins or ends with it (4 characters or more).

        Raises NotFoundError if there is none, InputError if there are several.
        """
        values = {"part": part, "limit": _MAX_NAMED_IDS, **scope_values(scope)}
        rows = await self._db.rows("lesson_ids_like", values) if len(part) >= _MIN_ID_CHARS else []
        ids = [str(row["id"]) for row in rows]
        if len(ids) > 1 and part not in ids:
            raise InputError(field, f"'{quoted(part)}' is the start or end of {', '.join(ids)}", "Give more of it.")
        return ids[0] if len(ids) == 1 else part

    async def projects(self, tenant: str) -> dict[str, int]:
        """Return the number of active lessons of each project; the empty name is global."""
        return {row["project"]: row["count"] for row in await self._db.rows("lesson_projects", {"tenant": tenant})}

    async def latest(
        self,
        scope: Scope,
        *,
        kind: RecordKind | None = RecordKind.LESSON,
        state: State | None = State.ACTIVE,
        limit: int = 50,
        offset: int = 0,
        held: bool = False,
    ) -> list[Lesson]:
        """Return records, newest first; None means any kind or state. `held` selects those in quarantine."""
        values = {
            "held": int(held),
            "kind": kind and kind.value,
            "state": state and state.value,
            "limit": limit,
            "offset": offset,
            **scope_values(scope),
        }
        return lessons_from(await self._db.rows("lesson_list", values))

    async def task_types(self, scope: Scope) -> list[str]:
        """Return the task types of a scope's lessons, the most frequent first."""
        return [row["task_type"] for row in await self._db.rows("task_types", scope_values(scope))]

    async def effectiveness(self, scope: Scope, lesson: Lesson) -> Effectiveness:
        """Return the lesson's posterior against the base rate of its task type."""
        return (await self._db.look(lambda reading: rates(reading, scope))).effectiveness(lesson)

    async def history(self, scope: Scope, record_id: str) -> list[dict[str, Any]]:
        """Return the earlier and other wordings of a record, oldest first."""
        await lesson_by_id(self._db, scope, record_id)
        rows = await self._db.rows("version_list", {"record_id": record_id})
        return [
            {name: row[name] for name in ("version", "reason", "created_at")} | json.loads(row["body"]) for row in rows
        ]

    async def links(self, scope: Scope, record_id: str) -> list[dict[str, str]]:
        """Return the links of a record."""
        await lesson_by_id(self._db, scope, record_id)
        return [dict(row) for row in await self._db.rows("link_list", {"from_id": record_id})]

    async def set_state(self, scope: Scope, lesson_id: str, state: State, reason: str) -> Lesson:
        """Retire, archive or restore a lesson; its former state stays in its history."""
        now = self._clock.now()
        async with self._db.write() as tx:
            lesson = await set_state(tx, scope, lesson_id, state, reason, now)
            if state is State.ACTIVE:  # another one gives way to what a person restored
                owner = Scope(scope.tenant, lesson.project)
                await archive_excess(tx, owner, self._size, now, spare=lesson_id)
        return lesson

    async def decide(self, scope: Scope, lesson_id: str, *, approved: bool) -> Lesson:
        """Record a person's decision about a lesson in quarantine: trusted, or retired. InputError if it is not."""
        async with self._db.write() as tx:
            before = await lesson_by_id(tx, scope, lesson_id)
            if before.trust is not Trust.QUARANTINED or before.state is not State.ACTIVE:
                raise InputError(
                    "id",
                    f"'{quoted(lesson_id)}' is not in quarantine",
                    "`mcp-reflect lessons review` lists the lessons that are.",
                )
            await keep_version(tx, before.id, "approved" if approved else "rejected", before)
            changes = {"trust": Trust.TRUSTED, "held": None} if approved else {"state": State.RETIRED}
            after = replace(before, **changes, updated_at=self._clock.now())
            await change(tx, scope, after)
            await link_mentions(tx, after)
            return after

    async def edit(self, scope: Scope, lesson_id: str, changes: dict[str, Any]) -> Lesson:
        """Change a lesson's fields; the wording before stays as a version."""
        async with self._db.write() as tx:
            before = await lesson_by_id(tx, scope, lesson_id)
            after = screened(replace(before, **changes, updated_at=self._clock.now()))
            await keep_version(tx, before.id, "edited", before)
            await change(tx, scope, after)
            await link_mentions(tx, after)
            if after.kind is RecordKind.LESSON and after.trust is not Trust.QUARANTINED:
                await similarity.cut(tx, after)
                await similarity.tie(tx, after, await similarity.nearest(tx, scope, after))
            return after

    async def erase(self, scope: Scope, lesson_id: str) -> None:
        """Remove a record with its index entries, history, links and outcomes, and overwrite their bytes."""
        async with self._db.write() as tx:
            lesson = await lesson_by_id(tx, scope, lesson_id)
            await index.erase(tx, lesson.id)
            for name in ("version_erase", "link_erase"):
                await tx.run(name, {"id": lesson.id})
            for name in ("failure_erase", "lesson_erase", "reflection_erase"):
                await tx.run(name, {"id": lesson.id, "tenant": scope.tenant})
        await self._db.truncate_log()


# A record as its rows. Making them takes longer than writing them and needs no bank: an import makes them before it
# takes the lock.


@dataclass(frozen=True, slots=True)
class LessonRows:
    """A record's values as they are bound, its index entry (None unless it is active), its symptoms."""

    row: Bound
    entry: index.Entry | None
    symptoms: tuple[Bound, ...]


def lesson_rows(scope: Scope, lesson: Lesson) -> LessonRows:
    """Return the rows of a record; the project is the record's own, the tenant the scope's."""
    symptoms = tuple(map(bound, candidates.symptom_values(scope, lesson)))
    return LessonRows(bound(lesson_values(scope, lesson)), index.entry(scope, lesson), symptoms)


def insert_rows(writing: Writing, records: Sequence[LessonRows]) -> None:
    """Store records and index them."""
    writing.run_many("lesson_add", [record.row for record in records])
    index.add(writing, [record.entry for record in records if record.entry])
    if symptoms := [values for record in records for values in record.symptoms]:
        writing.run_many("symptom_add", symptoms)


async def insert(tx: Transaction, scope: Scope, lesson: Lesson) -> None:
    """Store a record as it is, and index it."""
    rows = [lesson_rows(scope, lesson)]
    await tx.at_once(lambda writing: insert_rows(writing, rows))


# From a draft to a record: redacted, and in quarantine if a text of it gives orders to its reader.


_PREFIX: Final = {RecordKind.LESSON: "les", RecordKind.STRATEGY: "str", RecordKind.REFLECTION: "ref"}
_DRAFT_FIELDS: Final = tuple(field.name for field in fields(LessonDraft))
_ENUM_FIELDS: Final = ("kind", "state", "trust", "source")
_TEXT_FIELDS: Final = tuple(
    field.name for field in fields(LessonDraft) if "str" in str(field.type) and field.name not in _ENUM_FIELDS
)
_OUTSIDE: Final = (Source.IMPORT, Source.RULES)
_HELD_BEFORE: Final = "it was in quarantine where it comes from"
_SINGLE: Final = re.compile(r"(?<!\w)'([^'\n]+)'(?!\w)")  # a text with double quotation marks is put in single ones
_MIN_QUOTE: Final = 12  # characters; a shorter one is a name or a number
_MAX_WORDS: Final = 50  # symptoms, keywords and tags that a merged lesson collects


def prepared(
    draft: LessonDraft, scope: Scope, clock: Clock, lesson_id: str | None = None, outside: Iterable[str] = ()
) -> Lesson:
    """Return a draft as the record to store: redacted and screened. `outside` are the outputs of the run's tools."""
    return screened(from_draft(draft, scope, clock, lesson_id), outside)


def from_draft(draft: LessonDraft, scope: Scope, clock: Clock, lesson_id: str | None = None) -> Lesson:
    """Return a draft as a record that was not screened yet."""
    now = clock.now()
    return Lesson(
        **{name: getattr(draft, name) for name in _DRAFT_FIELDS},
        id=lesson_id or clock.new_id(_PREFIX[draft.kind]),
        project=scope.project,
        created_at=now,
        updated_at=now,
    )


def screened(lesson: Lesson, outside: Iterable[str] = ()) -> Lesson:
    """Return a record redacted, and in quarantine if its words are from outside and suspicious; `held` says why.

    An import comes from outside, what rules quote of a run does, and a text that repeats one of `outside`. What an
    agent, a model or a person wrote in words of their own is never put into quarantine. A context is used for search
    only and never shown: a suspicious one is dropped, and the record stays.
    """
    labels = (lesson.task_type, lesson.external_id, *lesson.symptoms, *lesson.keywords, *lesson.tags)
    # Parts and whole: beside much honest text an order weighs less, and halves of one may each look harmless.
    texts = (lesson.mistake, lesson.correction, lesson.text, lesson.why, "\n".join(filter(None, labels)))
    from_outside = lesson.source in _OUTSIDE or repeats("\n".join(filter(None, texts)), outside)
    reason = suspicion((*texts, *_quotes(lesson))) if from_outside else None
    if suspicion((lesson.context,)):
        lesson = replace(lesson, context=None)
    if reason is None and lesson.trust is Trust.QUARANTINED:
        reason = lesson.held or _HELD_BEFORE
    if reason is None or lesson.trust is Trust.TRUSTED:
        return redacted(lesson)
    return redacted(replace(lesson, trust=Trust.QUARANTINED, held=reason))


def _quotes(lesson: Lesson) -> list[str]:
    """Return each quote of a run that rules made, because the plain words around it make an order look like a report.

    An agent or a model chooses what to quote and comments on it; rules repeat what the run contained.
    """
    if lesson.source is not Source.RULES:
        return []
    parts = [part for text in (lesson.text, lesson.why or "") for part in (*text.split('"'), *_SINGLE.findall(text))]
    return [part for part in dict.fromkeys(parts) if len(part) >= _MIN_QUOTE]


def redacted(lesson: Lesson) -> Lesson:
    """Return a record without secrets, before its words are split for the index and its context is hashed.

    The parts of a secret would not be recognized any more, and a hash of it confirms a guess.
    """
    texts = {name: _redacted(getattr(lesson, name)) for name in _TEXT_FIELDS if name != "external_id"}
    if texts["mistake"] and texts["correction"]:
        # A secret may be recognized by the end of its line: both texts are redacted before they are joined.
        texts["text"] = clean_text(lesson_text(texts["mistake"], texts["correction"]))
    return replace(lesson, **texts, context_hash=context_hash(texts["context"]))


def _redacted(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(clean_text, value))  # pyright: ignore[reportUnknownArgumentType]
    return None if value is None else clean_text(value)


# Within a transaction.


async def add_or_merge(tx: Transaction, scope: Scope, lesson: Lesson) -> tuple[str, str]:
    """Store a lesson, or strengthen the one that says the same.

    Returns its id and `stored`, `merged` or `quarantined`: a lesson in quarantine is never merged.
    """
    if lesson.trust is Trust.QUARANTINED:
        values = {"text": lesson.text, "kind": lesson.kind.value, **scope_values(scope)}
        same = await tx.row("lesson_held_same", values)
        if same is not None:
            return same["id"], "quarantined"
        await insert(tx, scope, lesson)
        return lesson.id, "quarantined"
    near = await similarity.nearest(tx, scope, lesson)
    equal = first_equal(lesson, near)
    if equal is None:
        await insert(tx, scope, lesson)
        await similarity.tie(tx, lesson, near)
        await link_mentions(tx, lesson)
        return lesson.id, "stored"
    if (equal.mistake, equal.correction) != (lesson.mistake, lesson.correction):
        await keep_version(tx, equal.id, "other_wording", lesson)
    await change(tx, scope, merged(equal, lesson))
    return equal.id, "merged"


def first_equal(lesson: Lesson, near: Sequence[Lesson]) -> Lesson | None:
    """Return the first of `near` that says the same, None if none does."""
    mine = (lesson.mistake or "", lesson.correction or "")
    for other in near:
        theirs = (other.mistake or "", other.correction or "")
        same_task = other.task_type in (None, lesson.task_type)
        comparable = other.project == lesson.project and same_task and other.trust is not Trust.QUARANTINED
        if similarity.same_lesson(mine, theirs) and not similarity.contradict(mine, theirs) and comparable:
            return other
    return None


def merged(stored: Lesson, lesson: Lesson) -> Lesson:
    """Return the stored record after the same was learned again: its confidence gains a fifth of what is missing."""
    words = {
        name: tuple(dict.fromkeys((*getattr(stored, name), *getattr(lesson, name))))[:_MAX_WORDS] for name in LISTS
    }
    return replace(
        stored,
        **words,
        strength=stored.strength + lesson.strength,
        importance=max(stored.importance, lesson.importance),
        confidence=stored.confidence + 0.2 * (1 - stored.confidence),
        updated_at=lesson.updated_at,
    )


async def change(tx: Transaction, scope: Scope, lesson: Lesson) -> None:
    """Write a changed lesson and its index entry; the caller keeps the version."""
    await tx.run("lesson_change", lesson_values(scope, lesson))
    await index.renew(tx, scope, lesson)
    await candidates.renew_symptoms(tx, scope, lesson)


_VERSION_FIELDS: Final = tuple(
    name for name in _DRAFT_FIELDS if name not in ("kind", "context", *LISTS, "external_id", "state", "trust", "source")
)


async def keep_version(tx: Transaction, record_id: str, reason: str, lesson: Lesson) -> None:
    """Keep a wording in a record's history."""
    body = {name: getattr(lesson, name) for name in (*_VERSION_FIELDS, "state", "trust", "source")}
    await tx.run("version_add", {"record_id": record_id, "reason": reason, "body": body, "now": lesson.updated_at})


async def add_links(tx: Transaction, record_id: str, links: "Sequence[Link]") -> None:
    """Link a record to others."""
    await tx.run_many("link_add", [{"from_id": record_id, **asdict(link)} for link in links])


async def link_mentions(tx: Transaction, lesson: Lesson) -> None:
    """Link a record to the files and error codes that it names; links of an earlier wording are removed."""
    await tx.run("link_cut_from", {"id": lesson.id, "relation": MENTIONS})
    if lesson.trust is not Trust.QUARANTINED:
        await add_links(tx, lesson.id, named("\n".join((lesson.text, *lesson.symptoms))))


async def lesson_by_id(reader: Reader, scope: Scope, lesson_id: str, field: str = "lesson_id") -> Lesson:
    """Return the record of this scope with that id; NotFoundError names `field`."""
    rows = await reader.rows("lesson_by_id", {"id": lesson_id, **scope_values(scope)})
    if not rows:
        raise NotFoundError(
            field,
            f"there is no '{quoted(lesson_id)}' in {scope}",
            "Send an id that recall_lessons or bank://lessons gave.",
        )
    return lesson_from(rows[0])


async def set_state(tx: Transaction, scope: Scope, lesson_id: str, state: State, reason: str, now: float) -> Lesson:
    """Retire, archive or restore a lesson; its former state stays in its history."""
    before = await lesson_by_id(tx, scope, lesson_id)
    if before.state is state:
        return before
    await keep_version(tx, before.id, reason, before)
    after = replace(before, state=state, updated_at=now)
    await change(tx, scope, after)
    return after


# The number of active records that a project keeps: the excess is archived, never deleted.
#
# Importance decides in bands: below .3 first, then below .8; .8 and above is never archived, nor what a person trusts.
# In a band, the least effective goes first, then the one that was not updated for longest.


FIRST_BELOW: Final = 0.3
NEVER_FROM: Final = 0.8


async def archive_excess(
    tx: Transaction, scope: Scope, size: int | None, now: float, spare: str | None = None
) -> tuple[str, ...]:
    """Archive the active records of a kind above `size` (None: no limit) except `spare`; return their ids.

    This runs in the transaction that added some, so the limit holds exactly for any number of writing processes.
    """
    if size is None:
        return ()
    archived: list[str] = []
    for kind in RecordKind:
        bands = {"first": FIRST_BELOW, "never": NEVER_FROM}
        values = {"kind": kind.value, "size": size, "spare": spare, **bands, **scope_values(scope)}
        for row in await tx.rows("lesson_over_size", values):
            lesson = lesson_from(row)
            await keep_version(tx, lesson.id, "archived: the bank is full", lesson)
            await change(tx, scope, replace(lesson, state=State.ARCHIVED, updated_at=now))
            archived.append(lesson.id)
    return tuple(archived)
