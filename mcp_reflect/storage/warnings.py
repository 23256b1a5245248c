"""Failing calls that are known, sessions that were warned, and whether warnings prevent failures."""

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
from mcp_reflect.storage import outcomes
from mcp_reflect.storage.lessons import Keeping
from mcp_reflect.storage.sqlite.database import Database
from mcp_reflect.storage.sqlite.rows import Row, lesson_from, scope_values
from mcp_reflect.storage.sqlite.statements import Reader, Transaction, Writing

# Calls that are known to fail: noted, found again, cleared when they work.


async def session_row(reader: Reader, scope: Scope, session: str) -> Row | None:
    """The row of a session that is watched, or none."""
    rows = await reader.rows("session_by_id", {"id": session, **scope_values(scope)})
    return rows[0] if rows else None


async def note(
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
    """Note a failing call; `again` false where it was counted before, and only what is new of it is kept.

    An error that orders its reader about is not kept, for a warning would repeat it.
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
    """Clear calls that worked: they are not known to fail until they fail again."""
    values = [{"bare": call.bare, "exact": call.exact, "now": now, **scope_values(scope)} for call in calls]
    await tx.run_many("failure_worked", values)


async def of_call(reader: Reader, scope: Scope, bare: str, loose: str) -> list[KnownFailure]:
    """Failures of the same call, or of one that differs in what changes from day to day; the latest first."""
    return [
        known_from(row)
        for row in await reader.rows("failure_calls", {"bare": bare, "loose": loose, **scope_values(scope)})
    ]


async def of_head(reader: Reader, scope: Scope, session: str, head: str) -> list[KnownFailure]:
    """What failed in a session of what a call is a call of, the latest first."""
    return [
        known_from(row)
        for row in await reader.rows("failure_heads", {"session": session, "head": head, **scope_values(scope)})
    ]


async def of_error(reader: Reader, scope: Scope, tool: str, fingerprint: str) -> list[KnownFailure]:
    """Failures of a tool with the same error that have a correction, the latest first."""
    values = {"tool": tool, "fingerprint": fingerprint, **scope_values(scope)}
    return [known_from(row) for row in await reader.rows("failure_by_error", values)]


async def often(reader: Reader, scope: Scope, limit: int) -> list[KnownFailure]:
    """The calls that failed most often, more than once, and have not worked since."""
    rows = await reader.rows("failure_often", {"limit": limit, **scope_values(scope)})
    return [known_from(row) for row in rows]


async def lessons_of(reader: Reader, scope: Scope, known: KnownFailure) -> list[Lesson]:
    """The active lessons of the reflection that a failure was last noted by."""
    if known.reflection_id is None:
        return []
    values = {"reflection_id": known.reflection_id, **scope_values(scope)}
    return [lesson_from(row) for row in await reader.rows("failure_lesson", values)]


def known_from(row: Row) -> KnownFailure:
    """A row of `failures` as the record."""
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


# Sessions that are watched: what they were warned of, what they then did, and what that proves.


MOST_WRONG: Final = 3  # warnings that were wrong, after which their failure is not warned of any more
MOST_HEADS: Final = 50  # of a session, the last ones whose success is remembered


class Watch:
    """Keeps failing calls, sessions and warnings in the bank."""

    def __init__(self, db: Database, clock: Clock, keeping: Keeping) -> None:
        self._db = db
        self._clock = clock
        self._keeping = keeping

    async def session(self, scope: Scope, session: str, *, held_out: bool) -> SessionState:
        """What is remembered of a session; a new one, whose hold-out is as given, where it is not known."""
        row = await session_row(self._db, scope, session)
        return SessionState(id=session, held_out=held_out) if row is None else _state(row)

    async def known(
        self, scope: Scope, session: str, *, bare: str, loose: str, head: str
    ) -> tuple[list[KnownFailure], list[KnownFailure]]:
        """Failures of the same call; and those of the session of what the call is a call of."""
        calls = await of_call(self._db, scope, bare, loose)
        return calls, await of_head(self._db, scope, session, head)

    async def same_error(self, scope: Scope, tool: str, fingerprint: str) -> list[KnownFailure]:
        """Failures of a tool with the same error that have a correction, the latest first."""
        return await of_error(self._db, scope, tool, fingerprint)

    async def often(self, scope: Scope, limit: int) -> list[KnownFailure]:
        """The calls that failed most often, more than once, and have not worked since."""
        return await often(self._db, scope, limit)

    async def lessons_of(self, scope: Scope, known: KnownFailure) -> list[Lesson]:
        """The lessons that the reflection on a failure brought."""
        return await lessons_of(self._db, scope, known)

    async def warn(
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
        """Note a warning, given or held out; returns its id. `size` is what it cost, in characters."""
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

    async def show(self, scope: Scope, state: SessionState, lesson_ids: Sequence[str]) -> None:
        """Remember what a session has been shown, so that it is shown once."""
        async with self._db.write() as tx:
            await self._begin(tx, scope, state)
            shown = list(dict.fromkeys((*state.shown, *lesson_ids)))
            values = {"id": state.id, "shown": shown, "now": self._clock.now(), **scope_values(scope)}
            await tx.run("session_shown", values)

    async def called(
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
        """Note what came of a call: failures and successes, the sequel of warnings, the session's count.

        Returns whether the session had been shown a warning of this call.
        """
        now = self._clock.now()
        async with self._db.write() as tx:
            await self._begin(tx, scope, state)
            row = await session_row(tx, scope, state.id)
            current = state if row is None else _state(row)
            step = current.step + 1
            told = await self._settle(tx, scope, current, call.exact, worked=failure is None, now=now)
            if failure is not None:
                await note(tx, scope, failure, now, session=state.id, step=step)
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
            return told

    async def corrected(self, scope: Scope, known: KnownFailure, worked: Json) -> None:
        """Remember the arguments that worked instead of a failing call's."""
        async with self._db.write() as tx:
            await tx.run("failure_corrected", {"row": known.row, "worked": [worked], "tenant": scope.tenant})

    async def end(self, scope: Scope, session: str) -> None:
        """Warnings after which the session did nothing any more were heeded, as far as anybody can tell."""
        async with self._db.write() as tx:
            for row in await tx.rows("warning_open", {"session": session, "exact": "", **scope_values(scope)}):
                await self._close(tx, row, Sequel.HEEDED, self._clock.now())

    async def _begin(self, tx: Transaction, scope: Scope, state: SessionState) -> None:
        now = self._clock.now()
        values = {"id": state.id, "held_out": int(state.held_out), "now": now, **scope_values(scope)}

        def begin(writing: Writing) -> None:
            if writing.run("session_begin", values):
                self._keeping.drop_old(writing, now, "session", "warning")

        await tx.at_once(begin)

    async def _settle(
        self, tx: Transaction, scope: Scope, state: SessionState, exact: str, *, worked: bool, now: float
    ) -> bool:
        """Settle what waits: the same call says whether the warning was right, another one that it was heeded.

        Calls that run side by side end in any order, so the same call also settles what seemed heeded.
        """
        values = {"session": state.id, "exact": exact, **scope_values(scope)}
        mine = told = False
        for row in await tx.rows("warning_open", values):
            if row["exact"] != exact:
                await self._close(tx, row, Sequel.HEEDED, now)
                if worked:
                    await self._tell(tx, scope, row, Sequel.HEEDED)
            elif not mine:
                mine, told = True, bool(row["shown"])
                sequel = Sequel.WORKED if worked else Sequel.FAILED
                await self._close(tx, row, sequel, now)
                await self._tell(tx, scope, row, sequel)
        return told

    async def _close(self, tx: Transaction, row: Row, sequel: Sequel, now: float) -> None:
        await tx.run("warning_settle", {"id": row["id"], "sequel": sequel.value, "now": now, "tenant": row["tenant"]})

    async def _tell(self, tx: Transaction, scope: Scope, row: Row, sequel: Sequel) -> None:
        """What a sequel proves: of the failure in any case, of a lesson only where it was shown.

        A call that failed again says nothing of a lesson that was not followed.
        """
        if sequel is Sequel.WORKED:
            values = {"row": row["failure"], "most": MOST_WRONG, "now": self._clock.now(), "tenant": scope.tenant}
            await tx.run("failure_was_wrong", values)
        if row["shown"] and row["lesson_id"] and sequel is not Sequel.FAILED:
            good = sequel is Sequel.HEEDED
            await outcomes.proved(tx, scope, row["lesson_id"], row["id"], success=float(good), now=self._clock.now())


def _state(row: Row) -> SessionState:
    return SessionState(
        id=row["id"],
        held_out=bool(row["held_out"]),
        step=row["calls"],
        changed=row["changed"],
        worked=tuple(json.loads(row["worked"]).items()),
        shown=tuple(json.loads(row["shown"])),
    )


# Whether warnings keep failures from coming back: sessions that were warned beside sessions that were held out.
#
# Null stands where there are fewer than LEAST_SESSIONS sessions in a group or LEAST_WARNINGS warnings: a few
# cases show anything.


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
