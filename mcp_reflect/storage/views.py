"""Views for a person: filtered records, the history of one record, counts, the data of the dashboard."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from mcp_reflect.clock import Clock
from mcp_reflect.models.common import Json, Scope
from mcp_reflect.models.consolidation import Filter
from mcp_reflect.models.lesson import Evidence, Lesson, State, Trust, waits
from mcp_reflect.security.injection import suspicion
from mcp_reflect.storage.effectiveness import INTERVAL, PRIOR_STRENGTH, Rates, WeightedOutcome, running_totals
from mcp_reflect.storage.lessons import lesson_by_id
from mcp_reflect.storage.recalls import RecallLog, rates
from mcp_reflect.storage.retrieval.graph import MOST_NEAR, NAMED
from mcp_reflect.storage.sqlite.database import Database
from mcp_reflect.storage.sqlite.rows import Row, lessons_from, readable, scope_values
from mcp_reflect.storage.sqlite.statements import Reading
from mcp_reflect.storage.warnings import LEAST_WARNINGS, WarningRepository, share_difference

if TYPE_CHECKING:
    from mcp_reflect.storage.recalls import RecallRepository

_MOST_RECALLS: Final = 100


class Views:
    """Shows what is in the bank. NotFoundError for an id that the scope does not have."""

    def __init__(
        self,
        db: Database,
        clock: Clock,
        recall_log: RecallLog,
        warnings: WarningRepository,
        recalls: "RecallRepository",
    ) -> None:
        self._db = db
        self._clock = clock
        self._recall_log = recall_log
        self._warnings = warnings
        self._recalls = recalls

    async def browse(self, scope: Scope, wanted: Filter) -> list[Lesson]:
        """Return the records of a scope that pass a filter, newest first."""
        held = None if wanted.held is None else int(wanted.held)
        rows = await self._db.rows("lesson_browse", {**asdict(wanted), "held": held, **scope_values(scope)})
        return lessons_from(rows)

    async def use_of(self, scope: Scope, record_id: str) -> dict[str, list[dict[str, Any]]]:
        """Return the outcomes of a record, oldest first, and the latest 100 recalls that showed it, newest first."""
        await self._recall_log.flush()
        await lesson_by_id(self._db, scope, record_id, "id")
        values = {"lesson_id": record_id, "limit": _MOST_RECALLS, **scope_values(scope)}
        return {
            "outcomes": [dict(row) for row in await self._db.rows("outcome_list", {"lesson_id": record_id})],
            "recalls": [dict(row) for row in await self._db.rows("recalls_of_lesson", values)],
        }

    async def neighbors(self, scope: Scope, kind: str, name: str) -> "list[dict[str, Json]]":
        """Return what is one step from a node: records linked to it, and those that name what it names (`through`).

        A node is a record by its id, or a tool, file, failure or error code by its name.
        """
        values = {"kind": kind, "name": name, "shared": list(NAMED), "limit": MOST_NEAR, **scope_values(scope)}
        return [
            {key: row[key] for key in ("relation", "through", "id", "kind", "state", "text") if row[key] is not None}
            for row in await self._db.rows("graph_step", values)
        ]

    async def board(self, scope: Scope, *, most: int | None = None, whole: bool = True) -> "Table":
        """Return the dashboard's data: at most `most` records, best first, with outcomes, links, recalls and warnings.

        Without `whole`, the texts of records in quarantine are left out, and tasks, notes and calls that read as
        orders: a model may read it.
        """
        rows = await self._db.look(lambda reading: _board_rows(reading, scope, most or MOST_LESSONS))
        table = await asyncio.to_thread(_assembled, rows, scope, self._clock.now(), whole=whole)
        return table if whole else await asyncio.to_thread(_without_orders, table)

    async def row(self, scope: Scope, lesson: Lesson) -> list[Any]:
        """Return a lesson as a row of the dashboard's table, after somebody changed it."""
        return lesson_row(lesson, await self._db.look(lambda reading: rates(reading, scope)), whole=True)

    async def stats(self, scope: Scope) -> dict[str, Json]:
        """Return counts of a scope; `average_lesson_effectiveness` (0..1) is None before the first outcome.

        `lessons_stored` counts active ones, `retries_triggered` critiques that told the agent to try again,
        `improvements_made` corrections that were verified to be better; `tokens` are those of the tenant.
        """
        where = scope_values(scope)
        by: dict[str, Counter[str]] = {name: Counter() for name in ("kind", "state", "trust")}
        applied, effectiveness, with_outcome, stored, quarantined = 0, 0.0, 0, 0, 0
        for row in await self._db.rows("stats_lessons", where):
            for name, counter in by.items():
                counter[row[name]] += row["count"]
            applied += row["applied"] or 0
            if row["kind"] == "lesson":
                effectiveness += row["effectiveness"] or 0.0
                with_outcome += row["with_outcome"]
            if row["kind"] == "lesson" and row["state"] == "active":
                stored += row["count"]
            if row["state"] == "active" and row["trust"] == "quarantined":
                quarantined += row["count"]
        reflections: dict[str, Counter[str]] = {
            name: Counter() for name in ("thinker", "outcome", "category", "trigger")
        }
        total = 0
        for row in await self._db.rows("stats_reflections", where):
            total += row["count"]
            for name, counter in reflections.items():
                counter[row[name] or "none"] += row["count"]
        counts = await self._db.row("stats_counts", where)
        return {
            "scope": str(scope),
            "total_reflections": total,
            "lessons_stored": stored,
            "strategies_stored": by["kind"]["strategy"],
            "records_by_state": dict(by["state"]),
            "records_by_trust": dict(by["trust"]),
            "reflections_by_thinker": dict(reflections["thinker"]),
            "reflections_by_outcome": dict(reflections["outcome"]),
            "reflections_by_category": dict(reflections["category"]),
            "reflections_by_trigger": dict(reflections["trigger"]),
            "quarantined": quarantined,
            "average_lesson_effectiveness": round(effectiveness / with_outcome, 4) if with_outcome else None,
            "lessons_applied": applied,
            "uplift": await self._uplift(scope),
            "proof": await self._warnings.effect(scope),
            **dict(counts or {}),
            "embeddings": await self._recalls.embedding_state(scope),
        }

    async def _uplift(self, scope: Scope) -> dict[str, Json]:
        """Return how much more often tasks succeed if their lessons are shown than if they are held out.

        A task counts once, by the mean of its outcomes; `difference` is None with fewer than `least` cases of either.
        """
        arms = {
            bool(row["held"]): (float(row["good"]), int(row["cases"]))
            for row in await self._db.rows("task_arms", scope_values(scope))
        }
        shown, held_out = arms.get(False, (0.0, 0)), arms.get(True, (0.0, 0))
        return {
            "shown": _arm(shown),
            "held_out": _arm(held_out),
            "difference": share_difference(shown, held_out),
            "least": LEAST_WARNINGS,
        }


