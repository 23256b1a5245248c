"""The data of the dashboard, read as of one moment, in tables with columns: ten thousand lessons must fit into a page.

A table is `{"columns": [...], "rows": [[...], ...]}`. Times are seconds since 1970 (UTC), to the second; scores are
in 0..1, to four places. Reading the board counts no lesson as applied.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from mcp_reflect.log import Log
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson, State, Trust
from mcp_reflect.models.lesson_words import quarantine_notice
from mcp_reflect.models.proposal import guard_words
from mcp_reflect.models.shown_digest import digest_of_lesson
from mcp_reflect.security.injection import suspicion
from mcp_reflect.storage.repository import Reading
from mcp_reflect.storage.rows import Row, readable
from mcp_reflect.storage.values import scoped

MOST_LESSONS: Final = 20_000
MOST_EVENTS: Final = 1000  # the latest recalls and warnings that are listed; charts count all

LESSON_COLUMNS: Final = (
    "id",
    "kind",
    "state",
    "trust",
    "source",
    "is_global",
    "task_type",
    "text",
    "mistake",
    "correction",
    "why",
    "context",
    "symptoms",
    "keywords",
    "tags",
    "wrong_call",
    "right_call",
    "guard",
    "importance",
    "confidence",
    "strength",
    "uses",
    "effectiveness",
    "wins",
    "losses",
    "rate",
    "harmful",
    "held",
    "reflection_id",
    "external_id",
    "agent",
    "is_told",
    "created_at",
    "updated_at",
    "seen",
)
_WORD_COLUMNS: Final = (
    "task_type",
    "mistake",
    "correction",
    "why",
    "context",
    "symptoms",
    "keywords",
    "tags",
    "wrong_call",
    "right_call",
    "guard",
    "external_id",
)
_OUTCOME_COLUMNS: Final = ("lesson", "at", "success", "evidence", "wins", "losses", "note")
_RECALL_COLUMNS: Final = ("id", "at", "task", "lesson_ids", "held_out", "success", "evidence")
_WARNING_COLUMNS: Final = (
    "at",
    "tool",
    "arguments",
    "error",
    "times",
    "match",
    "certainty",
    "shown",
    "sequel",
    "lesson_id",
)

_PLACES: Final = 4  # decimal places of a score
_MAX_TEXT_CHARS: Final = 300  # of a note, or of the arguments of a call
_COLUMNS_FROM_OUTSIDE: Final = (
    ("recalls", "task"),
    ("outcomes", "note"),
    ("warnings", "arguments"),
    ("warnings", "tool"),
)
"""Tables of the board and columns with words from outside."""

Table = dict[str, Any]


def board_table(reading: Reading, scope: Scope, most: int, now: float, *, whole: bool) -> Table:
    """Return the dashboard's data, see `Views.board`; outcomes and links name a lesson by its index in the table."""
    values = scoped(scope)
    event_values = {"limit": MOST_EVENTS, **values}
    records = sorted(reading.lessons("board_lessons", scope, limit=most), key=_order_on_board)
    ids = [record.id for record in records]
    index_by_id = {record_id: index for index, record_id in enumerate(ids)}
    links = reading.rows("board_links", {"ids": ids})
    outcome_rows = reading.rows("board_outcomes", {"ids": ids})
    outcomes = _outcomes(outcome_rows, _merged_into(records, links), index_by_id)
    table: Table = {
        "scope": str(scope),
        "project": scope.project,
        "at": int(now),
        "records": reading.rows("board_lesson_count", values)[0]["count"],
        "lessons": {
            "columns": LESSON_COLUMNS,
            "rows": [lesson_row(record, whole=whole) for record in records],
        },
        "outcomes": {"columns": _OUTCOME_COLUMNS, "rows": list(outcomes)},
        "links": [
            [index_by_id[link["from_id"]], link["relation"], index_by_id[link["to_id"]]]
            for link in links
            if link["from_id"] in index_by_id and link["to_id"] in index_by_id
        ],
        "recalls": _table(
            reading.log,
            reading.rows("board_recalls", event_values),
            _RECALL_COLUMNS,
            at=int,
            lesson_ids=json.loads,
        ),
        "recall_days": [list(row) for row in reading.rows("board_recall_days", values)],
        "warnings": _table(
            reading.log,
            reading.rows("board_warnings", event_values),
            _WARNING_COLUMNS,
            at=int,
            arguments=_arguments_text,
            certainty=lambda number: round(number, 3),
        ),
        "warning_days": [list(row) for row in reading.rows("board_warning_days", values)],
    }
    if not whole:
        _replace_orders(table)
    return table


