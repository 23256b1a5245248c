"""What is in the bank, counted."""

from collections import Counter

from mcp_reflect.bank.proof import LEAST_WARNINGS, proof, share_difference
from mcp_reflect.bank.sqlite.database import Database
from mcp_reflect.bank.sqlite.rows import scope_values
from mcp_reflect.models.common import Json, Scope


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
