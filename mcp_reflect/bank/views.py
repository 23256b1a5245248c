"""What a person looks at: records that are browsed, what became of one, and the board."""

from typing import Any

from mcp_reflect.bank import board, browsing
from mcp_reflect.bank.recalls import Ledger
from mcp_reflect.bank.sqlite.database import Database
from mcp_reflect.clock import Clock
from mcp_reflect.models.common import Scope
from mcp_reflect.models.consolidation import Filter
from mcp_reflect.models.lesson import Lesson


class Views:
    """Shows what is in the bank. NotFoundError for an id that the scope does not have."""

    def __init__(self, db: Database, clock: Clock, ledger: Ledger) -> None:
        self._db = db
        self._clock = clock
        self._ledger = ledger

    async def browse(self, scope: Scope, wanted: Filter) -> list[Lesson]:
        """The records of a scope that pass a filter, newest first."""
        return await browsing.browse(self._db, scope, wanted)

    async def story(self, scope: Scope, record_id: str) -> dict[str, list[dict[str, Any]]]:
        """What became of using a record, and the recalls that showed it; NotFoundError for no such record."""
        await self._ledger.flush()
        return await browsing.story(self._db, scope, record_id)

    async def board(self, scope: Scope, *, most: int | None = None, whole: bool = True) -> dict[str, Any]:
        """What a person's board is made of, at most `most` records; see `board`."""
        return await board.board(self._db, scope, self._clock, most=most or board.MOST_LESSONS, whole=whole)

    async def row(self, scope: Scope, lesson: Lesson) -> list[Any]:
        """A lesson as a row of the board."""
        return await board.row(self._db, scope, lesson)
