"""Which lessons are promoted into a host's file: those that somebody names, else all that are proven or a person's."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from mcp_reflect.errors import InputError
from mcp_reflect.models.lesson import Lesson, RecordKind, State, Trust
from mcp_reflect.security.redact import quoted
from mcp_reflect.services.context import Context
from mcp_reflect.storage.screening import suspicion_of

LEAST_OF_A_SKILL: Final = 3
"""Lessons of one subject that a skill takes: for fewer, a model need not open a file of its own."""

_MOST_CHOSEN: Final = 500  # lessons, of which a block has room for few
_MOST_SUBJECTS: Final = 10  # that an error names


async def chosen_lessons(context: Context, subject: str | None, ids: Sequence[str]) -> list[Lesson]:
    """Return the lessons with these ids, else the proven ones of a subject, else all proven ones.

    InputError for an id that cannot be promoted, and for a subject with fewer lessons than LEAST_OF_A_SKILL.
    """
    if ids:
        return await _named_lessons(context, ids)
    candidates = await context.bank.lessons.for_start(context.scopes.own, _MOST_CHOSEN)
    proven = [lesson for lesson in candidates if is_usable(lesson) and _is_proven(lesson)]
    if subject is None:
        return proven
    of_subject = [lesson for lesson in proven if subject.casefold() in _subjects_of(lesson)]
    if len(of_subject) >= LEAST_OF_A_SKILL:
        return of_subject
    fault = f"{len(of_subject)} lessons have the task type or tag '{quoted(subject)}', and a skill takes {LEAST_OF_A_SKILL}"
    raise InputError("--skill", fault, f"Subjects with enough: {_large_subjects(proven)}.")


async def _named_lessons(context: Context, ids: Sequence[str]) -> list[Lesson]:
    """Return the lessons with these ids, whole or short; InputError for one that is not in use or not trusted."""
    scope = context.scopes.own
    lessons = context.bank.lessons
    named_lessons: list[Lesson] = []
    for typed_id in ids:
        whole_id = await lessons.resolve_id(scope, typed_id)
        lesson = await lessons.get(scope, whole_id, "id")
        if not is_usable(lesson):
            fix = "Decide about it first: mcp-reflect lessons review."
            raise InputError("id", f"'{quoted(lesson.id)}' is not in use, or not trusted", fix)
        named_lessons.append(lesson)
    return named_lessons


def _large_subjects(lessons: Iterable[Lesson]) -> str:
    """Return the subjects that have enough lessons for a skill, the largest first: "database (7), deploy (3)"."""
    counts: Counter[str] = Counter()
    for lesson in lessons:
        counts.update(_subjects_of(lesson))
    large = [
        f"{subject} ({count})"
        for subject, count in counts.most_common(_MOST_SUBJECTS)
        if count >= LEAST_OF_A_SKILL
    ]
    return ", ".join(large) or "none yet"


def _subjects_of(lesson: Lesson) -> set[str]:
    """Return a lesson's task type and tags, in lower case."""
    return {name.casefold() for name in (lesson.task_type, *lesson.tags) if name}


def is_usable(lesson: Lesson) -> bool:
    """Return whether a lesson may stand in a file: it is in use, in no quarantine, and gives no suspicious orders."""
    if lesson.kind is not RecordKind.LESSON or lesson.state is not State.ACTIVE:
        return False
    return not lesson.held and not suspicion_of(lesson)


def _is_proven(lesson: Lesson) -> bool:
    """Return whether a person vouched for a lesson, or evidence confirmed it."""
    return lesson.trust in (Trust.TRUSTED, Trust.CONFIRMED)
