"""What a person looks at: records by a filter, and all that became of one of them."""

from dataclasses import asdict
from typing import Any, Final

from mcp_reflect.bank import lessons
from mcp_reflect.bank.sqlite.database import Database
from mcp_reflect.bank.sqlite.rows import lesson_from, scope_values
from mcp_reflect.models.common import Scope
from mcp_reflect.models.consolidation import Filter
from mcp_reflect.models.lesson import Lesson

_MOST_RECALLS: Final = 100


async def browse(db: Database, scope: Scope, wanted: Filter) -> list[Lesson]:
    """The records of a scope that pass a filter, newest first."""
    held = None if wanted.held is None else int(wanted.held)
    rows = await db.rows("lesson_browse", {**asdict(wanted), "held": held, **scope_values(scope)})
    return [lesson_from(row) for row in rows]


async def story(db: Database, scope: Scope, record_id: str) -> dict[str, list[dict[str, Any]]]:
    """What became of using a record, oldest first, and the latest 100 recalls that showed it, newest first.

    NotFoundError where the scope has no such record.
    """
    await lessons.lesson(db, scope, record_id, "id")
    values = {"lesson_id": record_id, "limit": _MOST_RECALLS, **scope_values(scope)}
    return {
        "outcomes": [dict(row) for row in await db.rows("outcome_list", {"lesson_id": record_id})],
        "recalls": [dict(row) for row in await db.rows("recalls_of_lesson", values)],
    }
