"""A damaged file is moved out of the way, with its log, and never deleted; the next use begins a new bank."""

import sqlite3
from contextlib import closing
from pathlib import Path

from mcp_reflect.bank.sqlite.identity import Identity, alone, beside, emptied, hollow, identity
from mcp_reflect.errors import BankDamagedError

ASIDE = ".damaged-"
"""What stands in the name of a file that was set aside, before the time."""

ENDINGS = ("-wal", "-shm", "-journal", "")
"""What belongs to a database; the file itself goes last, so that nobody begins a new one beside its log."""


def set_aside(path: Path, damaged: Identity | None, stamp: str) -> Path | None:
    """Move the file `damaged` and its log away from `path`; where it is now, none where it need not move.

    Another process may have been first, or the damage may have been a moment's.
    Raises OSError where it cannot be moved.
    """
    with alone(path.parent):
        if damaged is None or identity(path) != damaged or not (hollow(path) or is_damaged(path)):
            return None
        aside = free_name(path, f"{ASIDE}{stamp}")
        for ending in ENDINGS:
            if beside(path, ending).exists():
                beside(path, ending).rename(beside(aside, ending))
        return aside


def free_name(path: Path, ending: str) -> Path:
    """`path` with `ending`, and a number where that is taken."""
    found = beside(path, ending)
    number = 2
    while found.exists():
        found = beside(path, f"{ending}-{number}")
        number += 1
    return found


def is_damaged(path: Path) -> bool:
    """Whether SQLite finds fault with the file. Reads all of it."""
    if emptied(path):
        return True
    with closing(sqlite3.connect(path, timeout=10)) as looking:
        try:
            found = looking.execute("PRAGMA quick_check(1)").fetchall()
            indexes = looking.execute(
                "SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE % USING fts5%'"
            ).fetchall()
            for (name,) in indexes:
                looking.execute(f'INSERT INTO "{name}" ("{name}") VALUES (\'integrity-check\')')  # noqa: S608 - its own name
        except sqlite3.OperationalError:
            return False  # locked, or cannot be read at all: nothing is known
        except sqlite3.DatabaseError:
            return True
    return found != [("ok",)]


def all_aside(path: Path) -> list[Path]:
    """The files that were set aside from `path`, oldest first."""
    found = (one for one in path.parent.iterdir() if one.name.startswith(f"{path.name}{ASIDE}"))
    return sorted(one for one in found if not one.name.endswith(("-wal", "-shm", "-journal")))


def note_rescued(aside: Path, path: Path) -> Path:
    """Name a file that was set aside from `path` as one that was looked through; where it is then."""
    if not aside.name.startswith(f"{path.name}{ASIDE}"):
        return aside
    done = free_name(aside.with_name(aside.name.replace(ASIDE, ".rescued-")), "")
    for ending in ENDINGS:
        if beside(aside, ending).exists():
            beside(aside, ending).rename(beside(done, ending))
    return done


def left_aside(aside: Path | None, error: BankDamagedError) -> BankDamagedError:
    """What to tell of it."""
    if aside is None:
        return BankDamagedError(f"{error} It may have been set aside by another server a moment ago: try once more.")
    return BankDamagedError(
        f"{error} It was set aside as {aside}, and nothing of it was deleted; nothing of this call was stored. "
        "The next call begins a new bank. `mcp-reflect doctor --rescue` brings over what can still be read."
    )
