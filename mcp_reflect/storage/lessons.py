"""Lessons: stored or merged, changed, retired, restored, erased."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from mcp_reflect.clock import Clock
from mcp_reflect.errors import InputError, NotFoundError
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Kind, Lesson, LessonDraft, Source, State, Trust, lesson_text
from mcp_reflect.security.injection import suspicion
from mcp_reflect.security.redact import clean_text, context_hash, quoted
from mcp_reflect.storage import similarity as contradictions
from mcp_reflect.storage.retrieval import candidates as symptoms
from mcp_reflect.storage.retrieval import index as indexing
from mcp_reflect.storage.retrieval.graph import MENTIONS, named
from mcp_reflect.storage.similarity import contradict, nearest, same_lesson
from mcp_reflect.storage.sqlite.database import Database
from mcp_reflect.storage.sqlite.rows import lesson_from, lesson_values, scope_values
from mcp_reflect.storage.sqlite.statements import Bound, Transaction, Writing, bound

if TYPE_CHECKING:
    from mcp_reflect.models.reflection import Link


# A record as it is written: its row, what the index holds of it, the errors it is known by, and a digest of its
# words.
#
# Making it takes longer than writing it and needs no bank: who writes many records makes them before the lock is
# taken.


@dataclass(frozen=True, slots=True)
class Written:
    """A record's values as they are bound, its entry in the index (null where it is not active), its symptoms."""

    row: Bound
    entry: indexing.Entry | None
    symptoms: tuple[Bound, ...]


def written(scope: Scope, lesson: Lesson) -> Written:
    """A record as it is written; its project is its own, its tenant the scope's."""
    known_by = tuple(map(bound, symptoms.values_of(scope, lesson)))
    return Written(bound(lesson_values(scope, lesson)), indexing.entry(scope, lesson), known_by)


async def add_written(tx: Transaction, records: Sequence[Written]) -> None:
    """Store records, and make them findable."""
    await tx.at_once(lambda writing: add_at_once(writing, records))


def add_at_once(writing: Writing, records: Sequence[Written]) -> None:
    """Store records, and make them findable, where one is on the bank's thread already."""
    writing.run_many("lesson_add", [record.row for record in records])
    indexing.add_at_once(writing, [record.entry for record in records if record.entry])
    if known_by := [values for record in records for values in record.symptoms]:
        writing.run_many("symptom_add", known_by)


# Lessons in the bank: stored or merged, changed, retired, restored, erased.


_PREFIX: Final = {Kind.LESSON: "les", Kind.STRATEGY: "str", Kind.REFLECTION: "ref"}
_DRAFTED: Final = tuple(field.name for field in fields(LessonDraft))
_HELD_BEFORE: Final = "it was in quarantine where it comes from"
_SINGLE: Final = re.compile(
    r"(?<!\w)'([^'\n]+)'(?!\w)"
)  # a text that holds double quotation marks is put in single ones
_LEAST_QUOTE: Final = 12  # characters; fewer are a name or a number
_MOST_WORDS: Final = 50  # symptoms, keywords and tags that a merged lesson may gather


def made(draft: LessonDraft, scope: Scope, clock: Clock, lesson_id: str | None = None) -> Lesson:
    """A draft as the record that will be stored: cleaned, and in quarantine where its text orders its reader about."""
    return quarantined_if_suspicious(drawn_up(draft, scope, clock, lesson_id))


def drawn_up(draft: LessonDraft, scope: Scope, clock: Clock, lesson_id: str | None = None) -> Lesson:
    """A draft as a record that nobody has looked at yet."""
    now = clock.now()
    return Lesson(
        **{name: getattr(draft, name) for name in _DRAFTED},
        id=lesson_id or clock.new_id(_PREFIX[draft.kind]),
        project=scope.project,
        created_at=now,
        updated_at=now,
    )


