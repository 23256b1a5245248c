"""When a lesson is there already, word for word."""

from hashlib import blake2b
from typing import Final

from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson, RecordKind
from mcp_reflect.security.redact import clean_text

_DIGEST_BYTES: Final = 8  # an integer of SQLite


def digest_of(scope: Scope, lesson: Lesson) -> int | None:
    """64 bits of a hash of what a lesson says and where; null for what is none.

    Of the words as they are kept, without secrets: a hash of one tells whoever can guess. What a lesson gathers as
    the same is learnt again (symptoms, keywords, tags, scores) does not count.
    """
    if lesson.kind is not RecordKind.LESSON:
        return None
    told = "\0".join((scope.tenant, lesson.project, *(clean_text(part or "") for part in _said(lesson))))
    return int.from_bytes(blake2b(told.encode(), digest_size=_DIGEST_BYTES).digest(), signed=True)


def says_nothing_new(lesson: Lesson, there: Lesson) -> bool:
    """Whether a stored lesson of the same project says all that a lesson says."""
    return _said(lesson) == _said(there) and all(
        set(mine) <= set(theirs)
        for mine, theirs in (
            (lesson.symptoms, there.symptoms),
            (lesson.keywords, there.keywords),
            (lesson.tags, there.tags),
        )
    )


def _said(lesson: Lesson) -> tuple[str | None, ...]:
    return (lesson.mistake, lesson.correction, lesson.why, lesson.task_type, lesson.context, lesson.external_id)
