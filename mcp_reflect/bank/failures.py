"""Calls that are known to fail: noted, found again, cleared when they work."""

import json
from collections.abc import Iterable

from mcp_reflect.bank.sqlite.rows import Row, lesson_from, scope_values
from mcp_reflect.bank.sqlite.statements import Reader, Transaction
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson
from mcp_reflect.models.run import ErrorCategory, Failure, WorkedCall
from mcp_reflect.models.warning import KnownFailure
from mcp_reflect.security.injection import suspicion


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
