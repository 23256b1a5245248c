"""A rescue: the rows of damaged files into the bank, and the word index made anew from the lessons."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from mcp_reflect.bank import lessons
from mcp_reflect.bank.sqlite import copies
from mcp_reflect.bank.sqlite.damage import note_rescued
from mcp_reflect.bank.sqlite.database import Database
from mcp_reflect.bank.sqlite.faults import explained
from mcp_reflect.bank.sqlite.rescue import rescue as rescue_rows
from mcp_reflect.bank.sqlite.rows import lesson_from
from mcp_reflect.errors import BankDamagedError, BankError
from mcp_reflect.models.common import Scope

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