def quarantined_if_suspicious(lesson: Lesson) -> Lesson:
    """A record cleaned, and in quarantine where one of its texts is suspicious, in words that `held` gives.

    A context is only searched by, never shown: a suspicious one is left out, and its record stays.
    """
    named = (lesson.task_type, lesson.external_id, *lesson.symptoms, *lesson.keywords, *lesson.tags)
    # Both parts and the whole: beside much that is honest an order weighs less, and halves of one may each be harmless.
    labels = "\n".join(filter(None, named))
    reason = suspicion((lesson.mistake, lesson.correction, lesson.text, lesson.why, labels, *_quotes(lesson)))
    if suspicion((lesson.context,)):
        lesson = replace(lesson, context=None)
    if reason is None and lesson.trust is Trust.QUARANTINED:
        reason = lesson.held or _HELD_BEFORE
    if reason is None or lesson.trust is Trust.TRUSTED:
        return cleaned(lesson)
    return cleaned(replace(lesson, trust=Trust.QUARANTINED, held=reason))


def _quotes(lesson: Lesson) -> list[str]:
    """What rules quote of a run, each on its own: the plain words around it would make an order look like a report.

    Who thinks chooses what to quote, and speaks about it; rules repeat what stood in the run.
    """
    if lesson.source is not Source.RULES:
        return []
    parts = [part for text in (lesson.text, lesson.why or "") for part in (*text.split('"'), *_SINGLE.findall(text))]
    return [part for part in dict.fromkeys(parts) if len(part) >= _LEAST_QUOTE]


def cleaned(lesson: Lesson) -> Lesson:
    """A record without secrets, before its words are taken apart for the index and its context is hashed.

    The parts of a secret would not be known as one any more, and a hash of it tells whoever can guess.
    """
    context = _clean(lesson.context)
    mistake, correction = _clean(lesson.mistake), _clean(lesson.correction)
    # What tells a secret may be where its line ends: two texts are cleaned before they are put together.
    text = lesson_text(mistake, correction) if mistake and correction else lesson.text
    return replace(
        lesson,
        text=clean_text(text),
        mistake=mistake,
        correction=correction,
        why=_clean(lesson.why),
        task_type=_clean(lesson.task_type),
        context=context,
        context_hash=context_hash(context),
        symptoms=tuple(map(clean_text, lesson.symptoms)),
        keywords=tuple(map(clean_text, lesson.keywords)),
        tags=tuple(map(clean_text, lesson.tags)),
    )


def _clean(text: str | None) -> str | None:
    return None if text is None else clean_text(text)


async def add_lessons(tx: Transaction, scope: Scope, lesson: Lesson) -> None:
    """Store a record as it is, and make it findable."""
    await add_written(tx, [written(scope, lesson)])


async def add_or_merge(tx: Transaction, scope: Scope, lesson: Lesson) -> tuple[str, str]:
    """Store a lesson, or strengthen the one that says the same.

    Returns its id and `stored`, `merged` or `quarantined`: what waits for a person is merged into nothing.
    """
    if lesson.trust is Trust.QUARANTINED:
        return await _hold(tx, scope, lesson), "quarantined"
    near = await nearest(tx, scope, lesson)
    found = _twin(lesson, near)
    if found is None:
        await add_lessons(tx, scope, lesson)
        await contradictions.tie(tx, lesson, near)
        await tie_named(tx, lesson)
        return lesson.id, "stored"
    if (found.mistake, found.correction) != (lesson.mistake, lesson.correction):
        await keep_version(tx, found.id, "other_wording", lesson)
    await change(tx, scope, joined(found, lesson))
    return found.id, "merged"


async def _hold(tx: Transaction, scope: Scope, lesson: Lesson) -> str:
    """Put a lesson into quarantine, once: the same text again is the same one. Returns its id."""
    same = await tx.row("lesson_held_same", {"text": lesson.text, "kind": lesson.kind.value, **scope_values(scope)})
    if same is not None:
        return same["id"]
    await add_lessons(tx, scope, lesson)
    return lesson.id


async def twin(tx: Transaction, scope: Scope, lesson: Lesson) -> Lesson | None:
    """The stored lesson that says the same, null where there is none."""
    return _twin(lesson, await nearest(tx, scope, lesson))


