"""Merging: a lesson that says the same as a stored one is not stored again, but strengthens that one."""

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

_MAX_WORDS: Final = 50
"""Symptoms, keywords or tags that a merged lesson collects."""

_CONFIDENCE_GAIN: Final = 0.2
"""The part of what is missing to full confidence that a lesson gains when it is learned again."""

_FILLED: Final = ("mistake", "correction", "why")
"""Fields that a stored record takes from another one where it has none.

The others that may be empty (`context`, `task_type`, `external_id`) tell records apart, so that they stay empty.
"""


class Added(NamedTuple):
    """What became of a lesson that was to be stored: its `status` is `stored`, `merged` or `quarantined`.

    `id` is its own, or that of the lesson that it was merged into. `near` are stored lessons that share most of its
    words, the nearest first.
    """

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
    """Store a lesson, or strengthen the stored one that says the same, and keep the other wording in its history.

    A lesson that a person keeps stays as it is. One that the same `session` taught is not strengthened: that is the
    same case again. A lesson in quarantine is never merged.
    """
    if lesson.trust is Trust.QUARANTINED:
        return _add_to_quarantine(tx, scope, lesson, by=by)
    near = similarity.nearest(tx, scope, lesson)
    equal = first_equal(lesson, near)
    if equal is None:
        lesson_records.insert(tx, scope, lesson, by=by)
        return Added(lesson.id, "stored", near)
    is_of_person = lesson.trust is Trust.TRUSTED
    if equal.is_kept_by_person and not is_of_person:
        return Added(equal.id, "merged")
    if session is not None and session == _session_that_taught(tx, scope, equal):
        return Added(equal.id, "merged")
    if (equal.mistake, equal.correction) != (lesson.mistake, lesson.correction):
        lesson_records.keep_version(tx, equal.id, "other_wording", lesson)
    after = merged(equal, lesson)
    if is_of_person and not equal.is_kept_by_person:
        after = in_words_of(after, lesson)
    lesson_records.change(tx, scope, after, by=by)
    return Added(equal.id, "merged")


def _add_to_quarantine(tx: Writing, scope: Scope, lesson: Lesson, *, by: Speaker) -> Added:
    """Store a lesson in quarantine, unless one with the same text waits there already."""
    same = tx.row("lesson_held_same", scoped(scope, text=lesson.text, kind=lesson.kind))
    if same is not None:
        return Added(same["id"], "quarantined")
    lesson_records.insert(tx, scope, lesson, by=by)
    return Added(lesson.id, "quarantined")


def _session_that_taught(tx: Writing, scope: Scope, lesson: Lesson) -> str | None:
    """Return the session whose run was reflected on when a lesson was learned, None if none is known."""
    reflection = tx.row("reflection_by_id", scoped(scope, id=lesson.reflection_id))
    if reflection is None:
        return None
    return session_of(reflection["run_id"])


def in_words_of(stored: Lesson, told: Lesson) -> Lesson:
    """Return a record with the words, the guard and the trust of a person who told the same.

    The reason and the guard of the agent that stored it go: a person who never saw them would stand for them.
    """
    of_guard = {name: getattr(told, name) for name in lesson_records.GUARD_FIELDS}
    return screening.judged(
        replace(
            stored,
            **of_guard,
            text=told.text,
            mistake=told.mistake,
            correction=told.correction,
            why=told.why,
            trust=Trust.TRUSTED,
            outside=told.outside,
        )
    )


def session_of(run_id: str | None) -> str | None:
    """Return the session of a run: `4f2a#3` is the third part of the transcript of the session `4f2a`."""
    if run_id is None:
        return None
    session, _, _part = run_id.partition("#")
    return session


def first_equal(lesson: Lesson, near: Iterable[Lesson]) -> Lesson | None:
    """Return the first of `near` out of quarantine that says the same as a lesson, None if none does."""
    for other in near:
        if other.trust is not Trust.QUARANTINED and similarity.same_record(lesson, other):
            return other
    return None


def merged(stored: Lesson, lesson: Lesson) -> Lesson:
    """Return the stored record as it is after `lesson` taught the same again.

    It gets the fields and words that it has not got, the strength of both, and more confidence.
    """
    filled = {name: getattr(lesson, name) for name in _FILLED if getattr(stored, name) is None}
    if stored.guard is None:
        filled |= {name: getattr(lesson, name) for name in lesson_records.GUARD_FIELDS}
    lists = {name: _words_of_both(stored, lesson, name) for name in LISTS}
    after = replace(
        stored,
        **filled,
        **lists,
        outside=stored.outside or lesson.outside,
        told=stored.told or lesson.told,
        strength=stored.strength + lesson.strength,
        importance=max(stored.importance, lesson.importance),
        confidence=stored.confidence + _CONFIDENCE_GAIN * (1 - stored.confidence),
        updated_at=lesson.updated_at,
    )
    if after.outside and not stored.outside:
        return screening.judged(after)  # words from outside are judged by stricter rules
    return after


def _words_of_both(stored: Lesson, lesson: Lesson, name: str) -> tuple[str, ...]:
    """Return the words of a list of both records, each once, those of the stored one first."""
    words = dict.fromkeys((*getattr(stored, name), *getattr(lesson, name)))
    return tuple(words)[:_MAX_WORDS]
