"""Views for a person: filtered records, the history of one record, counts, the data of the dashboard."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from mcp_reflect.log import Log
from mcp_reflect.models.common import Json, Scope
from mcp_reflect.models.lesson import Filter, Lesson, State, Trust
from mcp_reflect.models.lesson_words import quarantine_notice
from mcp_reflect.models.proposal import guard_words
from mcp_reflect.models.shown_digest import digest_of_lesson
from mcp_reflect.security.injection import suspicion
from mcp_reflect.storage.counting import counts
from mcp_reflect.storage.repository import Reading, Repository
from mcp_reflect.storage.rows import Row, readable
from mcp_reflect.storage.values import scoped

_MOST_RECALLS: Final = 100
_REFLECTION_COUNTS: Final = ("thinker", "outcome", "category", "trigger")
_MOST_NEAR: Final = 50  # neighbors of a node
_MOST_CHARS: Final = 300  # of a note or of the arguments of a call on the dashboard
_SHARED: Final = ("tool", "failure")  # the kinds of node that records share
_WITHHELD: Final = (
    ("recalls", "task"),
    ("outcomes", "note"),
    ("warnings", "arguments"),
    ("warnings", "tool"),
)
"""Tables of the board and columns with words from outside."""


class Views(Repository):
    """Shows what is in the bank. NotFoundError for an id that the scope does not have."""

    async def browse(self, scope: Scope, wanted: Filter) -> list[Lesson]:
        """Return the records of a scope that pass a filter, newest first."""
        return await self.lessons("lesson_browse", scope, **asdict(wanted))

    async def use_of(self, scope: Scope, record_id: str) -> dict[str, list[dict[str, Any]]]:
        """Return the outcomes of a record, oldest first, and the latest 100 recalls that showed it, newest first."""
        own = scoped(scope, lesson_id=record_id)
        outcomes = await self.db.rows("outcome_list", own)
        recalls = await self.db.rows("recalls_of_lesson", {**own, "limit": _MOST_RECALLS})
        return {
            "outcomes": [dict(row) for row in outcomes],
            "recalls": [dict(row) for row in recalls],
        }

    async def neighbors(self, scope: Scope, kind: str, name: str) -> "list[dict[str, Json]]":
        """Return what is one step from a node: records linked to it, and those that name what it names (`through`).

        A node is a record by its id, or a tool or failure by its name.
        """
        values = scoped(scope, kind=kind, name=name, shared=list(_SHARED), limit=_MOST_NEAR)
        return [_known_fields(row) for row in await self.db.rows("graph_step", values)]

    async def board(self, scope: Scope, *, most: int | None = None, whole: bool = True) -> "Table":
        """Return the dashboard's data: at most `most` records, best first, with outcomes, links, recalls and warnings.

        Without `whole`, the texts of records in quarantine are left out, and tasks, notes and calls that read as
        orders: a model may read it.
        """
        now = self.clock.now()
        return await self.db.look(
            scope.tenant,
            lambda reading: _board(reading, scope, most or MOST_LESSONS, now, whole=whole),
            long=True,
        )

    async def stats(self, scope: Scope) -> dict[str, Json]:
        """Return counts of a scope; `average_lesson_effectiveness` (0..1) is None before the first outcome.

        `lessons_stored` counts active ones, `retries_triggered` critiques that told the agent to try again,
        `improvements_made` corrections that were verified to be better, `findings_without_lesson` failures in runs of
        which nobody has told a lesson; `tokens` are those of the tenant.
        """
        where = scoped(scope)
        lessons = await self.db.rows("stats_lessons", where)
        reflections = await self.db.rows("stats_reflections", where)
        active = [row for row in lessons if row["state"] == "active"]
        return {
            "scope": str(scope),
            "total_reflections": sum(row["count"] for row in reflections),
            "lessons_stored": sum(row["count"] for row in active if row["kind"] == "lesson"),
            "strategies_stored": sum(row["count"] for row in lessons if row["kind"] == "strategy"),
            "records_by_state": counts(lessons, "state", "none"),
            "records_by_trust": counts(lessons, "trust", "none"),
            **{
                f"reflections_by_{name}": counts(reflections, name, "none")
                for name in _REFLECTION_COUNTS
            },
            "quarantined": sum(row["count"] for row in active if row["trust"] == "quarantined"),
            "average_lesson_effectiveness": _average_effectiveness(lessons),
            "lessons_applied": sum(row["applied"] or 0 for row in lessons),
            "uplift": _uplift(await self.db.rows("task_arms", where)),
            **dict(await self.db.row("stats_counts", where) or {}),
        }


def _known_fields(row: Row) -> dict[str, Any]:
    """Return what a row says of a neighbor in the graph, without what is not known."""
    names = ("relation", "through", "id", "kind", "state", "text")
    return {name: row[name] for name in names if row[name] is not None}


def _average_effectiveness(rows: Iterable[Row]) -> float | None:
    """Return the average over the lessons with an outcome, None where there is none."""
    lessons = [row for row in rows if row["kind"] == "lesson"]
    with_outcome = sum(row["with_outcome"] for row in lessons)
    if not with_outcome:
        return None
    return round(sum(row["effectiveness"] or 0.0 for row in lessons) / with_outcome, 4)


def _uplift(rows: Iterable[Row]) -> dict[str, Json]:
    """Return how often tasks succeed (0..1) if their lessons are shown and if they are held out; each counts once."""
    by_held = {bool(row["held"]): row for row in rows}
    return {"shown": _arm(by_held.get(False)), "held_out": _arm(by_held.get(True))}


def _arm(row: Row | None) -> dict[str, Json]:
    """Return the number of tasks of one arm of the comparison, and how often they succeed (0..1); None without tasks."""
    if row is None or not row["cases"]:
        return {"tasks": 0, "success": None}
    cases = int(row["cases"])
    return {"tasks": cases, "success": round(float(row["good"]) / cases, 4)}


# The dashboard's data, read as of one moment, in columns: ten thousand lessons must fit into a page.
#
# A table is `{"columns": [...], "rows": [[...], ...]}`. Times are seconds since 1970 (UTC), to the second; scores are
# in 0..1, to four places. Reading it counts nothing as applied.

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
_WORDS: Final = (
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

Table = dict[str, Any]


def _board(reading: Reading, scope: Scope, most: int, now: float, *, whole: bool) -> Table:
    """Return the dashboard's data, see `Views.board`; outcomes and links name a lesson by its place in the table."""
    where = scoped(scope)
    events = {"limit": MOST_EVENTS, **where}
    records = sorted(reading.lessons("board_lessons", scope, limit=most), key=_order_on_board)
    ids = [record.id for record in records]
    places = {record_id: place for place, record_id in enumerate(ids)}
    links = reading.rows("board_links", {"ids": ids})
    merged = _merged_into(records, links)
    table: Table = {
        "scope": str(scope),
        "project": scope.project,
        "at": int(now),
        "records": reading.rows("board_lesson_count", where)[0]["count"],
        "lessons": {
            "columns": LESSON_COLUMNS,
            "rows": [lesson_row(record, whole=whole) for record in records],
        },
        "outcomes": {
            "columns": _OUTCOME_COLUMNS,
            "rows": list(_outcomes(reading.rows("board_outcomes", {"ids": ids}), merged, places)),
        },
        "links": [
            [places[link["from_id"]], link["relation"], places[link["to_id"]]]
            for link in links
            if link["from_id"] in places and link["to_id"] in places
        ],
        "recalls": _table(
            reading.log,
            reading.rows("board_recalls", events),
            _RECALL_COLUMNS,
            at=int,
            lesson_ids=json.loads,
        ),
        "recall_days": [list(row) for row in reading.rows("board_recall_days", where)],
        "warnings": _table(
            reading.log,
            reading.rows("board_warnings", events),
            _WARNING_COLUMNS,
            at=int,
            arguments=_call,
            certainty=lambda number: round(number, 3),
        ),
        "warning_days": [list(row) for row in reading.rows("board_warning_days", where)],
    }
    if not whole:
        _withhold_orders(table)
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