def _twin(lesson: Lesson, near: Sequence[Lesson]) -> Lesson | None:
    for other in near:
        mine, theirs = (lesson.mistake or "", lesson.correction or ""), (other.mistake or "", other.correction or "")
        if same_lesson(mine, theirs) and not contradict(mine, theirs) and _of_one_kind(lesson, other):
            return other
    return None


def _of_one_kind(lesson: Lesson, other: Lesson) -> bool:
    same_task = other.task_type in (None, lesson.task_type)
    return other.project == lesson.project and same_task and other.trust is not Trust.QUARANTINED


def joined(twin: Lesson, lesson: Lesson) -> Lesson:
    """The stored record after the same was learnt again: surer by a fifth of what is missing."""
    return replace(
        twin,
        strength=twin.strength + lesson.strength,
        importance=max(twin.importance, lesson.importance),
        confidence=twin.confidence + 0.2 * (1 - twin.confidence),
        symptoms=_union(twin.symptoms, lesson.symptoms),
        keywords=_union(twin.keywords, lesson.keywords),
        tags=_union(twin.tags, lesson.tags),
        updated_at=lesson.updated_at,
    )


def _union(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))[:_MOST_WORDS]


async def change(tx: Transaction, scope: Scope, lesson: Lesson) -> None:
    """Write a changed lesson and its words; the caller keeps the version."""
    await tx.run("lesson_change", lesson_values(scope, lesson))
    await indexing.renew(tx, scope, lesson)
    await symptoms.renew(tx, scope, lesson)


async def keep_version(tx: Transaction, record_id: str, reason: str, lesson: Lesson) -> None:
    """Keep a wording in a record's history."""
    body = {
        "text": lesson.text,
        "mistake": lesson.mistake,
        "correction": lesson.correction,
        "why": lesson.why,
        "task_type": lesson.task_type,
        "importance": lesson.importance,
        "confidence": lesson.confidence,
        "state": lesson.state.value,
        "trust": lesson.trust.value,
        "source": lesson.source.value,
    }
    await tx.run("version_add", {"record_id": record_id, "reason": reason, "body": body, "now": lesson.updated_at})


async def keep_links(tx: Transaction, record_id: str, links: "tuple[Link, ...]") -> None:
    """Tie a record to others."""
    await tx.run_many("link_add", [{"from_id": record_id, **asdict(link)} for link in links])


async def tie_named(tx: Transaction, lesson: Lesson) -> None:
    """Tie a record to the files and error codes that it names, out of quarantine; an earlier wording's ties are cut."""
    await tx.run("link_cut_from", {"id": lesson.id, "relation": MENTIONS})
    if lesson.trust is Trust.QUARANTINED:
        return
    await keep_links(tx, lesson.id, named("\n".join((lesson.text, *lesson.symptoms))))


async def lesson(reader: Database | Transaction, scope: Scope, lesson_id: str, field: str = "lesson_id") -> Lesson:
    """The lesson of this scope with that id; NotFoundError names `field`."""
    row = await reader.row("lesson_by_id", {"id": lesson_id, **scope_values(scope)})
    if row is None:
        raise NotFoundError(
            field,
            f"there is no '{quoted(lesson_id)}' in {scope}",
            "Send an id that recall_lessons or bank://lessons gave.",
        )
    return lesson_from(row)


async def set_state(tx: Transaction, scope: Scope, lesson_id: str, state: State, reason: str, now: float) -> Lesson:
    """Retire, archive or restore a lesson; what it was stays in its history."""
    before = await lesson(tx, scope, lesson_id)
    if before.state is state:
        return before
    await keep_version(tx, before.id, reason, before)
    after = replace(before, state=state, updated_at=now)
    await change(tx, scope, after)
    return after


