"""Known failing calls, the sessions that were warned of them, and whether warnings prevent failures."""

import json
import math
from collections.abc import Iterable, Sequence
from typing import Final

from mcp_reflect.clock import Clock
from mcp_reflect.models.common import Json, Scope
from mcp_reflect.models.lesson import Lesson
from mcp_reflect.models.run import ErrorCategory, Failure, WorkedCall
from mcp_reflect.models.warning import Due, KnownFailure, Sequel, SessionState
from mcp_reflect.security.injection import suspicion
from mcp_reflect.storage.outcomes import add_measured_outcome
from mcp_reflect.storage.retention import Retention
from mcp_reflect.storage.sqlite.database import Database
from mcp_reflect.storage.sqlite.rows import Row, lessons_from, readable, scope_values
from mcp_reflect.storage.sqlite.statements import Reader, Transaction, Writing

MOST_WRONG: Final = 3  # wrong warnings after which a failure is not warned of any more
MOST_HEADS: Final = 50  # the last successful calls of a session that are remembered


class WarningRepository:
    """Failing calls, sessions, and warnings."""

    def __init__(self, db: Database, clock: Clock, retention: Retention) -> None:
        self._db = db
        self._clock = clock
        self._retention = retention

    async def session(self, scope: Scope, session: str, *, held_out: bool) -> SessionState:
        """Return the state of a session; a new one with `held_out` if it is not known."""
        row = await session_row(self._db, scope, session)
        return SessionState(id=session, held_out=held_out) if row is None else _state(row)

    async def known_failures(
        self, scope: Scope, session: str, *, bare: str, loose: str, head: str
    ) -> tuple[list[KnownFailure], list[KnownFailure]]:
        """Return the failures of the same call, and those of this session with the same head; the latest first.

        Calls are the same if they differ only in what changes from day to day.
        """
        own = scope_values(scope)
        calls = await self._db.rows("failure_calls", {"bare": bare, "loose": loose, **own})
        heads = await self._db.rows("failure_heads", {"session": session, "head": head, **own})
        return readable(calls, known_from), readable(heads, known_from)

    async def same_error(self, scope: Scope, tool: str, fingerprint: str) -> list[KnownFailure]:
        """Return a tool's failures with the same error that have a correction, the latest first."""
        values = {"tool": tool, "fingerprint": fingerprint, **scope_values(scope)}
        return readable(await self._db.rows("failure_by_error", values), known_from)

    async def most_frequent(self, scope: Scope, limit: int) -> list[KnownFailure]:
        """Return the calls that failed most often, more than once, and have not worked since."""
        rows = await self._db.rows("failure_often", {"limit": limit, **scope_values(scope)})
        return readable(rows, known_from)

    async def lessons_of(self, scope: Scope, known: KnownFailure) -> list[Lesson]:
        """Return the active lessons of the reflection that noted a failure last."""
        if known.reflection_id is None:
            return []
        values = {"reflection_id": known.reflection_id, **scope_values(scope)}
        return lessons_from(await self._db.rows("failure_lesson", values))

    async def add(
        self,
        scope: Scope,
        state: SessionState,
        due: Due,
        *,
        exact: str,
        call_id: str | None,
        lesson: str | None,
        size: int,
    ) -> str:
        """Note a warning, given or held out; return its id. `size` is its length in characters."""
        warning_id = self._clock.new_id("warn")
        async with self._db.write() as tx:
            await self._begin(tx, scope, state)
            values = {
                "id": warning_id,
                "session": state.id,
                "failure": due.known.row,
                "lesson_id": lesson,
                "match": due.match.value,
                "certainty": due.certainty,
                "exact": exact,
                "call_id": call_id,
                "shown": int(not state.held_out),
                "characters": 0 if state.held_out else size,
                "now": self._clock.now(),
                **scope_values(scope),
            }
            await tx.run("warning_add", values)
        return warning_id

    async def note_shown(self, scope: Scope, state: SessionState, lesson_ids: Sequence[str]) -> None:
        """Note the lessons that a session was shown, so that each is shown once."""
        async with self._db.write() as tx:
            await self._begin(tx, scope, state)
            shown = list(dict.fromkeys((*state.shown, *lesson_ids)))
            values = {"id": state.id, "shown": shown, "now": self._clock.now(), **scope_values(scope)}
            await tx.run("session_shown", values)

    async def note_call(
        self,
        scope: Scope,
        state: SessionState,
        call: WorkedCall,
        *,
        head: str,
        failure: Failure | None,
        recurrence: bool,
        changed: bool,
    ) -> bool:
        """Note the result of a call: failures and successes, the sequel of warnings, the session's count.

        Returns whether the session had been shown a warning of this call.
        """
        now = self._clock.now()
        async with self._db.write() as tx:
            await self._begin(tx, scope, state)
            row = await session_row(tx, scope, state.id)
            current = state if row is None else _state(row)
            step = current.step + 1
            warned = await _settle(tx, scope, current.id, call.exact, worked=failure is None, now=now)
            if failure is not None:
                await note_failure(tx, scope, failure, now, session=state.id, step=step)
            else:
                await note_worked(tx, scope, (call,), now)
            worked = {**dict(current.worked), **({head: step} if failure is None else {})}
            values = {
                "id": state.id,
                "failed": int(failure is not None),
                "recurrence": int(recurrence),
                "changed": int(changed),
                "worked": dict(sorted(worked.items(), key=lambda item: item[1])[-MOST_HEADS:]),
                "now": now,
                **scope_values(scope),
            }
            await tx.run("session_called", values)
            return warned

    async def note_correction(self, scope: Scope, known: KnownFailure, worked: Json) -> None:
        """Keep the arguments that worked instead of a failing call's."""
        async with self._db.write() as tx:
            await tx.run("failure_corrected", {"row": known.row, "worked": [worked], "tenant": scope.tenant})

    async def end_session(self, scope: Scope, session: str) -> None:
        """Settle the open warnings of a session that has ended: as far as anybody can tell, they were heeded."""
        now = self._clock.now()
        async with self._db.write() as tx:
            for row in await tx.rows("warning_open", {"session": session, "exact": "", **scope_values(scope)}):
                await _close(tx, row, Sequel.HEEDED, now)

    async def effect(self, scope: Scope) -> dict[str, Json]:
        """Return recurrences per session and repeats after a warning, with intervals, and the size of the warnings.

        Warned sessions are compared with held-out ones. A value is None with fewer than LEAST_SESSIONS sessions in a
        group or LEAST_WARNINGS warnings, because a few cases prove nothing.
        """
        sessions = await self._db.rows("session_counts", scope_values(scope))
        warnings = await self._db.rows("warning_counts", scope_values(scope))
        counts = {held: [row["recurrences"] for row in sessions if row["held_out"] == held] for held in (0, 1)}
        shown = [row for row in warnings if row["shown"]]
        withheld = [row for row in warnings if not row["shown"]]
        given = sum(row["count"] for row in shown)
        characters = sum(row["characters"] for row in shown)
        return {
            "warned": _group(counts[0], shown),
            "held_out": _group(counts[1], withheld),
            "recurrences_prevented_per_session": _difference(counts[1], counts[0]),
            "repeats_prevented_per_warning": share_difference(_repeats(withheld), _repeats(shown)),
            "warnings_given": given,
            "warnings_by_match": _by(shown, "match"),
            "characters": characters,
            "characters_per_warning": round(characters / given, 1) if given else None,
            "least_sessions": LEAST_SESSIONS,
            "least_warnings": LEAST_WARNINGS,
        }

    async def _begin(self, tx: Transaction, scope: Scope, state: SessionState) -> None:
        now = self._clock.now()
        values = {"id": state.id, "held_out": int(state.held_out), "now": now, **scope_values(scope)}

        def begin(writing: Writing) -> None:
            if writing.run("session_begin", values):
                self._retention.drop_old(writing, now, "session", "warning")

        await tx.at_once(begin)


