"""Views of the bank for a person: records that pass a filter, the use of one record, its neighbors, and counts."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, Final

from mcp_reflect.models.common import Json, Scope
from mcp_reflect.models.lesson import Filter, Lesson
from mcp_reflect.storage.board import MOST_LESSONS, Table, board_table
from mcp_reflect.storage.counting import counts
from mcp_reflect.storage.repository import Repository
from mcp_reflect.storage.rows import Row
from mcp_reflect.storage.values import scoped

_MOST_RECALLS: Final = 100
_REFLECTION_COUNTS: Final = ("thinker", "outcome", "category", "trigger")
_MOST_NEAR: Final = 50  # neighbors of a node
_SHARED_KINDS: Final = ("tool", "failure")  # of nodes that records share


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
        """Return the neighbors of a node in the graph: records linked to it, and those that share something with it.

        A node is a record by its id, or a tool or failure by its name. `through` of a neighbor names the tool or failure
        that both name.
        """
        values = scoped(scope, kind=kind, name=name, shared=list(_SHARED_KINDS), limit=_MOST_NEAR)
        return [_known_fields(row) for row in await self.db.rows("graph_step", values)]

    async def board(self, scope: Scope, *, most: int | None = None, whole: bool = True) -> Table:
        """Return the dashboard's data: at most `most` records, best first, with outcomes, links, recalls and warnings.

        Without `whole`, the texts of records in quarantine are left out, and tasks, notes and calls that read as
        orders: a model may read it.
        """
        now = self.clock.now()
        return await self.db.look(
            scope.tenant,
            lambda reading: board_table(reading, scope, most or MOST_LESSONS, now, whole=whole),
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
    """Return the fields of a neighbor in the graph, without those that have no value."""
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
    row_by_held_out = {bool(row["held"]): row for row in rows}
    return {
        "shown": _group_counts(row_by_held_out.get(False)),
        "held_out": _group_counts(row_by_held_out.get(True)),
    }


def _group_counts(row: Row | None) -> dict[str, Json]:
    """Return the number of tasks of a group, and how often they succeed (0..1), None without tasks."""
    if row is None or not row["cases"]:
        return {"tasks": 0, "success": None}
    cases = int(row["cases"])
    return {"tasks": cases, "success": round(float(row["good"]) / cases, 4)}
