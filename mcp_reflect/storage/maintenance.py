"""The bank's file as a whole: copied, restored, checked and recovered."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Final

from mcp_reflect.clock import Clock
from mcp_reflect.errors import BankDamagedError, BankError
from mcp_reflect.log import Log
from mcp_reflect.models.common import Scope
from mcp_reflect.storage import lessons
from mcp_reflect.storage.sqlite import backup
from mcp_reflect.storage.sqlite.backup import Health
from mcp_reflect.storage.sqlite.database import Database, explained
from mcp_reflect.storage.sqlite.files import note_rescued
from mcp_reflect.storage.sqlite.recovery import recover, repair_texts
from mcp_reflect.storage.sqlite.rows import lesson_from

_PAGE: Final = 200  # lessons indexed in a transaction


@dataclass(frozen=True, slots=True)
class Rescued:
    """The result of one damaged file: new rows by table, and where the file is now."""

    file: Path
    rows: dict[str, int]


class Maintenance:
    """Copies and repairs the bank's file while servers use it. Methods raise BankError and change nothing then."""

    def __init__(self, db: Database, clock: Clock, log: Log) -> None:
        self._db = db
        self._clock = clock
        self._log = log

    async def backup(self, file: Path) -> int:
        """Copy the bank as it is now to the new `file`, while servers write; return the copy's bytes."""
        await self._db.opened()
        return await asyncio.to_thread(backup.backup, self._db.path, file)

    async def copy_daily(self, stop: Event) -> None:
        """Make the daily copy if it is due, unless `stop` is set meanwhile; a failure is logged."""
        try:
            with explained(self._db.path):
                copy = await asyncio.to_thread(backup.copy_daily, self._db.path, self._clock.now(), stop)
        except BankError as error:
            self._log("bank_copy_failed", "warning", error=str(error))
        else:
            if copy is not None:
                self._log("bank_copied", file=str(copy))

    async def latest_copy(self) -> Path:
        """Return the newest sound daily copy; BankError if there is none."""
        return await asyncio.to_thread(backup.latest_copy, self._db.path)

    async def restore(self, file: Path) -> Path | None:
        """Replace all that is in the bank by the content of the copy `file`, also for running servers.

        Returns the path of a copy of the former content, None if there was none.
        """
        return await asyncio.to_thread(backup.restore, self._db.path, file, self._clock.now(), self._db.busy_seconds)

    async def health(self) -> Health:
        """Check every page of the file, and list the damaged files beside it."""
        return await asyncio.to_thread(backup.health, self._db.path)

    async def rescue(self, file: Path | None = None) -> list[Rescued]:
        """Repair texts of the bank, and recover the readable rows of `file` or of all files that were set aside.

        The newest file comes first.

        A bank that is damaged itself is set aside before. Each file is kept; one that was set aside is renamed.
        """
        await self._ensure_sound()
        health = await self.health()
        if file is not None and not file.is_file():
            raise BankError(f"There is no file {file}.")
        results: list[Rescued] = []
        if repaired := await asyncio.to_thread(repair_texts, self._db.path, self._db.busy_seconds):
            await self._index()
            results.append(Rescued(self._db.path, repaired))
        for damaged in [file] if file else reversed(health.aside):
            with explained(self._db.path):
                rows = await asyncio.to_thread(recover, damaged, self._db.path, self._db.busy_seconds)
            await self._index()
            results.append(Rescued(note_rescued(damaged, self._db.path), rows))
        return results

    async def _ensure_sound(self) -> None:
        """Have a bank that can be written, with a damaged one out of the way."""
        try:
            await self._db.opened()
            if not (await self.health()).sound:
                raise await self._db.set_aside()
        except BankDamagedError:
            await self._db.opened()

    async def _index(self) -> None:
        """Index every lesson: writing one unchanged writes its index entry."""
        after = ""
        while True:
            async with self._db.write() as tx:
                rows = await tx.rows("maintenance_lessons", {"after": after, "limit": _PAGE})
                for row in rows:
                    await lessons.change(tx, Scope(row["tenant"], row["project"]), lesson_from(row))
            if len(rows) < _PAGE:
                return
            after = rows[-1]["id"]