async def decide(db: Database, scope: Scope, lesson_id: str, now: float, *, approved: bool) -> Lesson:
    """A person's word on a lesson in quarantine: trusted from now on, or retired. InputError where it is not there."""
    async with db.write() as tx:
        before = await lesson(tx, scope, lesson_id)
        if before.trust is not Trust.QUARANTINED or before.state is not State.ACTIVE:
            raise InputError(
                "id",
                f"'{quoted(lesson_id)}' does not wait for anybody",
                "`mcp-reflect lessons review` lists what does.",
            )
        await keep_version(tx, before.id, "approved" if approved else "rejected", before)
        if approved:
            after = replace(before, trust=Trust.TRUSTED, held=None, updated_at=now)
        else:
            after = replace(before, state=State.RETIRED, updated_at=now)
        await change(tx, scope, after)
        await tie_named(tx, after)
        return after


async def edit(db: Database, scope: Scope, lesson_id: str, changes: dict[str, Any], now: float) -> Lesson:
    """Change a lesson's fields; the wording before stays as a version."""
    async with db.write() as tx:
        before = await lesson(tx, scope, lesson_id)
        after = quarantined_if_suspicious(replace(before, **changes, updated_at=now))
        await keep_version(tx, before.id, "edited", before)
        await change(tx, scope, after)
        await tie_named(tx, after)
        if after.kind is Kind.LESSON and after.trust is not Trust.QUARANTINED:
            await contradictions.cut(tx, after)
            await contradictions.tie(tx, after, await nearest(tx, scope, after))
        return after


async def erase(db: Database, scope: Scope, lesson_id: str) -> None:
    """Remove a record, its words, history, ties and outcomes, and overwrite their bytes."""
    async with db.write() as tx:
        found = await lesson(tx, scope, lesson_id)
        await indexing.remove(tx, found.id)
        for name in ("version_erase", "link_erase"):
            await tx.run(name, {"id": found.id})
        for name in ("failure_erase", "lesson_erase", "reflection_erase"):
            await tx.run(name, {"id": found.id, "tenant": scope.tenant})
    await db.truncate_log()


# How many records a project keeps active: what is above that is archived, never deleted.
#
# Importance decides in bands what goes first: below .3 first, then below .8; .8 and above never by itself, nor what
# a person trusts. In a band goes first what has worked least by its evidence, then what nothing was heard of longest.


FIRST_BELOW: Final = 0.3
NEVER_FROM: Final = 0.8


async def keep_within(
    tx: Transaction, scope: Scope, size: int | None, now: float, spare: str | None = None
) -> tuple[str, ...]:
    """Archive what a project has above `size` active records of a kind (null: no limit), but `spare`; the ids of it.

    In the transaction that added some, so that the limit holds exactly however many processes write.
    """
    if size is None:
        return ()
    gone: list[str] = []
    for kind in Kind:
        bands = {"first": FIRST_BELOW, "never": NEVER_FROM}
        values = {"kind": kind.value, "size": size, "spare": spare, **bands, **scope_values(scope)}
        for row in await tx.rows("lesson_over_size", values):
            lesson = lesson_from(row)
            await keep_version(tx, lesson.id, "archived: the bank is full", lesson)
            await change(tx, scope, replace(lesson, state=State.ARCHIVED, updated_at=now))
            gone.append(lesson.id)
    return tuple(gone)


# What only helps to go on is dropped some time after it was last used: nobody comes back to it, and it grows.


Kept: TypeAlias = Literal["recall", "search", "session", "step", "warning", "working"]

_MOST: Final = 40  # rows that one write drops of a kind: far more than it adds, and soon done
_DAY: Final = 86_400.0


class Keeping:
    """Drops old rows as new ones are written, so that no write ever has much to drop."""

    def __init__(self, days: float) -> None:
        """`days` is how long they are kept after their last use; 0 keeps them for ever."""
        self._seconds = days * _DAY

    def drop_old(self, writing: Writing, now: float, *kinds: Kept) -> None:
        """Drop the oldest rows of `kinds` whose time is over; `now` is in seconds since 1970."""
        if self._seconds:
            for kind in kinds:
                writing.run(f"{kind}_drop_old", {"before": now - self._seconds, "most": _MOST})
