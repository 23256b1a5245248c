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
from mcp_reflect.storage.repository import (
    Reading,
    Repository,
    Row,
    Writing,
    lessons_from,
    readable,
    record_from,
    scoped,
    transaction,
)

MOST_WRONG: Final = 3  # wrong warnings after which a failure gives no more warnings
MOST_HEADS: Final = 50  # the last successful calls of a session that are remembered
_MOST_OUTPUTS: Final = 50  # of a session that are kept
_MOST_COMPARED: Final = 500  # outputs with which typed evidence is compared
_SESSION_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "held_out": bool,
    "worked": lambda text: tuple(json.loads(text).items()),
    "shown": lambda text: tuple(json.loads(text)),
}
_FAILURE_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "arguments": lambda text: json.loads(text)[0],
    "worked": lambda text: json.loads(text)[0] if text else None,
    "category": ErrorCategory,
}


class WarningRepository(Repository):
    """Failing calls, sessions, and warnings."""

    async def session(self, scope: Scope, session: str, *, held_out: bool) -> SessionState:
        """Return the state of a session; a new one with `held_out` if it is not known."""
        state = await self.db.look(scope.tenant, lambda reading: session_state(reading, scope, session))
        return state or SessionState(id=session, held_out=held_out)

    async def worked_since(self, scope: Scope, since: float) -> frozenset[str]:
        """Return the heads of the calls that worked in sessions that hooks watched since then."""
        rows = await self.db.rows("sessions_since", scoped(scope, since=since))
        return frozenset(head for row in rows for head in json.loads(row["worked"]))

    async def outputs_since(self, scope: Scope, since: float, *, worked: bool) -> list[bytes]:
        """Return digests of the latest outputs of calls that worked, or failed, in sessions watched since then."""
        values = scoped(scope, since=since, worked=worked, limit=_MOST_COMPARED)
        return [row["digest"] for row in await self.db.rows("outputs_since", values)]

    async def known_failures(
        self, scope: Scope, session: str, *, bare: str, loose: str, head: str
    ) -> tuple[list[KnownFailure], list[KnownFailure]]:
        """Return the failures of a call but for dates and ids, and this session's of the same head, latest first."""
        calls = await self._failures("failure_calls", scope, bare=bare, loose=loose)
        return calls, await self._failures("failure_heads", scope, session=session, head=head)

    async def same_error(self, scope: Scope, tool: str, fingerprint: str) -> list[KnownFailure]:
        """Return a tool's failures with the same error that have a correction, the latest first."""
        return await self._failures("failure_by_error", scope, tool=tool, fingerprint=fingerprint)

    async def _failures(self, query: str, scope: Scope, **values: Any) -> list[KnownFailure]:
        rows = await self.db.rows(query, scoped(scope, **values))
        return readable(rows, lambda row: record_from(row, KnownFailure, _FAILURE_READERS))

    async def lessons_of(self, scope: Scope, known: KnownFailure) -> list[Lesson]:
        """Return the active lessons of the reflection that noted a failure last."""
        return lessons_from(await self.db.rows("failure_lesson", scoped(scope, reflection_id=known.reflection_id)))

    @transaction
    def add(
        self,
        tx: Writing,
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
        warning_id = self.clock.new_id("warn")
        values = scoped(scope, id=warning_id, session=state.id, lesson_id=lesson, exact=exact, call_id=call_id)
        values |= {"failure": due.known.row, "match": due.match, "certainty": due.certainty, "now": self.clock.now()}
        values |= {"shown": not state.held_out, "characters": 0 if state.held_out else size}
        self._begin(tx, scope, state)
        tx.run("warning_add", values)
        return warning_id

    async def was_warned(self, scope: Scope, session: str, exact: str) -> bool:
        """Return whether a session was warned of a call."""
        return await self.db.row("session_warned", scoped(scope, session=session, exact=exact)) is not None

    @transaction
    def note_shown(self, tx: Writing, scope: Scope, state: SessionState, lesson_ids: Sequence[str]) -> None:
        """Note the lessons that a session was shown, so that each is shown once."""
        shown = list(dict.fromkeys((*state.shown, *lesson_ids)))
        self._begin(tx, scope, state)
        tx.run("session_shown", scoped(scope, id=state.id, shown=shown, now=self.clock.now()))

    @transaction
    def note_call(
        self,
        tx: Writing,
        scope: Scope,
        state: SessionState,
        call: WorkedCall,
        *,
        head: str,
        failure: Failure | None,
        judged: bool,
        recurrence: bool,
        changed: bool,
        output: bytes,
    ) -> bool:
        """Note a call's result, the digest of its output, and what came of warnings.

        `judged`: the failure's error is kept already. Returns True if the session was shown a warning of this call.
        """
        now = self.clock.now()
        self._begin(tx, scope, state)
        current = session_state(tx, scope, state.id) or state
        step = current.step + 1
        warned = _settle(tx, scope, current.id, call.exact, worked=failure is None, now=now)
        worked = dict(current.worked)
        if failure is not None:
            note_failure(tx, scope, failure, now, session=state.id, step=step, judged=judged)
        else:
            note_worked(tx, scope, (call,), now)
            worked[head] = step
        last = dict(sorted(worked.items(), key=lambda item: item[1])[-MOST_HEADS:])
        values = scoped(scope, id=state.id, failed=failure is not None, recurrence=recurrence, changed=changed)
        tx.run("session_called", {**values, "worked": last, "now": now})
        own = scoped(scope, session=state.id, step=step)
        tx.run("output_add", {**own, "worked": failure is None, "digest": output})
        tx.run("output_trim", {**own, "last": step - _MOST_OUTPUTS})
        return warned

    @transaction
    def note_correction(self, tx: Writing, scope: Scope, known: KnownFailure, worked: Json) -> None:
        """Keep the arguments that worked instead of a failing call's."""
        tx.run("failure_corrected", {"row": known.row, "worked": [worked], "tenant": scope.tenant})

    @transaction
    def end_session(self, tx: Writing, scope: Scope, session: str) -> None:
        """Settle the open warnings of a session that has ended: they count as heeded."""
        for row in tx.rows("warning_open", scoped(scope, session=session, exact="")):
            _close(tx, row, Sequel.HEEDED, self.clock.now())

    async def effect(self, scope: Scope) -> dict[str, Json]:
        """Return recurrences per session and repeats after a warning, with intervals, and the size of the warnings.

        Warned sessions are compared with held-out ones. A value is None with fewer than LEAST_SESSIONS sessions in a
        group or LEAST_WARNINGS warnings, because a few cases prove nothing.
        """
        sessions = await self.db.rows("session_counts", scoped(scope))
        warnings = await self.db.rows("warning_counts", scoped(scope))
        warned, held = ([row["recurrences"] for row in sessions if row["held_out"] == group] for group in (0, 1))
        shown = [row for row in warnings if row["shown"]]
        withheld = [row for row in warnings if not row["shown"]]
        given = sum(row["count"] for row in shown)
        characters = sum(row["characters"] for row in shown)
        return {
            "warned": _group(warned, shown),
            "held_out": _group(held, withheld),
            "recurrences_prevented_per_session": mean_interval(held, warned),
            "repeats_prevented_per_warning": share_interval(_repeats(withheld), _repeats(shown)),
            "warnings_given": given,
            "warnings_by_match": counts(shown, "match", "open"),
            "characters": characters,
            "characters_per_warning": round(characters / given, 1) if given else None,
            "least_sessions": LEAST_SESSIONS,
            "least_warnings": LEAST_WARNINGS,
        }

    def _begin(self, tx: Writing, scope: Scope, state: SessionState) -> None:
        now = self.clock.now()
        if tx.run("session_begin", scoped(scope, id=state.id, held_out=state.held_out, now=now)):
            tx.drop_old("session", now, self.bank.keep_days)
            tx.drop_old("warning", now, self.bank.keep_days)


def session_state(reading: Reading, scope: Scope, session: str) -> SessionState | None:
    """Return the state of a watched session, None if there is none."""
    row = reading.row("session_by_id", scoped(scope, id=session))
    return None if row is None else record_from(row, SessionState, _SESSION_READERS)


def _settle(tx: Writing, scope: Scope, session: str, exact: str, *, worked: bool, now: float) -> bool:
    """Settle open warnings: the same call shows whether its warning was right, another call that it was heeded.

    Parallel calls end in any order, so the same call also settles a warning that seemed heeded. Returns whether a
    warning of this call had been shown.
    """
    settled = shown = False
    for row in tx.rows("warning_open", scoped(scope, session=session, exact=exact)):
        same = row["exact"] == exact
        if same and settled:
            continue
        sequel = Sequel.HEEDED if not same else Sequel.WORKED if worked else Sequel.FAILED
        settled, shown = settled or same, shown or (same and bool(row["shown"]))
        _close(tx, row, sequel, now)
        if sequel is Sequel.WORKED:
            values = {"row": row["failure"], "most": MOST_WRONG, "now": now, "tenant": scope.tenant}
            tx.run("failure_was_wrong", values)
        if worked and row["shown"] and row["lesson_id"]:  # the lesson was followed, for better or worse
            success = float(sequel is Sequel.HEEDED)
            add_measured_outcome(tx, scope, row["lesson_id"], row["id"], success=success, now=now)
    return shown


def _close(tx: Writing, row: Row, sequel: Sequel, now: float) -> None:
    tx.run("warning_settle", {"id": row["id"], "sequel": sequel, "now": now, "tenant": row["tenant"]})


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
    judged: bool = False,
) -> None:
    """Note a failing call; with `again` false it was counted before, with `judged` its error is kept already."""
    # An error that gives orders to its reader is not kept, because a warning would repeat it.
    held = None if judged else suspicion((failure.error, json.dumps(failure.worked, ensure_ascii=False)))
    worked = None if failure.worked is None or held else [failure.worked]
    error = failure.error if held is None else f"(held back: {held})"
    values = {**asdict(failure), "arguments": [failure.arguments], "worked": worked, "error": error}
    values |= scoped(scope, reflection_id=reflection_id, session=session, step=step, again=again, now=now)
    tx.run("failure_add", values)


