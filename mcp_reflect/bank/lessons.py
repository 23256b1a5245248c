"""Lessons in the bank: stored or merged, changed, retired, restored, erased."""

import re
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from typing import TYPE_CHECKING, Any, Final

from mcp_reflect.bank import contradictions, indexing, symptoms, written
from mcp_reflect.bank.graph import MENTIONS, named
from mcp_reflect.bank.merging import same_lesson
from mcp_reflect.bank.nearest import nearest
from mcp_reflect.bank.opposites import contradict
from mcp_reflect.bank.sqlite.database import Database
from mcp_reflect.bank.sqlite.rows import lesson_from, lesson_values, scope_values
from mcp_reflect.bank.sqlite.statements import Transaction
from mcp_reflect.clock import Clock
from mcp_reflect.errors import InputError, NotFoundError
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Kind, Lesson, LessonDraft, Source, State, Trust, lesson_text
from mcp_reflect.security.injection import suspicion
from mcp_reflect.security.redact import clean_text, context_hash, quoted

if TYPE_CHECKING:
    from mcp_reflect.models.reflection import Link

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


async def add(tx: Transaction, scope: Scope, lesson: Lesson) -> None:
    """Store a record as it is, and make it findable."""
    await written.add(tx, [written.written(scope, lesson)])


async def add_or_merge(tx: Transaction, scope: Scope, lesson: Lesson) -> tuple[str, str]:
    """Store a lesson, or strengthen the one that says the same.

    Returns its id and `stored`, `merged` or `quarantined`: what waits for a person is merged into nothing.
    """
    if lesson.trust is Trust.QUARANTINED:
        return await _hold(tx, scope, lesson), "quarantined"
    near = await nearest(tx, scope, lesson)
    found = _twin(lesson, near)
    if found is None:
        await add(tx, scope, lesson)
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
    await add(tx, scope, lesson)
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
