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

_MOST_WORDS: Final = 50
"""Symptoms, keywords or tags that a merged lesson collects."""

_CONFIDENCE_GAIN: Final = 0.2
"""The part of the gap to full confidence that a lesson gains when it is learned again: 0.5 becomes 0.6."""

_FIELDS_TO_FILL: Final = ("mistake", "correction", "why")
"""Fields that a stored record takes from another one where it has none.

The others that may be empty (`context`, `task_type`, `external_id`) tell records apart, so that they stay empty.
"""


class Added(NamedTuple):
    """The result of storing a lesson."""

    id: str  # its own, or that of the lesson that it was merged into
    status: str  # "stored", "merged" or "quarantined"
    near: Sequence[Lesson] = ()
    """Stored lessons that share most of its words, the nearest first."""


def add_or_merge(
    tx: Writing,
    scope: Scope,
    lesson: Lesson,
    session: str | None = None,
    *,
    by: Speaker = Speaker.AGENT,
) -> Added:
    """Store a lesson, or strengthen the stored one that says the same; the first row that fits decides.

    | the lesson                                        | the stored one that says the same                        |
    |---------------------------------------------------|----------------------------------------------------------|
    | is in quarantine                                  | is not looked for: nothing unsafe strengthens a lesson   |
    | says the same as none                             | (is none: the lesson is stored)                          |
    | is no person's, and the stored one is             | stays as it is                                           |
    | comes from the `session` that taught the other    | stays as it is: that is the same case again              |
    | is a person's, and the stored one is not          | is strengthened, and gets the person's words             |
    | is any other                                      | is strengthened, with the other wording in its history   |
    """
    if lesson.trust is Trust.QUARANTINED:
        return _add_to_quarantine(tx, scope, lesson, by=by)
    near_lessons = similarity.nearest(tx, scope, lesson)
    equal = first_equal(lesson, near_lessons)
    if equal is None:
        lesson_records.insert(tx, scope, lesson, by=by)
        return Added(lesson.id, "stored", near_lessons)
    is_of_person = lesson.trust is Trust.TRUSTED
    if equal.is_kept_by_person and not is_of_person:
        return Added(equal.id, "merged")
    if session is not None and session == _session_that_taught(tx, scope, equal):
        return Added(equal.id, "merged")
    has_other_words = (equal.mistake, equal.correction) != (lesson.mistake, lesson.correction)
    if has_other_words:
        lesson_records.keep_version(tx, equal.id, "other_wording", lesson)
    strengthened = merged(equal, lesson)
    if is_of_person and not equal.is_kept_by_person:
        strengthened = in_words_of(strengthened, lesson)
    lesson_records.change(tx, scope, strengthened, by=by)
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


def in_words_of(stored: Lesson, persons_lesson: Lesson) -> Lesson:
    """Return a record with the words, the guard and the trust of a person's lesson that says the same.

    The reason and the guard by the agent that stored the record are replaced: else the person would vouch for words
    that they never saw.
    """
    guard_fields = {name: getattr(persons_lesson, name) for name in lesson_records.GUARD_FIELDS}
    return screening.judged(
        replace(
            stored,
            **guard_fields,
            text=persons_lesson.text,
            mistake=persons_lesson.mistake,
            correction=persons_lesson.correction,
            why=persons_lesson.why,
            trust=Trust.TRUSTED,
            outside=persons_lesson.outside,
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

    It gets the fields and words that it lacks, the strength of both, and more confidence.
    """
    filled_fields = {
        name: getattr(lesson, name) for name in _FIELDS_TO_FILL if getattr(stored, name) is None
    }
    if stored.guard is None:
        filled_fields |= {name: getattr(lesson, name) for name in lesson_records.GUARD_FIELDS}
    list_fields = {name: _words_of_both(stored, lesson, name) for name in LISTS}
    merged_lesson = replace(
        stored,
        **filled_fields,
        **list_fields,
        outside=stored.outside or lesson.outside,
        told=stored.told or lesson.told,
        strength=stored.strength + lesson.strength,
        importance=max(stored.importance, lesson.importance),
        confidence=stored.confidence + _CONFIDENCE_GAIN * (1 - stored.confidence),
        updated_at=lesson.updated_at,
    )
    if merged_lesson.outside and not stored.outside:
        return screening.judged(merged_lesson)  # words from outside are judged by stricter rules
    return merged_lesson


def _words_of_both(stored: Lesson, lesson: Lesson, name: str) -> tuple[str, ...]:
    """Return the words of a list of both records, each once, those of the stored one first."""
    words = dict.fromkeys((*getattr(stored, name), *getattr(lesson, name)))
    return tuple(words)[:_MOST_WORDS]