def _arm(arm: tuple[float, int]) -> dict[str, Json]:
    return {"tasks": arm[1], "success": round(arm[0] / arm[1], 4) if arm[1] else None}


# The dashboard's data, read as of one moment, in columns: ten thousand lessons must fit into a page.
#
# A table is `{"columns": [...], "rows": [[...], ...]}`. Times are seconds since 1970 (UTC), to the second; scores are
# in 0..1, to four places. Reading it counts nothing as applied.


MOST_LESSONS: Final = 20_000
MOST_EVENTS: Final = 1000  # the latest recalls and warnings that are listed; charts count all

LESSON_COLUMNS: Final = (
    *("id", "kind", "state", "trust", "source", "is_global", "task_type", "text", "mistake", "correction", "why"),
    *("symptoms", "keywords", "tags", "importance", "confidence", "strength", "uses", "effectiveness"),
    *("wins", "losses", "base_rate", "worth", "harmful", "held", "reflection_id", "external_id"),
    *("created_at", "updated_at"),
)
_OUTCOME_COLUMNS: Final = ("lesson", "at", "success", "evidence", "wins", "losses", "note")
_RECALL_COLUMNS: Final = ("id", "at", "task", "lesson_ids", "held_out", "success", "evidence")
_WARNING_COLUMNS: Final = (
    *("at", "tool", "arguments", "error", "times", "match", "certainty", "shown", "sequel", "lesson_id"),
)