def _withhold_orders(table: Table) -> None:
    """Put a reason in the place of each text that reads as an order to its reader."""
    for name, column in _WITHHELD:
        place = table[name]["columns"].index(column)
        for row in table[name]["rows"]:
            if not row[place]:
                continue
            reason = suspicion([row[place]])
            if reason:
                row[place] = quarantine_notice(reason)


def _table(
    log: Log, rows: Iterable[Row], columns: Sequence[str], **readers: Callable[[Any], Any]
) -> Table:
    """Return a table with some columns of rows; a reader by the name of a column converts its values."""

    def values(row: Row) -> list[Any]:
        return [readers.get(name, _as_it_is)(row[name]) for name in columns]

    return {"columns": columns, "rows": readable(rows, values, log)}


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
        values |= {**dict.fromkeys(_WORDS), "text": quarantine_notice(reason)}
    elif lesson.mistake is not None and lesson.correction is not None:
        values["text"] = None
    return [_short_value(value) for value in values.values()]


def _short_value(value: Any) -> Any:
    """Return a value as the page gets it: a score to four places, an empty list as nothing."""
    if isinstance(value, float):
        return round(value, 4)
    if value == ():
        return None
    return value


def _outcomes(
    rows: Iterable[Row], into: Mapping[str, str], places: Mapping[str, int]
) -> Iterable[list[Any]]:
    """Yield each outcome, the oldest first, with its weight as wins and losses.

    Those of a merged record count for the record that it was merged into, at any distance (`into`).
    """
    for row in sorted(rows, key=lambda row: row["created_at"]):
        lesson_id = _end_of_merges(row["lesson_id"], into)
        if lesson_id not in places:
            continue
        wins = round(row["weight"] * row["success"], 4)
        losses = round(row["weight"] - wins, 4)
        note = row["note"] and row["note"][:_MOST_CHARS]
        at = int(row["created_at"])
        yield [places[lesson_id], at, row["success"], row["evidence"], wins, losses, note]


def _end_of_merges(lesson_id: str, into: Mapping[str, str]) -> str:
    """Return the lesson that one was merged into, at any distance; a circle ends where it was entered."""
    passed: set[str] = set()
    while lesson_id in into and lesson_id not in passed:
        passed.add(lesson_id)
        lesson_id = into[lesson_id]
    return lesson_id


def _call(arguments: str | None) -> str | None:
    """Return a call's arguments as text, cut at 300 characters; None if the failure was removed."""
    if arguments is None:
        return None
    (value,) = json.loads(arguments)  # stored in a list of one
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False)
    return value[:_MOST_CHARS]
