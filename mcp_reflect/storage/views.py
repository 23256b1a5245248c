"""What a person looks at: filtered records, one record with its history, counts, the data of the dashboard."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from mcp_reflect.clock import Clock
from mcp_reflect.models.common import Json, Scope
from mcp_reflect.models.consolidation import Filter
from mcp_reflect.models.lesson import Evidence, Lesson, State, Trust, waits
from mcp_reflect.security.injection import suspicion
from mcp_reflect.storage import lessons
from mcp_reflect.storage.effectiveness import INTERVAL, PRIOR_STRENGTH, Rates, Told, worths
from mcp_reflect.storage.recalls import Ledger, rates
from mcp_reflect.storage.sqlite.database import Database
from mcp_reflect.storage.sqlite.rows import Row, lesson_from, scope_values
from mcp_reflect.storage.sqlite.statements import Reading
from mcp_reflect.storage.warnings import LEAST_WARNINGS, proof, share_difference

# What a person looks at: records by a filter, and all that became of one of them.


_MOST_RECALLS: Final = 100


async def browse(db: Database, scope: Scope, wanted: Filter) -> list[Lesson]:
    """The records of a scope that pass a filter, newest first."""
    held = None if wanted.held is None else int(wanted.held)
    rows = await db.rows("lesson_browse", {**asdict(wanted), "held": held, **scope_values(scope)})
    return [lesson_from(row) for row in rows]


async def story(db: Database, scope: Scope, record_id: str) -> dict[str, list[dict[str, Any]]]:
    """What became of using a record, oldest first, and the latest 100 recalls that showed it, newest first.

    NotFoundError where the scope has no such record.
    """
    await lessons.lesson(db, scope, record_id, "id")
    values = {"lesson_id": record_id, "limit": _MOST_RECALLS, **scope_values(scope)}
    return {
        "outcomes": [dict(row) for row in await db.rows("outcome_list", {"lesson_id": record_id})],
        "recalls": [dict(row) for row in await db.rows("recalls_of_lesson", values)],
    }


# What is in the bank, counted.


async def stats(db: Database, scope: Scope) -> dict[str, Json]:
    """Counts of a scope; `average_lesson_effectiveness` (0..1) is null before the first outcome.

    `lessons_stored` are active ones. `retries_triggered` counts critiques that told the agent to try again,
    `improvements_made` corrections that were verified to be better; `tokens` are a tenant's, not a project's.
    """
    where = scope_values(scope)
    by: dict[str, Counter[str]] = {name: Counter() for name in ("kind", "state", "trust")}
    applied, effectiveness, with_outcome, stored, quarantined = 0, 0.0, 0, 0, 0
    for row in await db.rows("stats_lessons", where):
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
    told: dict[str, Counter[str]] = {name: Counter() for name in ("thinker", "outcome", "category", "trigger")}
    total = 0
    for row in await db.rows("stats_reflections", where):
        total += row["count"]
        for name, counter in told.items():
            counter[row[name] or "none"] += row["count"]
    counts = await db.row("stats_counts", where)
    return {
        "scope": str(scope),
        "total_reflections": total,
        "lessons_stored": stored,
        "strategies_stored": by["kind"]["strategy"],
        "records_by_state": dict(by["state"]),
        "records_by_trust": dict(by["trust"]),
        "reflections_by_thinker": dict(told["thinker"]),
        "reflections_by_outcome": dict(told["outcome"]),
        "reflections_by_category": dict(told["category"]),
        "reflections_by_trigger": dict(told["trigger"]),
        "quarantined": quarantined,
        "average_lesson_effectiveness": round(effectiveness / with_outcome, 4) if with_outcome else None,
        "lessons_applied": applied,
        "uplift": await _uplift(db, scope),
        "proof": await proof(db, scope),
        **({name: counts[name] for name in counts.keys()} if counts else {}),  # noqa: SIM118 - a Row iterates its values
    }


async def _uplift(db: Database, scope: Scope) -> dict[str, Json]:
    """How much more often tasks succeed whose lessons are shown than those whose lessons are held out.

    A task counts once, by the mean of its outcomes; `difference` is null below so many cases as `least` on either side.
    """
    arms = {
        bool(row["held"]): (float(row["good"]), int(row["cases"]))
        for row in await db.rows("task_arms", scope_values(scope))
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


# What a person's board is made of, read as of one moment, in columns: ten thousand lessons are to fit a page.
#
# A table is `{"columns": [...], "rows": [[...], ...]}`. Times are seconds since 1970 (UTC), to the second; scores are
# in
# 0..1, to four places. Reading counts nothing as applied.


MOST_LESSONS: Final = 20_000
MOST_EVENTS: Final = 1000  # the latest recalls and warnings that are told one by one; charts count all

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
class _Looked:
    """The rows of one moment."""

    lessons: Sequence[Row]
    count: int
    outcomes: Sequence[Row]
    links: Sequence[Row]
    recalls: Sequence[Row]
    recall_days: Sequence[Row]
    warnings: Sequence[Row]
    warning_days: Sequence[Row]
    rates: Rates


async def board(db: Database, scope: Scope, clock: Clock, *, most: int = MOST_LESSONS, whole: bool = True) -> Table:
    """At most `most` records of a scope, best first, their outcomes and ties; recalls and warnings.

    Without `whole`, the words of what is in quarantine stay out, and tasks, notes and calls that read as orders: a
    model may be the reader.
    """
    looked = await db.look(lambda reading: _look(reading, scope, most))
    made = await asyncio.to_thread(_assembled, looked, scope, clock.now(), whole=whole)
    return made if whole else await asyncio.to_thread(_without_orders, made)


async def row(db: Database, scope: Scope, lesson: Lesson) -> list[Any]:
    """A lesson as a row of the board's table, after somebody changed it."""
    return lesson_row(lesson, await db.look(lambda reading: rates(reading, scope)), whole=True)