Table = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _BoardRows:
    """The rows as of one moment."""

    lessons: Sequence[Row]
    count: int
    outcomes: Sequence[Row]
    links: Sequence[Row]
    recalls: Sequence[Row]
    recall_days: Sequence[Row]
    warnings: Sequence[Row]
    warning_days: Sequence[Row]
    rates: Rates


def _board_rows(reading: Reading, scope: Scope, most: int) -> _BoardRows:
    where = scope_values(scope)
    lessons = reading.rows("board_lessons", {"limit": most, **where})
    ids = [row["id"] for row in lessons]
    return _BoardRows(
        lessons=lessons,
        count=reading.rows("board_lesson_count", where)[0]["count"],
        outcomes=reading.rows("board_outcomes", {"ids": ids}),
        links=reading.rows("board_links", {"ids": ids}),
        recalls=reading.rows("board_recalls", {"limit": MOST_EVENTS, **where}),
        recall_days=reading.rows("board_recall_days", where),
        warnings=reading.rows("board_warnings", {"limit": MOST_EVENTS, **where}),
        warning_days=reading.rows("board_warning_days", where),
        rates=rates(reading, scope),
    )


def _assembled(board: _BoardRows, scope: Scope, now: float, *, whole: bool) -> Table:
    records = lessons_from(board.lessons)
    rows = [lesson_row(record, board.rates, whole=whole) for record in records]
    rows.sort(key=_place)
    places = {one[0]: place for place, one in enumerate(rows)}
    return {
        "scope": str(scope),
        "project": scope.project,
        "at": int(now),
        "records": board.count,
        "prior": {"strength": PRIOR_STRENGTH, "interval": INTERVAL},
        "lessons": {"columns": LESSON_COLUMNS, "rows": rows},
        "outcomes": {"columns": _OUTCOME_COLUMNS, "rows": list(_outcomes(board, places))},
        "links": [
            [places[link["from_id"]], link["relation"], places[link["to_id"]]]
            for link in board.links
            if link["from_id"] in places and link["to_id"] in places
        ],
        "recalls": {"columns": _RECALL_COLUMNS, "rows": readable(board.recalls, _recall)},
        "recall_days": [[one["day"], one["became"], one["count"]] for one in board.recall_days],
        "warnings": {"columns": _WARNING_COLUMNS, "rows": readable(board.warnings, _warning)},
        "warning_days": [[one["day"], one["became"], one["count"]] for one in board.warning_days],
    }


def _without_orders(table: Table) -> Table:
    """Replace each task, note or call that reads as an order to its reader."""
    for name, column in (("recalls", "task"), ("outcomes", "note"), ("warnings", "arguments"), ("warnings", "tool")):
        rows: list[list[Any]] = table[name]["rows"]
        at = table[name]["columns"].index(column)
        for row in rows:
            if row[at] and (reason := suspicion([row[at]])):
                row[at] = waits(reason)
    return table


def _place(row: Sequence[Any]) -> tuple[Any, ...]:
    """Sort active records by worth, then those in quarantine, then those out of use."""
    state, trust, worth, importance, name = (
        row[LESSON_COLUMNS.index(column)] for column in ("state", "trust", "worth", "importance", "id")
    )
    return state != State.ACTIVE.value, trust == Trust.QUARANTINED.value, -worth, -importance, name


