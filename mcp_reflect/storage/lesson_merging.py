"""A lesson that says the same as one that is there strengthens it."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson, Trust
from mcp_reflect.speaker import Speaker
from mcp_reflect.storage import lesson_records, screening, similarity
from mcp_reflect.storage.repository import Writing
from mcp_reflect.storage.rows import LISTS
from mcp_reflect.storage.values import scoped

_MAX_WORDS: Final = 50  # symptoms, keywords and tags that a merged lesson collects

_APART: Final = ("context", "task_type", "external_id", *lesson_records.GUARD_FIELDS)
"""What tells records apart: it is not filled in from another one."""
_MERGED: Final = frozenset(screening.TEXT_FIELDS).difference(_APART)


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
        return _held(tx, scope, lesson, by=by)
    near = similarity.nearest(tx, scope, lesson)
    equal = first_equal(lesson, near)
    if equal is None:
        lesson_records.insert(tx, scope, lesson, by=by)
        return Added(lesson.id, "stored", near)
    is_of_person = lesson.trust is Trust.TRUSTED
    if equal.is_kept_by_person and not is_of_person:
        return Added(equal.id, "merged")  # a person keeps it as it is
    if session is not None and session == _session_that_taught(tx, scope, equal):
        return Added(equal.id, "merged")  # the same case
    if (equal.mistake, equal.correction) != (lesson.mistake, lesson.correction):
        lesson_records.keep_version(tx, equal.id, "other_wording", lesson)
    after = merged(equal, lesson)
    if is_of_person and not equal.is_kept_by_person:
        after = in_words_of(after, lesson)
    lesson_records.change(tx, scope, after, by=by)
    return Added(equal.id, "merged")


def _held(tx: Writing, scope: Scope, lesson: Lesson, *, by: Speaker) -> Added:
    """Store a lesson in quarantine, unless one waits there that says the same."""
    same = tx.row("lesson_held_same", scoped(scope, text=lesson.text, kind=lesson.kind))
    if same is not None:
        return Added(same["id"], "quarantined")
    lesson_records.insert(tx, scope, lesson, by=by)
    return Added(lesson.id, "quarantined")


def _session_that_taught(tx: Writing, scope: Scope, lesson: Lesson) -> str | None:
    reflection = tx.row("reflection_by_id", scoped(scope, id=lesson.reflection_id))
    if reflection is None:
        return None
    return session_of(reflection["run_id"])


def in_words_of(stored: Lesson, told: Lesson) -> Lesson:
    """Return a record with the words and the trust of a person who told the same."""
    words = {name: getattr(told, name) for name in ("text", "mistake", "correction")}
    own = {"trust": Trust.TRUSTED, "outside": told.outside}
    return screening.judged(replace(stored, **words, **own))


def session_of(run_id: str | None) -> str | None:
    """Return the session of a run: the run of a transcript is a part of its session."""
    return run_id and run_id.partition("#")[0]


def first_equal(lesson: Lesson, near: Iterable[Lesson]) -> Lesson | None:
    """Return the first of `near` that says the same, None if none does."""
    trusted = (other for other in near if other.trust is not Trust.QUARANTINED)
    return next((other for other in trusted if similarity.same_record(lesson, other)), None)


def merged(stored: Lesson, lesson: Lesson) -> Lesson:
    """Return the stored record after the same was learned again: its confidence gains a fifth of what is missing."""
    missing = {name: getattr(lesson, name) for name in _MERGED if getattr(stored, name) is None}
    if stored.guard is None:
        missing |= {name: getattr(lesson, name) for name in lesson_records.GUARD_FIELDS}
    after = replace(
        stored,
        **missing,
        **{name: _words_of_both(stored, lesson, name) for name in LISTS},
        outside=stored.outside or lesson.outside,
        told=stored.told or lesson.told,
        strength=stored.strength + lesson.strength,
        importance=max(stored.importance, lesson.importance),
        confidence=stored.confidence + 0.2 * (1 - stored.confidence),
        updated_at=lesson.updated_at,
    )
    if after.outside and not stored.outside:
        return screening.judged(after)
    return after


def _words_of_both(stored: Lesson, lesson: Lesson, name: str) -> tuple[str, ...]:
    """Return the words of a list of both records, each once, those of the stored one first."""
    words = dict.fromkeys((*getattr(stored, name), *getattr(lesson, name)))
    return tuple(words)[:_MAX_WORDS]
