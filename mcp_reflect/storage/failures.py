"""The rows of calls that failed: each is noted with its error, and cleared once the same call works."""

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any, Final

from mcp_reflect.models.common import Json, Scope
from mcp_reflect.models.run import ErrorCategory, Failure, WorkedCall
from mcp_reflect.models.warning import KnownFailure
from mcp_reflect.security.injection import suspicion
from mcp_reflect.storage.repository import Reading, Writing
from mcp_reflect.storage.rows import Row, readable, record_from
from mcp_reflect.storage.values import scoped


def _worked_from(text: str | None) -> Json:
    """Return the arguments that worked instead, None where none are known.

    They are stored in a list of one, so that any value, also a JSON null, can be told from nothing.
    """
    if not text:
        return None
    return json.loads(text)[0]


_FAILURE_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "arguments": lambda text: json.loads(text)[0],
    "worked": _worked_from,
    "category": ErrorCategory,
}


def failures_of(
    reading: Reading, query: str, scope: Scope, **values: Any
) -> tuple[KnownFailure, ...]:
    """Return the failures of a named query; a damaged one is logged and left out."""
    rows = reading.rows(query, scoped(scope, **values))
    return tuple(readable(rows, _failure_from, reading.log))


def _failure_from(row: Row) -> KnownFailure:
    """Return a row of `failures` as the record; BankError if the row is damaged."""
    return record_from(row, KnownFailure, _FAILURE_READERS)


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
    """Note a call that failed, with its error and the arguments that worked instead, if any.

    `again` is False if the same failure was counted before, `judged` True if its error was screened and is kept already.
    An error that gives orders to its reader is not kept, because a warning would repeat it.
    """
    reason_to_leave_out = None
    if not judged:
        texts_of_warning = (failure.error, json.dumps(failure.worked, ensure_ascii=False))
        reason_to_leave_out = suspicion(texts_of_warning)
    # In a list any value is written as JSON, and can be read again as the same value.
    values: dict[str, Any] = {
        **asdict(failure),
        "arguments": [failure.arguments],
        "worked": None,
    }
    if reason_to_leave_out is not None:
        values["error"] = f"(left out: {reason_to_leave_out})"
    elif failure.worked is not None:
        values["worked"] = [failure.worked]
    occurrence = scoped(
        scope, reflection_id=reflection_id, session=session, step=step, again=again, now=now
    )
    tx.run("failure_add", {**values, **occurrence})


def note_worked(tx: Writing, scope: Scope, calls: Iterable[WorkedCall], now: float) -> None:
    """Clear calls that worked: they are not known as failing until they fail again."""
    tx.run_many("failure_worked", [scoped(scope, **asdict(call), now=now) for call in calls])