def note_worked(tx: Writing, scope: Scope, calls: Iterable[WorkedCall], now: float) -> None:
    """Clear calls that worked: they are not known as failing until they fail again."""
    tx.run_many("failure_worked", [scoped(scope, **asdict(call), now=now) for call in calls])


# Whether warnings prevent failures. Intervals are of 95 %.
LEAST_SESSIONS: Final = 30  # of a group: the normal distribution serves from there on
LEAST_WARNINGS: Final = 20  # of a group, with a known sequel
Z: Final = 1.959964  # 97.5 % quantile of the normal distribution


def _group(recurrences: Sequence[int], warnings: Sequence[Row]) -> dict[str, Json]:
    return {
        "sessions": len(recurrences),
        "recurrences": sum(recurrences),
        "recurrences_per_session": mean_interval(recurrences),
        "warnings_due": sum(row["count"] for row in warnings),
        "sequels": counts(warnings, "sequel", "open"),
        "repeated_after": share_interval(_repeats(warnings)),
    }


def counts(rows: Iterable[Row], name: str, without: str) -> dict[str, Json]:
    """Return the sums of `count` by the value of a column, `without` for rows that have none."""
    sums: Counter[str] = Counter()
    for row in rows:
        sums[row[name] or without] += row["count"]
    return dict(sorted(sums.items()))


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
    from statistics import fmean, variance  # noqa: PLC0415 - the hooks load this module, and compute no means

    means = [fmean(group) for group in groups]
    return _estimate(means, means, [variance(group) / len(group) for group in groups], sum(map(len, groups)))


def share_interval(*shares: tuple[float, int]) -> dict[str, Json] | None:
    """Return a share, (part, whole), with its interval, or by how much the first is above the second.

    Agresti and Coull (1998) and Agresti and Caffo (2000) add four cases in all, half of them good. None with fewer than
    LEAST_WARNINGS cases of either.
    """
    if min(whole for _, whole in shares) < LEAST_WARNINGS:
        return None
    more = 2 / len(shares)
    centers = [(part + more) / (whole + 2 * more) for part, whole in shares]
    spreads = [c * (1 - c) / (whole + 2 * more) for c, (_, whole) in zip(centers, shares, strict=True)]
    return _estimate([part / whole for part, whole in shares], centers, spreads, sum(whole for _, whole in shares))


def _estimate(values: list[float], centers: list[float], spreads: list[float], cases: int) -> dict[str, Json]:
    """Return the value, or the difference of two, with the interval around the center."""
    value, center, reach = values[0] - sum(values[1:]), centers[0] - sum(centers[1:]), Z * math.sqrt(sum(spreads))
    low = center - reach if len(values) > 1 else max(center - reach, 0.0)
    return {"value": round(value, 3), "interval": [round(low, 3), round(center + reach, 3)], "cases": cases}
