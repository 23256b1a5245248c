"""Whether warnings keep failures from coming back: sessions that were warned beside sessions that were held out.

Null stands where there are fewer than LEAST_SESSIONS sessions in a group or LEAST_WARNINGS warnings: a few
cases show anything.
"""

import math
from collections.abc import Sequence
from typing import Final

from mcp_reflect.bank.sqlite.database import Database
from mcp_reflect.bank.sqlite.rows import Row, scope_values
from mcp_reflect.models.common import Json, Scope

LEAST_SESSIONS: Final = 10  # of a group
LEAST_WARNINGS: Final = 20  # of a group whose sequel is known
Z: Final = 1.959964  # 97.5 % quantile of the normal distribution: intervals are of 95 %


async def proof(db: Database, scope: Scope) -> dict[str, Json]:
    """Recurrences a session and repeats after a warning, each with its interval, and what the warnings cost."""
    sessions = await db.rows("session_counts", scope_values(scope))
    warnings = await db.rows("warning_counts", scope_values(scope))
    counts = {held: [row["recurrences"] for row in sessions if row["held_out"] == held] for held in (0, 1)}
    told = [row for row in warnings if row["shown"]]
    given = sum(row["count"] for row in told)
    characters = sum(row["characters"] for row in told)
    return {
        "warned": _group(counts[0], told),
        "held_out": _group(counts[1], [row for row in warnings if not row["shown"]]),
        "recurrences_prevented_per_session": _difference(counts[1], counts[0]),
        "repeats_prevented_per_warning": share_difference(
            _repeats([row for row in warnings if not row["shown"]]), _repeats(told)
        ),
        "warnings_given": given,
        "warnings_by_match": _by(told, "match"),
        "characters": characters,
        "characters_per_warning": round(characters / given, 1) if given else None,
        "least_sessions": LEAST_SESSIONS,
        "least_warnings": LEAST_WARNINGS,
    }


def _group(recurrences: Sequence[int], warnings: Sequence[Row]) -> dict[str, Json]:
    repeated, settled = _repeats(warnings)
    enough = settled >= LEAST_WARNINGS
    return {
        "sessions": len(recurrences),
        "recurrences": sum(recurrences),
        "recurrences_per_session": mean_interval(recurrences),
        "warnings_due": sum(row["count"] for row in warnings),
        "sequels": _by(warnings, "sequel"),
        "repeated_after": _told(repeated / settled, wilson(repeated, settled), settled) if enough else None,
    }


def _by(rows: Sequence[Row], name: str) -> dict[str, Json]:
    found: dict[str, int] = {}
    for row in rows:
        key = row[name] or "open"
        found[key] = found.get(key, 0) + row["count"]
    return dict(sorted(found.items()))


def _repeats(rows: Sequence[Row]) -> tuple[int, int]:
    """Calls that were made although a warning was due, and all whose sequel is known."""
    settled = [row for row in rows if row["sequel"] is not None]
    return sum(row["count"] for row in settled if row["sequel"] != "heeded"), sum(row["count"] for row in settled)


def mean_interval(values: Sequence[int]) -> dict[str, Json] | None:
    """The mean with its 95 % interval (Student's t); null for fewer than LEAST_SESSIONS values."""
    if len(values) < LEAST_SESSIONS:
        return None
    mean, error = _mean_and_error(values)
    reach = _t(len(values) - 1) * error
    return _told(mean, (max(mean - reach, 0.0), mean + reach), len(values))


def _difference(held: Sequence[int], warned: Sequence[int]) -> dict[str, Json] | None:
    """How many fewer recurrences a warned session has, with Welch's 95 % interval."""
    if min(len(held), len(warned)) < LEAST_SESSIONS:
        return None
    (first, one), (second, two) = _mean_and_error(held), _mean_and_error(warned)
    error = math.hypot(one, two)
    freedom = (
        error**4 / (one**4 / (len(held) - 1) + two**4 / (len(warned) - 1)) if error else len(held) + len(warned) - 2
    )
    reach = _t(freedom) * error
    return _told(first - second, (first - second - reach, first - second + reach), len(held) + len(warned))


def share_difference(one: tuple[float, int], other: tuple[float, int]) -> dict[str, Json] | None:
    """How much larger one share, as (part, whole), is than the other, with Newcombe's interval (1998, method 10).

    Null below LEAST_WARNINGS cases of either.
    """
    if min(one[1], other[1]) < LEAST_WARNINGS:
        return None
    first, second = one[0] / one[1], other[0] / other[1]
    (low_1, high_1), (low_2, high_2) = wilson(*one), wilson(*other)
    low = first - second - math.hypot(first - low_1, high_2 - second)
    high = first - second + math.hypot(high_1 - first, second - low_2)
    return _told(first - second, (low, high), one[1] + other[1])


def wilson(part: float, whole: int) -> tuple[float, float]:
    """Wilson's 95 % score interval (1927) of a share, within 0..1."""
    share, z = part / whole, Z * Z
    centre = (share + z / (2 * whole)) / (1 + z / whole)
    reach = Z / (1 + z / whole) * math.sqrt(share * (1 - share) / whole + z / (4 * whole * whole))
    return max(centre - reach, 0.0), min(centre + reach, 1.0)


def _mean_and_error(values: Sequence[int]) -> tuple[float, float]:
    mean = sum(values) / len(values)
    spread = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return mean, math.sqrt(spread / len(values))


def _t(freedom: float) -> float:
    """The 97.5 % quantile of Student's t (Abramowitz and Stegun 26.7.5), right to 0.01 from 9 degrees of freedom."""
    return (
        Z
        + (Z**3 + Z) / (4 * freedom)
        + (5 * Z**5 + 16 * Z**3 + 3 * Z) / (96 * freedom**2)
        + (3 * Z**7 + 19 * Z**5 + 17 * Z**3 - 15 * Z) / (384 * freedom**3)
    )


def _told(value: float, interval: tuple[float, float], cases: int) -> dict[str, Json]:
    return {"value": round(value, 3), "interval": [round(interval[0], 3), round(interval[1], 3)], "cases": cases}