async def session_row(reader: Reader, scope: Scope, session: str) -> Row | None:
    """Return the row of a watched session, None if there is none."""
    rows = await reader.rows("session_by_id", {"id": session, **scope_values(scope)})
    return rows[0] if rows else None


async def _settle(tx: Transaction, scope: Scope, session: str, exact: str, *, worked: bool, now: float) -> bool:
    """Settle open warnings: the same call shows whether its warning was right, another call that it was heeded.

    Parallel calls end in any order, so the same call also settles a warning that seemed heeded. Returns whether a
    warning of this call had been shown.
    """
    settled = shown = False
    for row in await tx.rows("warning_open", {"session": session, "exact": exact, **scope_values(scope)}):
        if row["exact"] != exact:
            await _close(tx, row, Sequel.HEEDED, now)
            if worked:
                await _apply_sequel(tx, scope, row, Sequel.HEEDED, now)
        elif not settled:
            settled, shown = True, bool(row["shown"])
            sequel = Sequel.WORKED if worked else Sequel.FAILED
            await _close(tx, row, sequel, now)
            await _apply_sequel(tx, scope, row, sequel, now)
    return shown


async def _close(tx: Transaction, row: Row, sequel: Sequel, now: float) -> None:
    await tx.run("warning_settle", {"id": row["id"], "sequel": sequel.value, "now": now, "tenant": row["tenant"]})