def _look(reading: Reading, scope: Scope, most: int) -> _Looked:
    where = scope_values(scope)
    lessons = reading.rows("board_lessons", {"limit": most, **where})
    ids = [one["id"] for one in lessons]
    return _Looked(
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


def _assembled(looked: _Looked, scope: Scope, now: float, *, whole: bool) -> Table:
    records = [lesson_from(one) for one in looked.lessons]
    rows = [lesson_row(record, looked.rates, whole=whole) for record in records]
    rows.sort(key=_place)
    places = {one[0]: place for place, one in enumerate(rows)}
    return {
        "scope": str(scope),
        "project": scope.project,
        "at": int(now),
        "records": looked.count,
        "prior": {"strength": PRIOR_STRENGTH, "interval": INTERVAL},
        "lessons": {"columns": LESSON_COLUMNS, "rows": rows},
        "outcomes": {"columns": _OUTCOME_COLUMNS, "rows": list(_outcomes(looked, places))},
        "links": [[places[one["from_id"]], one["relation"], places[one["to_id"]]] for one in looked.links],
        "recalls": {"columns": _RECALL_COLUMNS, "rows": [_recall(one) for one in looked.recalls]},
        "recall_days": [[one["day"], one["became"], one["count"]] for one in looked.recall_days],
        "warnings": {"columns": _WARNING_COLUMNS, "rows": [_warning(one) for one in looked.warnings]},
        "warning_days": [[one["day"], one["became"], one["count"]] for one in looked.warning_days],
    }


def _without_orders(table: Table) -> Table:
    """The board with a word in the place of each task, note or call that reads as an order to who reads it."""
    for name, column in (("recalls", "task"), ("outcomes", "note"), ("warnings", "arguments"), ("warnings", "tool")):
        rows: list[list[Any]] = table[name]["rows"]
        at = table[name]["columns"].index(column)
        for row in rows:
            if row[at] and (reason := suspicion([row[at]])):
                row[at] = waits(reason)
    return table


def _place(row: Sequence[Any]) -> tuple[Any, ...]:
    """What is in use by its worth, then what waits for a person, then what is out of use."""
    state, trust, worth, importance, name = (
        row[LESSON_COLUMNS.index(column)] for column in ("state", "trust", "worth", "importance", "id")
    )
    return state != State.ACTIVE.value, trust == Trust.QUARANTINED.value, -worth, -importance, name


def lesson_row(lesson: Lesson, known: Rates, *, whole: bool) -> list[Any]:
    """A lesson in the order of LESSON_COLUMNS. A text that mistake and correction tell already is null."""
    hidden = lesson.trust is Trust.QUARANTINED and not whole
    told = lesson.mistake is not None and lesson.correction is not None and not hidden
    values: dict[str, Any] = {
        "id": lesson.id,
        "kind": lesson.kind.value,
        "state": lesson.state.value,
        "trust": lesson.trust.value,
        "source": lesson.source.value,
        "is_global": int(not lesson.project),
        "text": waits(lesson.held or "it waits for a person") if hidden else None if told else lesson.text,
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


def _outcomes(looked: _Looked, places: Mapping[str, int]) -> Iterable[list[Any]]:
    """Each outcome with what it added to wins and losses, as ranking counts them, each lesson's oldest first.

    A merged record's count for the one it lives on in.
    """
    gone = {one["id"] for one in looked.lessons if one["state"] == State.ARCHIVED.value}
    into = {
        one["from_id"]: one["to_id"]
        for one in looked.links
        if one["relation"] == "merged_into" and one["from_id"] in gone
    }
    by_lesson: dict[str, list[Row]] = {}
    for one in looked.outcomes:
        by_lesson.setdefault(_keeper(one["lesson_id"], into), []).append(one)
    for lesson_id, own in by_lesson.items():
        own.sort(key=lambda one: one["created_at"])
        wins = losses = 0.0
        told = (Told(one["success"], one["weight"], one["evidence"] != Evidence.SELF.value) for one in own)
        for one, after in zip(own, worths(told), strict=True):
            added = (round(after.wins - wins, 4), round(after.losses - losses, 4))
            wins, losses = after.wins, after.losses
            yield [
                *(places[lesson_id], int(one["created_at"]), one["success"], one["evidence"], *added),
                one["note"] and one["note"][:300],
            ]


def _keeper(lesson_id: str, into: Mapping[str, str]) -> str:
    """The record that a merged one lives on in, at any remove."""
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
    """A call's arguments as a person reads them, cut at 300 characters; null where the failure is gone."""
    if arguments is None:
        return None
    (value,) = json.loads(arguments)
    return (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))[:300]


# What a person looks at: records that are browsed, what became of one, and the board.


class Views:
    """Shows what is in the bank. NotFoundError for an id that the scope does not have."""

    def __init__(self, db: Database, clock: Clock, ledger: Ledger) -> None:
        self._db = db
        self._clock = clock
        self._ledger = ledger

    async def browse(self, scope: Scope, wanted: Filter) -> list[Lesson]:
        """The records of a scope that pass a filter, newest first."""
        return await browse(self._db, scope, wanted)

    async def story(self, scope: Scope, record_id: str) -> dict[str, list[dict[str, Any]]]:
        """What became of using a record, and the recalls that showed it; NotFoundError for no such record."""
        await self._ledger.flush()
        return await story(self._db, scope, record_id)

    async def board(self, scope: Scope, *, most: int | None = None, whole: bool = True) -> dict[str, Any]:
        """What a person's board is made of, at most `most` records; see `board`."""
        return await board(self._db, scope, self._clock, most=most or MOST_LESSONS, whole=whole)

    async def row(self, scope: Scope, lesson: Lesson) -> list[Any]:
        """A lesson as a row of the board."""
        return await row(self._db, scope, lesson)
