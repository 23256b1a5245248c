"""Known failing calls, the sessions that were warned of them, and whether warnings prevent failures."""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Any, Final

from mcp_reflect.models.common import Json, Scope
from mcp_reflect.models.lesson import Lesson
from mcp_reflect.models.run import ErrorCategory, Failure, WorkedCall
from mcp_reflect.models.warning import Due, KnownFailure, Sequel, SessionState
from mcp_reflect.security.injection import suspicion
from mcp_reflect.storage.outcomes import add_measured_outcome
from mcp_reflect.storage.sqlite.database import Repository
from mcp_reflect.storage.sqlite.statements import (
    Reading,
    Row,
    Writing,
    lessons_from,
    readable,
    record_from,
    scope_values,
)

MOST_WRONG: Final = 3  # wrong warnings after which a failure is not warned of any more
MOST_HEADS: Final = 50  # the last successful calls of a session that are remembered


class WarningRepository(Repository):
    """Failing calls, sessions, and warnings."""

    async def session(self, scope: Scope, session: str, *, held_out: bool) -> SessionState:
        """Return the state of a session; a new one with `held_out` if it is not known."""
        state = await self._db.look(lambda reading: session_state(reading, scope, session))
        return state or SessionState(id=session, held_out=held_out)

    async def known_failures(
        self, scope: Scope, session: str, *, bare: str, loose: str, head: str
    ) -> tuple[list[KnownFailure], list[KnownFailure]]:
        """Return the failures of the same call, and those of this session with the same head; the latest first.

        Calls are the same if they differ only in what changes from day to day.
        """
        calls = await self._failures("failure_calls", scope, bare=bare, loose=loose)
        return calls, await self._failures("failure_heads", scope, session=session, head=head)

    async def same_error(self, scope: Scope, tool: str, fingerprint: str) -> list[KnownFailure]:
        """Return a tool's failures with the same error that have a correction, the latest first."""
        return await self._failures("failure_by_error", scope, tool=tool, fingerprint=fingerprint)

    async def _failures(self, query: str, scope: Scope, **values: Any) -> list[KnownFailure]:
        return readable(await self._db.rows(query, {**values, **scope_values(scope)}), _known_from)

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

        def add(tx: Writing) -> None:
            self._begin(tx, scope, state)
            tx.run("warning_add", values)

        await self._db.write(add)
        return warning_id

    async def note_shown(self, scope: Scope, state: SessionState, lesson_ids: Sequence[str]) -> None:
        """Note the lessons that a session was shown, so that each is shown once."""
        shown = list(dict.fromkeys((*state.shown, *lesson_ids)))

        def note(tx: Writing) -> None:
            self._begin(tx, scope, state)
            tx.run("session_shown", {"id": state.id, "shown": shown, "now": self._clock.now(), **scope_values(scope)})

        await self._db.write(note)

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

        def note(tx: Writing) -> bool:
            self._begin(tx, scope, state)
            current = session_state(tx, scope, state.id) or state
            step = current.step + 1
            warned = _settle(tx, scope, current.id, call.exact, worked=failure is None, now=now)
            worked = dict(current.worked)
            if failure is not None:
                note_failure(tx, scope, failure, now, session=state.id, step=step)
            else:
                note_worked(tx, scope, (call,), now)
                worked[head] = step
            values = {
                "id": state.id,
                "failed": int(failure is not None),
                "recurrence": int(recurrence),
                "changed": int(changed),
                "worked": dict(sorted(worked.items(), key=lambda item: item[1])[-MOST_HEADS:]),
                "now": now,
                **scope_values(scope),
            }
            tx.run("session_called", values)
            return warned

        return await self._db.write(note)

    async def note_correction(self, scope: Scope, known: KnownFailure, worked: Json) -> None:
        """Keep the arguments that worked instead of a failing call's."""
        values = {"row": known.row, "worked": [worked], "tenant": scope.tenant}
        await self._db.write(lambda tx: tx.run("failure_corrected", values))

    async def end_session(self, scope: Scope, session: str) -> None:
        """Settle the open warnings of a session that has ended: as far as anybody can tell, they were heeded."""
        now = self._clock.now()

        def end(tx: Writing) -> None:
            for row in tx.rows("warning_open", {"session": session, "exact": "", **scope_values(scope)}):
                _close(tx, row, Sequel.HEEDED, now)

        await self._db.write(end)

    async def effect(self, scope: Scope) -> dict[str, Json]:
        """Return recurrences per session and repeats after a warning, with intervals, and the size of the warnings.

        Warned sessions are compared with held-out ones. A value is None with fewer than LEAST_SESSIONS sessions in a
        group or LEAST_WARNINGS warnings, because a few cases prove nothing.
        """
        sessions = await self._db.rows("session_counts", scope_values(scope))
        warnings = await self._db.rows("warning_counts", scope_values(scope))
        warned, held = ([row["recurrences"] for row in sessions if row["held_out"] == group] for group in (0, 1))
        shown = [row for row in warnings if row["shown"]]
        withheld = [row for row in warnings if not row["shown"]]
        given = sum(row["count"] for row in shown)
        characters = sum(row["characters"] for row in shown)
        return {
            "warned": _group(warned, shown),
            "held_out": _group(held, withheld),
            "recurrences_prevented_per_session": mean_interval(held, warned),
            "repeats_prevented_per_warning": share_difference(_repeats(withheld), _repeats(shown)),
            "warnings_given": given,
            "warnings_by_match": _by(shown, "match"),
            "characters": characters,
            "characters_per_warning": round(characters / given, 1) if given else None,
            "least_sessions": LEAST_SESSIONS,
            "least_warnings": LEAST_WARNINGS,
        }

    def _begin(self, tx: Writing, scope: Scope, state: SessionState) -> None:
        now = self._clock.now()
        if tx.run(
            "session_begin", {"id": state.id, "held_out": int(state.held_out), "now": now, **scope_values(scope)}
        ):
            tx.drop_old("session", now, self._bank.keep_days)
            tx.drop_old("warning", now, self._bank.keep_days)