async def _apply_sequel(tx: Transaction, scope: Scope, row: Row, sequel: Sequel, now: float) -> None:
    """Count a sequel for the failure, and for the lesson if it was shown.

    A call that failed again is no evidence about a lesson that was not followed.
    """
    if sequel is Sequel.WORKED:
        values = {"row": row["failure"], "most": MOST_WRONG, "now": now, "tenant": scope.tenant}
        await tx.run("failure_was_wrong", values)
    if row["shown"] and row["lesson_id"] and sequel is not Sequel.FAILED:
        success = float(sequel is Sequel.HEEDED)
        await add_measured_outcome(tx, scope, row["lesson_id"], row["id"], success=success, now=now)


async def note_failure(
    tx: Transaction,
    scope: Scope,
    failure: Failure,
    now: float,
    *,
    reflection_id: str | None = None,
    session: str | None = None,
    step: int = 0,
    again: bool = True,
) -> None:
    """Note a failing call; with `again` false it was counted before, and only new details are kept.

    An error that gives orders to its reader is not kept, because a warning would repeat it.
    """
    held = suspicion((failure.error, json.dumps(failure.worked, ensure_ascii=False)))
    await tx.run(
        "failure_add",
        {
            "signature": failure.signature,
            "tool": failure.tool,
            "call": failure.call,
            "head": failure.head,
            "exact": failure.exact,
            "bare": failure.bare,
            "loose": failure.loose,
            "fingerprint": failure.fingerprint,
            "arguments": [failure.arguments],
            "category": failure.category.value,
            "error": failure.error if held is None else f"(held back: {held})",
            "worked": None if failure.worked is None or held else [failure.worked],
            "reflection_id": reflection_id,
            "session": session,
            "step": step,
            "again": int(again),
            "now": now,
            **scope_values(scope),
        },
    )


async def note_worked(tx: Transaction, scope: Scope, calls: Iterable[WorkedCall], now: float) -> None:
    """Clear calls that worked: they are not known as failing until they fail again."""
    values = [{"bare": call.bare, "exact": call.exact, "now": now, **scope_values(scope)} for call in calls]
    await tx.run_many("failure_worked", values)


def known_from(row: Row) -> KnownFailure:
    """Return a row of `failures` as the record."""
    return KnownFailure(
        row=row["row"],
        signature=row["signature"],
        tool=row["tool"],
        head=row["head"],
        exact=row["exact"],
        bare=row["bare"],
        loose=row["loose"],
        arguments=json.loads(row["arguments"])[0],
        category=ErrorCategory(row["category"]),
        fingerprint=row["fingerprint"],
        error=row["error"],
        worked=json.loads(row["worked"])[0] if row["worked"] else None,
        times=row["times"],
        works=row["works"],
        wrong=row["wrong"],
        last_at=row["last_at"],
        worked_at=row["worked_at"],
        last_session=row["last_session"],
        last_step=row["last_step"],
        reflection_id=row["reflection_id"],
    )


def _state(row: Row) -> SessionState:
    return SessionState(
        id=row["id"],
        held_out=bool(row["held_out"]),
        step=row["calls"],
        changed=row["changed"],
        worked=tuple(json.loads(row["worked"]).items()),
        shown=tuple(json.loads(row["shown"])),
    )


# Whether warnings prevent failures.


LEAST_SESSIONS: Final = 10  # of a group
LEAST_WARNINGS: Final = 20  # of a group, with a known sequel
Z: Final = 1.959964  # 97.5 % quantile of the normal distribution: intervals are of 95 %


