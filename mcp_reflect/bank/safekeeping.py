"""The bank's file as a whole: copied, put back, looked over and mended."""

import asyncio
from pathlib import Path

from mcp_reflect.bank import rescuing
from mcp_reflect.bank.rescuing import Rescued
from mcp_reflect.bank.sqlite import copies
from mcp_reflect.bank.sqlite.copies import Health
from mcp_reflect.bank.sqlite.database import Database
from mcp_reflect.clock import Clock


class Safekeeping:
    """Copies and mends the bank's file while servers use it."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def backup(self, file: Path) -> int:
        """Copy the bank as it is now to `file`, while servers write; the copy's bytes. BankError where it cannot be."""
        await self._db.opened()
        return await asyncio.to_thread(copies.backup, self._db.path, file)

    async def restore(self, file: Path) -> Path | None:
        """Put what the copy `file` holds in the place of all that is in the bank, for running servers too.

        Returns where a copy of what was there is kept, none where nothing was. BankError where `file` is no
        sound bank, or of a newer release.
        """
        return await asyncio.to_thread(copies.restore, self._db.path, file, self._clock.now(), self._db.busy_seconds)

    async def health(self) -> Health:
        """Whether every page of the file is sound, and what was set aside. Reads all of the file."""
        return await asyncio.to_thread(copies.health, self._db.path)

    async def rescue(self, file: Path | None = None) -> list[Rescued]:
        """Bring over what can be read of a damaged file; by default of all that were set aside."""
        return await rescuing.rescue(self._db, file)
