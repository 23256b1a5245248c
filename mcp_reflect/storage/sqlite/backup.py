"""Backups of a bank: taken and restored through SQLite while servers read and write."""

import os
import sqlite3
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mcp_reflect.errors import BankBusyError, BankDamagedError, BankError, NotABankError
from mcp_reflect.storage.sqlite.database import explained
from mcp_reflect.storage.sqlite.files import all_aside, by_hand, free_name, identity, is_damaged, mended_in, set_aside
from mcp_reflect.storage.sqlite.schema import check_ours, copy_to, newer, newest, number_of, prepare, upgrade, uri

_STAMP: Final = "%Y%m%dT%H%M%SZ"


@dataclass(frozen=True, slots=True)
class Health:
    """Whether SQLite finds no fault with the bank's file, and the damaged files beside it, oldest first.

    `sqlite` is the version in use. Where it has the race that `checkpoints` guards against, `mended_in` is the first
    version without.
    """

    sound: bool
    aside: tuple[Path, ...]
    sqlite: str
    mended_in: str | None


def health(path: Path) -> Health:
    """Look at every page of the bank at `path`."""
    with explained(path):
        aside = tuple(all_aside(path))
        return Health(sound=not is_damaged(path), aside=aside, sqlite=sqlite3.sqlite_version, mended_in=mended_in())


def backup(path: Path, file: Path) -> int:
    """Copy the bank at `path` to `file`, whole or not at all; its bytes. BankError where that cannot be."""
    taken = BankError(f"{file} is there already. Name a file that is not.")
    if file.exists():
        raise taken
    with explained(file):
        try:
            copy_to(path, file)
        except FileExistsError:  # somebody else's, made meanwhile
            raise taken from None
        return file.stat().st_size


def restore(path: Path, file: Path, now: float, busy_seconds: float) -> Path | None:
    """Put the content of `file` into the bank at `path`, in one transaction; where a copy of the former is kept.

    A bank that is damaged is set aside first. Raises BankError, and has changed nothing then.
    """
    stamp = time.strftime(_STAMP, time.gmtime(now))
    _check_copy(file)
    with explained(path):
        fresh = not path.exists() or not path.stat().st_size
        aside = _ready(path, stamp, busy_seconds)
        kept = None if fresh or aside else _kept(path, stamp)
        part = free_name(path, f".restoring-{os.getpid()}-{time.time_ns()}")
        try:
            copy_to(file, part)
            with closing(sqlite3.connect(part, isolation_level=None)) as source:
                upgrade(source, None)
                _put(source, path, busy_seconds)
        finally:
            part.unlink(missing_ok=True)
    return aside or kept


def _kept(path: Path, stamp: str) -> Path:
    """A copy of what is in the bank, under a name that nobody has."""
    while True:
        kept = free_name(path, f".before-restore-{stamp}")
        with suppress(FileExistsError):  # another restore took it meanwhile
            copy_to(path, kept)
            return kept


def _check_copy(file: Path) -> None:
    if not file.is_file():
        raise BankError(f"There is no file {file}. Name a copy that `mcp-reflect backup` made.")
    try:
        with explained(file), closing(sqlite3.connect(uri(file, read_only=True), uri=True)) as looking:
            check_ours(looking, file)
            version = number_of(looking, "user_version")
            sound = looking.execute("PRAGMA integrity_check(1)").fetchall() == [("ok",)]
    except BankDamagedError:
        sound, version = False, 1
    if version == 0:
        raise NotABankError(f"{file} is no bank. Name a copy that `mcp-reflect backup` made.")
    if version > newest():
        raise BankError(f"{file} cannot be restored: {newer(version)}")
    if not sound:
        raise BankDamagedError(
            f"{file} is damaged; nothing was restored. "
            f"`mcp-reflect doctor --rescue {file}` brings over what can be read."
        )


def _ready(path: Path, stamp: str, busy_seconds: float) -> Path | None:
    """Have a bank at `path` that can be written; where a damaged one was put, if there was one."""
    try:
        with explained(path):
            prepare(path, busy_seconds)
        damaged = is_damaged(path)
    except BankDamagedError:
        damaged = True
    aside = set_aside(path, identity(path), stamp) if damaged else None
    opened = prepare(path, busy_seconds)
    if opened.read_only:
        raise BankError(f"The bank {path} can only be read: {opened.read_only}")
    return aside


def _put(source: sqlite3.Connection, path: Path, busy_seconds: float) -> None:
    end = time.monotonic() + busy_seconds

    def waiting(_status: int, remaining: int, _total: int) -> None:
        if remaining and time.monotonic() > end:
            raise BankBusyError(f"The bank {path} is held by another process. Try again.")

    with closing(sqlite3.connect(uri(path), uri=True, timeout=1)) as target:
        by_hand(target)
        target.execute("PRAGMA synchronous = FULL")
        source.backup(target, progress=waiting)