def _group(recurrences: Sequence[int], warnings: Sequence[Row]) -> dict[str, Json]:
    repeated, settled = _repeats(warnings)
    enough = settled >= LEAST_WARNINGS
    return {
        "sessions": len(recurrences),
        "recurrences": sum(recurrences),
        "recurrences_per_session": mean_interval(recurrences),
        "warnings_due": sum(row["count"] for row in warnings),
        "sequels": _by(warnings, "sequel"),
        "repeated_after": _estimate(repeated / settled, wilson(repeated, settled), settled) if enough else None,
    }


def _by(rows: Sequence[Row], name: str) -> dict[str, Json]:
    counts: dict[str, int] = {}
    for row in rows:
        key = row[name] or "open"
        counts[key] = counts.get(key, 0) + row["count"]
    return dict(sorted(counts.items()))


def _repeats(rows: Sequence[Row]) -> tuple[int, int]:
    """Return the number of calls that were made although a warning was due, and of all with a known sequel."""
    settled = [row for row in rows if row["sequel"] is not None]
    return sum(row["count"] for row in settled if row["sequel"] != "heeded"), sum(row["count"] for row in settled)


def mean_interval(values: Sequence[int]) -> dict[str, Json] | None:
    """Return the mean with its 95 % interval (Student's t); None for fewer than LEAST_SESSIONS values."""
    if len(values) < LEAST_SESSIONS:
        return None
    mean, error = _mean_and_error(values)
    reach = _t(len(values) - 1) * error
    return _estimate(mean, (max(mean - reach, 0.0), mean + reach), len(values))


def _difference(held: Sequence[int], warned: Sequence[int]) -> dict[str, Json] | None:
    """Return how many fewer recurrences a warned session has, with Welch's 95 % interval."""
    if min(len(held), len(warned)) < LEAST_SESSIONS:
        return None
    (first, one), (second, two) = _mean_and_error(held), _mean_and_error(warned)
    error = math.hypot(one, two)
    freedom = (
        error**4 / (one**4 / (len(held) - 1) + two**4 / (len(warned) - 1)) if error else len(held) + len(warned) - 2
    )
    reach = _t(freedom) * error
    return _estimate(first - second, (first - second - reach, first - second + reach), len(held) + len(warned))


def share_difference(one: tuple[float, int], other: tuple[float, int]) -> dict[str, Json] | None:
    """Return the difference of two shares, each as (part, whole), with Newcombe's interval (1998, method 10).

    None with fewer than LEAST_WARNINGS cases of either.
    """
    if min(one[1], other[1]) < LEAST_WARNINGS:
        return None
    first, second = one[0] / one[1], other[0] / other[1]
    (low_1, high_1), (low_2, high_2) = wilson(*one), wilson(*other)
    low = first - second - math.hypot(first - low_1, high_2 - second)
    high = first - second + math.hypot(high_1 - first, second - low_2)
    return _estimate(first - second, (low, high), one[1] + other[1])


def wilson(part: float, whole: int) -> tuple[float, float]:
    """Return Wilson's 95 % score interval (1927) of a share, within 0..1."""
    share, z = part / whole, Z * Z
    center = (share + z / (2 * whole)) / (1 + z / whole)
    reach = Z / (1 + z / whole) * math.sqrt(share * (1 - share) / whole + z / (4 * whole * whole))
    return max(center - reach, 0.0), min(center + reach, 1.0)


def _mean_and_error(values: Sequence[int]) -> tuple[float, float]:
    mean = sum(values) / len(values)
    spread = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return mean, math.sqrt(spread / len(values))


def _t(freedom: float) -> float:
    """Return the 97.5 % quantile of Student's t, exact to 0.01 from 9 degrees of freedom.

    Abramowitz and Stegun 26.7.5.
    """
    return (
        Z
        + (Z**3 + Z) / (4 * freedom)
        + (5 * Z**5 + 16 * Z**3 + 3 * Z) / (96 * freedom**2)
        + (3 * Z**7 + 19 * Z**5 + 17 * Z**3 - 15 * Z) / (384 * freedom**3)
    )


def _estimate(value: float, interval: tuple[float, float], cases: int) -> dict[str, Json]:
    return {"value": round(value, 3), "interval": [round(interval[0], 3), round(interval[1], 3)], "cases": cases}
