"""What is in the bank, counted."""

from collections import Counter

from mcp_reflect.bank.proof import proof
from mcp_reflect.bank.sqlite.database import Database
from mcp_reflect.bank.sqlite.rows import scope_values
from mcp_reflect.records.json import Json
from mcp_reflect.records.scope import Scope


async def stats(db: Database, scope: Scope) -> dict[str, Json]:
    """Counts of a scope; `average_lesson_effectiveness` (0..1) is null before the first outcome."""
    where = scope_values(scope)
    by: dict[str, Counter[str]] = {name: Counter() for name in ("kind", "state", "trust")}
    applied, effectiveness, with_outcome = 0, 0.0, 0
    for row in await db.rows("stats_lessons", where):
        for name, counter in by.items():
            counter[row[name]] += row["count"]
        applied += row["applied"] or 0
        if row["kind"] == "lesson":
            effectiveness += row["effectiveness"] or 0.0
            with_outcome += row["with_outcome"]
    told: dict[str, Counter[str]] = {name: Counter() for name in ("thinker", "outcome", "category")}
    total = 0
    for row in await db.rows("stats_reflections", where):
        total += row["count"]
        for name, counter in told.items():
            counter[row[name] or "none"] += row["count"]
    counts = await db.row("stats_counts", where)
    return {
        "scope": str(scope),
        "total_reflections": total,
        "lessons_stored": by["kind"]["lesson"],
        "strategies_stored": by["kind"]["strategy"],
        "records_by_state": dict(by["state"]),
        "records_by_trust": dict(by["trust"]),
        "reflections_by_thinker": dict(told["thinker"]),
        "reflections_by_outcome": dict(told["outcome"]),
        "reflections_by_category": dict(told["category"]),
        "average_lesson_effectiveness": round(effectiveness / with_outcome, 4) if with_outcome else None,
        "lessons_applied": applied,
        "proof": await proof(db, scope),
        **({name: counts[name] for name in counts.keys()} if counts else {}),  # noqa: SIM118 - a Row iterates its values
    }
