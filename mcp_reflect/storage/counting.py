"""Counts of warned and watched sessions for a person: sums of rows by one of their columns."""

from collections import Counter
from collections.abc import Iterable, Sequence

from mcp_reflect.models.common import Json
from mcp_reflect.models.session_state import LAST_WORD_COUNTS, SessionNotes
from mcp_reflect.storage.rows import Row


def counts_of_sessions(sessions: Row | None, warnings: Sequence[Row]) -> dict[str, Json]:
    """Return the counts of the sessions that were warned, or of those that were only watched.

    `sessions` is the row that counts them, None if there are none; `warnings` are rows that count their warnings by
    sequel: {"sessions": 4, "recurrences": 1, "warnings_due": 7, "sequels": {"heeded": 6, "open": 1}}.
    """
    session_count = 0
    recurrences = 0
    if sessions is not None:
        session_count = sessions["sessions"]
        recurrences = sessions["recurrences"]
    return {
        "sessions": session_count,
        "recurrences": recurrences,
        "warnings_due": sum(row["count"] for row in warnings),
        "sequels": counts(warnings, "sequel", "open"),
    }


def counts_of_last_messages(notes: Sequence[SessionNotes]) -> dict[str, Json]:
    """Return the counts of held and commented last messages over all sessions, and of their corrections."""
    sums: dict[str, Json] = {}
    for name in LAST_WORD_COUNTS:
        sums[name] = sum(getattr(session_notes.last_word, name) for session_notes in notes)
    return sums


def counts(rows: Iterable[Row], column: str, name_of_none: str) -> dict[str, Json]:
    """Return the sums of `count` by the value of a column; rows without a value are counted as `name_of_none`."""
    sums: Counter[str] = Counter()
    for row in rows:
        sums[row[column] or name_of_none] += row["count"]
    return dict(sorted(sums.items()))
