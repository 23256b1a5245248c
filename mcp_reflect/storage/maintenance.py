"""The bank's file as a whole: backed up, restored, checked and repaired."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from mcp_reflect.clock import Clock
from mcp_reflect.errors import BankDamagedError, BankError
from mcp_reflect.models.common import Scope
from mcp_reflect.storage import lessons
from mcp_reflect.storage.sqlite import backup as copies
from mcp_reflect.storage.sqlite.backup import Health
from mcp_reflect.storage.sqlite.database import Database, explained
from mcp_reflect.storage.sqlite.files import note_rescued
from mcp_reflect.storage.sqlite.recovery import rescue as rescue_rows
from mcp_reflect.storage.sqlite.rows import lesson_from

# A rescue: the rows of damaged files into the bank, and the word index made anew from the lessons.


_PAGE = 200  # lessons a transaction


@dataclass(frozen=True, slots=True)
class Rescued:
    """What came of one damaged file: rows by table that were not in the bank yet, and where the file is now."""

    file: Path
    rows: dict[str, int]


async def rescue(db: Database, file: Path | None) -> list[Rescued]:
    """Bring over what can be read of `file`, or of all files that were set aside, the newest first.

    A bank that is damaged itself is set aside before. Each file is kept; one that was set aside is renamed.
    """
    await _sound_bank(db)
    found = await asyncio.to_thread(copies.health, db.path)
    if file is not None and not file.is_file():
        raise BankError(f"There is no file {file}.")
    done: list[Rescued] = []
    for one in [file] if file else reversed(found.aside):
        with explained(db.path):
            rows = await asyncio.to_thread(rescue_rows, one, db.path, db.busy_seconds)
        await _index(db)
        done.append(Rescued(note_rescued(one, db.path), rows))
    return done


async def _sound_bank(db: Database) -> None:
    """Have a bank that can be written, with a damaged one out of the way."""
    try:
        await db.opened()
        if not (await asyncio.to_thread(copies.health, db.path)).sound:
            raise await db.set_aside()
    except BankDamagedError:
        await db.opened()


async def _index(db: Database) -> None:
    """Make every lesson findable: writing one as it is writes its words."""
    after = ""
    while True:
        async with db.write() as tx:
            rows = await tx.rows("upkeep_lessons", {"after": after, "limit": _PAGE})
            for row in rows:
                await lessons.change(tx, Scope(row["tenant"], row["project"]), lesson_from(row))
        if len(rows) < _PAGE:
            return
        after = rows[-1]["id"]


# The bank's file as a whole: copied, put back, looked over and mended.


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
        return await rescue(self._db, file)
