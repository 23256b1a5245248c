"""Counts for a person: sums of rows by a column, and what came of sessions with and without warnings."""

from collections import Counter
from collections.abc import Iterable, Sequence

from mcp_reflect.models.common import Json
from mcp_reflect.models.session_state import LAST_WORD_COUNTS, SessionNotes
from mcp_reflect.storage.rows import Row


def counts_of_sessions(sessions: Row | None, warnings: Sequence[Row]) -> dict[str, Json]:
    """Return what came of the sessions that were warned, or of those that were only watched.

    `sessions` is the row that counts them, None if there are none; `warnings` count theirs by sequel.
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
    """Return how many last messages of all sessions were held or told, and what came of them."""
    sums: dict[str, Json] = {}
    for name in LAST_WORD_COUNTS:
        sums[name] = sum(getattr(of_session.last_word, name) for of_session in notes)
    return sums


def counts(rows: Iterable[Row], column: str, name_of_none: str) -> dict[str, Json]:
    """Return the sums of `count` by the value of a column; rows without a value are counted as `name_of_none`."""
    sums: Counter[str] = Counter()
    for row in rows:
        sums[row[column] or name_of_none] += row["count"]
    return dict(sorted(sums.items()))
