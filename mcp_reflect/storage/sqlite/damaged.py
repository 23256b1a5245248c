"""A damaged file of a bank: recognized, moved away with its log and never deleted, replaced by the newest sound copy."""

import os
import re
import sqlite3
import time
from collections.abc import Generator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from mcp_reflect.clock import Clock
from mcp_reflect.errors import BankDamagedError, BankError, NotABankError
from mcp_reflect.storage.sqlite.file_access import Identity, beside, connect, identity
from mcp_reflect.storage.sqlite.files import ENDINGS, copy_to, newer, newest, version_of

ASIDE: Final = ".damaged-"
"""Part of the name of a file that was set aside, before the time."""

COPY: Final = ".copy-"
"""Part of the name of a daily copy, before its date."""

_DATE: Final = r"\d{4}-\d{2}-\d{2}"
_INDEX: Final = "lesson_terms"
"""The table of the text index, which SQLite's own check leaves out."""


class SetAside(NamedTuple):
    """Where a damaged file is now, None if it was not moved, and the copy in its place, None if there is none."""

    file: Path | None
    copy: Path | None


def stamped(path: Path, word: str, now: float) -> Path:
    """Return a new name beside `path` with a word and the time `now` in seconds since 1970; chance makes it unique."""
    when = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    return beside(path, f"{word}{when}-{Clock().random(4).hex()}")


@contextmanager
def _one_process_at_a_time(folder: Path) -> Generator[None]:
    """Run the block in one process at a time for each `folder`, if files can be locked there.

    On a file system without locks SQLite's own fail too, and say so. Windows has no such lock, and does not let a file
    be moved that another process has open.
    """
    with ExitStack() as until_the_end:
        with suppress(ImportError, OSError):
            import fcntl  # noqa: PLC0415 - not on Windows

            opened = os.open(folder, os.O_RDONLY)
            until_the_end.callback(os.close, opened)
            fcntl.flock(opened, fcntl.LOCK_EX)
        yield


def set_aside(path: Path, damaged: Identity | None, now: float) -> SetAside:
    """Move the damaged file and its log away from `path`, and put the newest sound daily copy there.

    Nothing is moved if another file is at `path` now, since another process was first, or if the file is sound after
    all, since the error was temporary. Raises OSError.
    """
    with _one_process_at_a_time(path.parent):
        if damaged is None or identity(path) != damaged or not is_damaged(path):
            return SetAside(None, None)
        aside = stamped(path, ASIDE, now)
        copy = sound_copy(path)
        for ending in ENDINGS:
            if beside(path, ending).exists():
                beside(path, ending).rename(beside(aside, ending))
        if copy is not None:
            copy_to(copy, path)
        return SetAside(aside, copy)


def is_damaged(path: Path) -> bool:
    """Return whether SQLite finds a fault in the file, all of which it reads; False if the file cannot be read now."""
    with closing(sqlite3.connect(path, timeout=10)) as connection:
        try:
            faults = connection.execute("PRAGMA integrity_check(1)").fetchall()
            has_index = connection.execute(
                "SELECT 1 FROM sqlite_master WHERE name = ?", (_INDEX,)
            ).fetchone()
            if has_index:
                # FTS5 checks its index at this command, which writes nothing, and raises DatabaseError for a fault.
                check = f"INSERT INTO {_INDEX} ({_INDEX}) VALUES ('integrity-check')"  # noqa: S608 - a constant
                connection.execute(check)
        except sqlite3.OperationalError:
            return False  # locked, or not readable: nothing is known
        except sqlite3.DatabaseError:
            return True
    return faults != [("ok",)]


def check_copy(file: Path) -> None:
    """Raise BankError unless `file` is a sound bank that this release can read."""
    if not file.is_file():
        raise BankError(f"There is no file {file}. Name a copy that `mcp-reflect backup` made.")
    if is_damaged(file):
        raise BankDamagedError(f"{file} is damaged; nothing was restored. Name another copy.")
    with closing(connect(file, read_only=True)) as connection:
        version = version_of(connection, file)
    if not version:
        raise NotABankError(f"{file} is not a bank. Name a copy that `mcp-reflect backup` made.")
    if version > newest():
        raise BankError(f"{file} cannot be restored: {newer(version)}")


def sound_copy(path: Path) -> Path | None:
    """Return the newest daily copy of the bank at `path` that is whole and can be upgraded, None if there is none."""
    for copy in reversed(all_copies(path)):
        with suppress(BankError):
            check_copy(copy)
            return copy
    return None


def all_aside(path: Path) -> list[Path]:
    """Return the files that were set aside from `path`, oldest first, without their logs."""
    of_logs = tuple(ending for ending in ENDINGS if ending)
    named_so = (file for file in path.parent.iterdir() if file.name.startswith(path.name + ASIDE))
    return sorted(file for file in named_so if not file.name.endswith(of_logs))


def all_copies(path: Path) -> list[Path]:
    """Return the daily copies of the bank at `path`, oldest first."""
    name_of_copy = re.compile(re.escape(path.name + COPY) + _DATE)
    named_so = (file for file in path.parent.iterdir() if name_of_copy.fullmatch(file.name))
    return sorted(file for file in named_so if file.is_file())
