"""The bank's file as a whole: copied, restored, checked and recovered."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Final

from mcp_reflect.errors import BankDamagedError, BankError
from mcp_reflect.models.common import Scope
from mcp_reflect.storage import lessons
from mcp_reflect.storage.sqlite import backup
from mcp_reflect.storage.sqlite.backup import Health
from mcp_reflect.storage.sqlite.database import Repository, explained
from mcp_reflect.storage.sqlite.files import ASIDE, move
from mcp_reflect.storage.sqlite.recovery import recover, repair_texts
from mcp_reflect.storage.sqlite.statements import Row, Writing, lesson_from

_PAGE: Final = 200  # lessons indexed in a transaction


@dataclass(frozen=True, slots=True)
class Rescued:
    """The result of one damaged file: new rows by table, and where the file is now."""

    file: Path
    rows: dict[str, int]


class Maintenance(Repository):
    """Copies and repairs the bank's file while servers use it. Methods raise BankError and change nothing then."""

    async def backup(self, file: Path) -> int:
        """Copy the bank as it is now to the new `file`, while servers write; return the copy's bytes."""
        await self._db.opened()
        return await asyncio.to_thread(backup.backup, self._db.path, file)

    async def copy_daily(self, stop: Event) -> None:
        """Make the daily copy if it is due, unless `stop` is set meanwhile; a failure is logged."""
        try:
            with explained(self._db.path):
                copy = await asyncio.to_thread(backup.copy_daily, self._db.path, self._clock.now(), stop.is_set)
        except BankError as error:
            self._bank.log("bank_copy_failed", "warning", error=str(error))
        else:
            if copy is not None:
                self._bank.log("bank_copied", file=str(copy))

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

        The newest file comes first. A bank that is damaged itself is set aside before. Each file is kept; one that was
        set aside is renamed.
        """
        path = self._db.path
        try:
            await self._db.opened()
            if not (await self.health()).sound:
                await self._db.set_aside(BankDamagedError(f"The bank {path} is damaged."))
        except BankDamagedError:
            pass
        await self._db.opened()
        if file is not None and not file.is_file():
            raise BankError(f"There is no file {file}.")
        results: list[Rescued] = []
        if repaired := await asyncio.to_thread(repair_texts, path, self._db.busy_seconds):
            await self._index()
            results.append(Rescued(path, repaired))
        for damaged in [file] if file else reversed((await self.health()).aside):
            with explained(path):
                rows = await asyncio.to_thread(recover, damaged, path, self._db.busy_seconds)
            await self._index()
            done = damaged
            if damaged.name.startswith(path.name + ASIDE):
                done = move(damaged, damaged.with_name(damaged.name.replace(ASIDE, ".rescued-")))
            results.append(Rescued(done, rows))
        return results

    async def _index(self) -> None:
        """Index every lesson: writing one unchanged writes its index entry."""
        after = ""

        def index_page(tx: Writing) -> list[Row]:
            rows = tx.rows("maintenance_lessons", {"after": after, "limit": _PAGE})
            for row in rows:
                lessons.change(tx, Scope(row["tenant"], row["project"]), lesson_from(row))
            return rows

        while rows := await self._db.write(index_page):
            after = rows[-1]["id"]
