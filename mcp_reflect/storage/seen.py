"""The check that records are still as a person was shown them, in the transaction that carries out the person's act.

A person who approves a lesson approves the words that they read: where these have changed, nothing is done.
"""

from collections.abc import Callable

from mcp_reflect.errors import ChangedError
from mcp_reflect.models.common import Scope
from mcp_reflect.models.shown_digest import Seen, digest_of_lesson
from mcp_reflect.security.redact import quoted
from mcp_reflect.storage import lesson_records
from mcp_reflect.storage.repository import Reading


def refuse_other_than_seen(seen: Seen, record_id: str, digest_now: Callable[[], str]) -> None:
    """Raise ChangedError if a person was shown a record, and it has changed since."""
    if record_id in seen and seen[record_id] != digest_now():
        raise ChangedError(
            "id",
            f"'{quoted(record_id)}' changed since it was shown, and nothing was done",
            "Look at it again, then decide.",
        )


def refuse_changed_lessons(reading: Reading, scope: Scope, seen: Seen) -> None:
    """Raise ChangedError for a lesson that is not as the person saw it; NotFoundError for one that is gone."""
    for lesson_id in seen:
        lesson = lesson_records.lesson_by_id(reading, scope, lesson_id)
        refuse_other_than_seen(seen, lesson_id, lambda lesson=lesson: digest_of_lesson(lesson))