def session_state(reading: Reading, scope: Scope, session: str) -> SessionState | None:
    """Return the state of a watched session, None if there is none."""
    row = reading.row("session_by_id", {"id": session, **scope_values(scope)})
    if row is None:
        return None
    readers: dict[str, Callable[[Any], Any]] = {
        "held_out": bool,
        "worked": lambda text: tuple(json.loads(text).items()),
        "shown": lambda text: tuple(json.loads(text)),
    }
    return record_from(row, SessionState, readers)


def _settle(tx: Writing, scope: Scope, session: str, exact: str, *, worked: bool, now: float) -> bool:
    """Settle open warnings: the same call shows whether its warning was right, another call that it was heeded.

    Parallel calls end in any order, so the same call also settles a warning that seemed heeded. Returns whether a
    warning of this call had been shown.
    """
    settled = shown = False
    for row in tx.rows("warning_open", {"session": session, "exact": exact, **scope_values(scope)}):
        if row["exact"] != exact:
            _close(tx, row, Sequel.HEEDED, now)
            if worked:
                _apply_sequel(tx, scope, row, Sequel.HEEDED, now)
        elif not settled:
            settled, shown = True, bool(row["shown"])
            sequel = Sequel.WORKED if worked else Sequel.FAILED
            _close(tx, row, sequel, now)
            _apply_sequel(tx, scope, row, sequel, now)
    return shown


def _close(tx: Writing, row: Row, sequel: Sequel, now: float) -> None:
    tx.run("warning_settle", {"id": row["id"], "sequel": sequel.value, "now": now, "tenant": row["tenant"]})


def _apply_sequel(tx: Writing, scope: Scope, row: Row, sequel: Sequel, now: float) -> None:
    """Count a sequel for the failure, and for the lesson if it was shown.

    A call that failed again is no evidence about a lesson that was not followed.
    """
    if sequel is Sequel.WORKED:
        values = {"row": row["failure"], "most": MOST_WRONG, "now": now, "tenant": scope.tenant}
        tx.run("failure_was_wrong", values)
    if row["shown"] and row["lesson_id"] and sequel is not Sequel.FAILED:
        success = float(sequel is Sequel.HEEDED)
        add_measured_outcome(tx, scope, row["lesson_id"], row["id"], success=success, now=now)


def note_failure(
    tx: Writing,
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
    values = {
        **asdict(failure),
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
    }
    tx.run("failure_add", values)


def note_worked(tx: Writing, scope: Scope, calls: Iterable[WorkedCall], now: float) -> None:
    """Clear calls that worked: they are not known as failing until they fail again."""
    tx.run_many("failure_worked", [{**asdict(call), "now": now, **scope_values(scope)} for call in calls])


def _known_from(row: Row) -> KnownFailure:
    readers: dict[str, Callable[[Any], Any]] = {
        "arguments": lambda text: json.loads(text)[0],
        "worked": lambda text: json.loads(text)[0] if text else None,
        "category": ErrorCategory,
    }
    return record_from(row, KnownFailure, readers)


# Whether warnings prevent failures. Intervals are of 95 %.

LEAST_SESSIONS: Final = 30  # of a group: the normal distribution serves from there on
LEAST_WARNINGS: Final = 20  # of a group, with a known sequel
Z: Final = 1.959964  # 97.5 % quantile of the normal distribution


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
    counts: Counter[str] = Counter()
    for row in rows:
        counts[row[name] or "open"] += row["count"]
    return dict(sorted(counts.items()))


def _repeats(rows: Sequence[Row]) -> tuple[int, int]:
    """Return the number of calls that were made although a warning was due, and of all with a known sequel."""
    settled = [row for row in rows if row["sequel"] is not None]
    return sum(row["count"] for row in settled if row["sequel"] != "heeded"), sum(row["count"] for row in settled)


def mean_interval(values: Sequence[int], others: Sequence[int] | None = None) -> dict[str, Json] | None:
    """Return the mean of counts with its interval, or by how much it is above the mean of `others`.

    None for fewer than LEAST_SESSIONS values.
    """
    groups = [values] if others is None else [values, others]
    if min(map(len, groups)) < LEAST_SESSIONS:
        return None
    means = [sum(group) / len(group) for group in groups]
    squares = [sum((value - mean) ** 2 for value in group) for group, mean in zip(groups, means, strict=True)]
    reach = Z * math.sqrt(
        sum(sum_ / (len(group) - 1) / len(group) for group, sum_ in zip(groups, squares, strict=True))
    )
    value = means[0] - sum(means[1:])
    low = value - reach if others else max(value - reach, 0.0)
    return _estimate(value, (low, value + reach), sum(map(len, groups)))


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


def _estimate(value: float, interval: tuple[float, float], cases: int) -> dict[str, Json]:
    return {"value": round(value, 3), "interval": [round(interval[0], 3), round(interval[1], 3)], "cases": cases}