def lesson_row(lesson: Lesson, known: Rates, *, whole: bool) -> list[Any]:
    """Return a lesson in the order of LESSON_COLUMNS; `text` is None if mistake and correction repeat it."""
    hidden = lesson.trust is Trust.QUARANTINED and not whole
    repeated = lesson.mistake is not None and lesson.correction is not None and not hidden
    values: dict[str, Any] = {
        "id": lesson.id,
        "kind": lesson.kind.value,
        "state": lesson.state.value,
        "trust": lesson.trust.value,
        "source": lesson.source.value,
        "is_global": int(not lesson.project),
        "text": waits(lesson.held or "a person has to look at it") if hidden else None if repeated else lesson.text,
        "importance": round(lesson.importance, 4),
        "confidence": round(lesson.confidence, 4),
        "strength": lesson.strength,
        "uses": lesson.times_applied,
        "effectiveness": None if lesson.effectiveness is None else round(lesson.effectiveness, 4),
        "wins": round(lesson.wins, 4),
        "losses": round(lesson.losses, 4),
        "base_rate": round(known.base_rate(lesson), 4),
        "worth": round(known.mean(lesson), 4),
        "harmful": int(known.harmful(lesson)),
        "held": lesson.held,
        "reflection_id": lesson.reflection_id,
        "external_id": None if hidden else lesson.external_id,
        "created_at": int(lesson.created_at),
        "updated_at": int(lesson.updated_at),
    }
    words = ("task_type", "mistake", "correction", "why", "symptoms", "keywords", "tags")
    values |= {name: None if hidden else getattr(lesson, name) or None for name in words}
    return [values[name] for name in LESSON_COLUMNS]


def _outcomes(board: _BoardRows, places: Mapping[str, int]) -> Iterable[list[Any]]:
    """Yield each outcome with what it added to wins and losses, each lesson's oldest first.

    Those of a merged record count for the record that it was merged into.
    """
    archived = {one["id"] for one in board.lessons if one["state"] == State.ARCHIVED.value}
    into = {
        one["from_id"]: one["to_id"]
        for one in board.links
        if one["relation"] == "merged_into" and one["from_id"] in archived
    }
    by_lesson: dict[str, list[Row]] = {}
    for one in board.outcomes:
        by_lesson.setdefault(_keeper(one["lesson_id"], into), []).append(one)
    for lesson_id in by_lesson.keys() & places.keys():
        own = by_lesson[lesson_id]
        own.sort(key=lambda one: one["created_at"])
        wins = losses = 0.0
        outcomes = (WeightedOutcome(one["success"], one["weight"], one["evidence"] != Evidence.SELF) for one in own)
        for one, after in zip(own, running_totals(outcomes), strict=True):
            added = (round(after.wins - wins, 4), round(after.losses - losses, 4))
            wins, losses = after.wins, after.losses
            yield [
                *(places[lesson_id], int(one["created_at"]), one["success"], one["evidence"], *added),
                one["note"] and one["note"][:300],
            ]


def _keeper(lesson_id: str, into: Mapping[str, str]) -> str:
    """Return the record that a record was merged into, at any distance."""
    seen = {lesson_id}
    while (following := into.get(lesson_id)) is not None and following not in seen:
        seen.add(lesson_id := following)
    return lesson_id


def _recall(one: Row) -> list[Any]:
    ids: list[str] = json.loads(one["lesson_ids"])
    return [
        *(one["id"], int(one["created_at"]), one["task"][:300], ids, one["held_out"], one["success"], one["evidence"]),
    ]


def _warning(one: Row) -> list[Any]:
    return [
        *(int(one["created_at"]), one["tool"], _call(one["arguments"]), one["error"], one["times"], one["match"]),
        *(round(one["certainty"], 3), one["shown"], one["sequel"], one["lesson_id"]),
    ]


def _call(arguments: str | None) -> str | None:
    """Return a call's arguments as text, cut at 300 characters; None if the failure was removed."""
    if arguments is None:
        return None
    (value,) = json.loads(arguments)
    return (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))[:300]