def _order_on_board(lesson: Lesson) -> tuple[Any, ...]:
    """Return the key by which records are sorted: active ones by rate, then those in quarantine or out of use."""
    is_held = lesson.trust is Trust.QUARANTINED
    return lesson.state is not State.ACTIVE, is_held, -lesson.rate, -lesson.importance, lesson.id


def _merged_into(records: Iterable[Lesson], links: Iterable[Row]) -> dict[str, str]:
    """Return the records into which archived ones were merged, by the ids of these."""
    archived = {record.id for record in records if record.state is State.ARCHIVED}
    return {
        link["from_id"]: link["to_id"]
        for link in links
        if link["relation"] == "merged_into" and link["from_id"] in archived
    }


def _replace_orders(table: Table) -> None:
    """Replace each text that reads as an order to its reader by the reason: a model may read the table."""
    for name, column in _COLUMNS_FROM_OUTSIDE:
        column_index = table[name]["columns"].index(column)
        for row in table[name]["rows"]:
            text = row[column_index]
            if not text:
                continue
            reason = suspicion([text])
            if reason:
                row[column_index] = quarantine_notice(reason)


def _table(
    log: Log, rows: Iterable[Row], columns: Sequence[str], **readers: Callable[[Any], Any]
) -> Table:
    """Return a table with some columns of rows; a reader by the name of a column converts its values."""

    def values_of(row: Row) -> list[Any]:
        return [readers.get(name, _as_it_is)(row[name]) for name in columns]

    return {"columns": columns, "rows": readable(rows, values_of, log)}


def _as_it_is(value: Any) -> Any:
    return value


def lesson_row(lesson: Lesson, *, whole: bool = True) -> list[Any]:
    """Return a lesson in the order of LESSON_COLUMNS; `text` is None if mistake and correction repeat it.

    `guard` says what it does, and `seen` is the digest of the lesson, which an act of the person who sees it sends back.
    """
    values: dict[str, Any] = {name: getattr(lesson, name, None) for name in LESSON_COLUMNS}
    values |= {
        "is_global": int(not lesson.project),
        "uses": lesson.times_applied,
        "harmful": int(lesson.harmful),
        "created_at": int(lesson.created_at),
        "updated_at": int(lesson.updated_at),
        "guard": guard_words(lesson) if lesson.guard else None,
        "seen": digest_of_lesson(lesson),
    }
    if lesson.trust is Trust.QUARANTINED and not whole:
        reason = lesson.held or "a person has to look at it"
        values |= {**dict.fromkeys(_WORD_COLUMNS), "text": quarantine_notice(reason)}
    elif lesson.mistake is not None and lesson.correction is not None:
        values["text"] = None
    return [_short_value(value) for value in values.values()]


def _short_value(value: Any) -> Any:
    """Return a value as the page gets it: a score to four places, an empty list as nothing."""
    if isinstance(value, float):
        return round(value, _PLACES)
    if value == ():
        return None
    return value


def _outcomes(
    rows: Iterable[Row], merged_into: Mapping[str, str], index_by_id: Mapping[str, int]
) -> Iterable[list[Any]]:
    """Yield each outcome, the oldest first, with its weight as wins and losses.

    Those of a merged record count for the record that it was merged into, which may have been merged as well.
    """
    for row in sorted(rows, key=lambda row: row["created_at"]):
        lesson_id = _last_merged_into(row["lesson_id"], merged_into)
        if lesson_id not in index_by_id:
            continue
        wins = round(row["weight"] * row["success"], _PLACES)
        losses = round(row["weight"] - wins, _PLACES)
        note = row["note"] and row["note"][:_MAX_TEXT_CHARS]
        time = int(row["created_at"])
        yield [index_by_id[lesson_id], time, row["success"], row["evidence"], wins, losses, note]


def _last_merged_into(lesson_id: str, merged_into: Mapping[str, str]) -> str:
    """Return the record at the end of a chain of merges; a circle ends where it was entered."""
    visited_ids: set[str] = set()
    while lesson_id in merged_into and lesson_id not in visited_ids:
        visited_ids.add(lesson_id)
        lesson_id = merged_into[lesson_id]
    return lesson_id


def _arguments_text(arguments: str | None) -> str | None:
    """Return a call's arguments as text, cut at 300 characters; None if the failure was removed."""
    if arguments is None:
        return None
    (value,) = json.loads(arguments)  # stored in a list of one
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False)
    return value[:_MAX_TEXT_CHARS]
