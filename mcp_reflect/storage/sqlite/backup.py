"""Copies of a bank: taken daily and on request, and restored, through SQLite while servers read and write."""

import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mcp_reflect.errors import BankBusyError, BankDamagedError, BankError
from mcp_reflect.storage.sqlite import files
from mcp_reflect.storage.sqlite.database import explained
from mcp_reflect.storage.sqlite.recovery import damaged_texts

COPIES_KEPT: Final = 7
_ABANDONED_SECONDS: Final = 3600  # after which an unfinished copy is taken for that of a killed process


@dataclass(frozen=True, slots=True)
class Health:
    """The state of the bank's file; lists of files are sorted, oldest first.

    `sound` is SQLite's own check; `unreadable` names records with a text that is not UTF-8. `aside` are the damaged
    files, `copies` the daily copies beside the bank. `sqlite` is the version in use.
    """

    sound: bool
    unreadable: tuple[str, ...]
    aside: tuple[Path, ...]
    copies: tuple[Path, ...]
    sqlite: str


def health(path: Path) -> Health:
    """Check every page and every text of the bank at `path`."""
    with explained(path):
        sound = not files.is_damaged(path)
        unreadable: list[str] = []
        if sound:
            with closing(files.connect(path, read_only=True)) as connection:
                unreadable = [f"{table} {name}" for table, name in damaged_texts(connection)]
        return Health(
            sound=sound,
            unreadable=tuple(unreadable),
            aside=tuple(files.all_aside(path)),
            copies=tuple(files.all_copies(path)),
            sqlite=sqlite3.sqlite_version,
        )


def backup(path: Path, file: Path) -> int:
    """Copy the bank at `path` to `file`, whole or not at all; return its bytes. BankError if that fails."""
    with explained(file):
        try:
            files.copy_to(path, file)
        except FileExistsError:
            raise BankError(f"{file} is there already. Name a file that is not.") from None
        return file.stat().st_size


def copy_daily(path: Path, now: float, stop: Callable[[], bool]) -> Path | None:
    """Copy the bank to `bank.db.copy-DATE` (UTC) unless that is there, and keep the newest seven of these copies.

    Nothing is copied if the bank is damaged, if the disk has not twice its size free, or if `stop` returns True.

    Args:
        path: The bank.
        now: Seconds since 1970.
        stop: Called now and then.

    Returns:
        The new copy, None if none was made.
    """
    copy = files.beside(path, files.COPY + time.strftime("%Y-%m-%d", time.gmtime(now)))
    copies = files.all_copies(path)
    if copy in copies or not path.is_file() or shutil.disk_usage(path.parent).free < 2 * path.stat().st_size:
        return None
    parts = [
        file
        for file in path.parent.iterdir()
        if file.name.startswith(f"{path.name}{files.COPY}") and ".part" in file.name
    ]
    for part in parts:
        with suppress(FileNotFoundError):
            if time.time() - part.stat().st_mtime < _ABANDONED_SECONDS:
                return None  # another process is copying
            part.unlink()
    try:
        files.copy_to(path, copy, stop)
    except FileExistsError:
        return None
    except sqlite3.OperationalError:
        if stop():
            return None
        raise
    for old in [*copies, copy][:-COPIES_KEPT]:
        old.unlink(missing_ok=True)
    return copy


def latest_copy(path: Path) -> Path:
    """Return the newest sound daily copy of the bank at `path`; BankError if there is none."""
    for file in reversed(files.all_copies(path)):
        with suppress(BankError):
            _check_copy(file)
            return file
    raise BankError(f"There is no sound daily copy beside {path}. Name a copy that `mcp-reflect backup` made.")


def restore(path: Path, file: Path, now: float, busy_seconds: float) -> Path | None:
    """Put the content of `file` into the bank at `path`, in one transaction; return a copy of the former content.

    A bank that is damaged is set aside first. Raises BankError and changes nothing then.
    """
    _check_copy(file)
    end = time.monotonic() + busy_seconds

    def waiting(_status: int, remaining: int, _total: int) -> None:
        if remaining and time.monotonic() > end:
            raise BankBusyError(f"The bank {path} is in use by another process. Try again.")

    with explained(path):
        fresh = not path.exists() or not path.stat().st_size
        former = _ready(path, time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now)), busy_seconds, fresh=fresh)
        part = files.beside(path, f".restoring-{os.getpid()}-{time.time_ns()}")
        try:
            files.copy_to(file, part)
            with closing(files.connect(part)) as source, closing(files.connect(path, wait=1)) as target:
                files.upgrade(source, None)
                target.execute("PRAGMA synchronous = FULL")
                source.backup(target, progress=waiting)
        finally:
            part.unlink(missing_ok=True)
    return former


def _ready(path: Path, stamp: str, busy_seconds: float, *, fresh: bool) -> Path | None:
    """Have a bank at `path` that can be written; return where its content is kept, if it had one."""
    try:
        files.prepare(path, busy_seconds)
        damaged = files.is_damaged(path)
    except BankDamagedError:
        damaged = True
    aside = files.set_aside(path, files.identity(path), stamp) if damaged else None
    opened = files.prepare(path, busy_seconds)
    if opened.read_only:
        raise BankError(f"The bank {path} can only be read: {opened.read_only}")
    if aside is not None or fresh:
        return aside
    while True:
        kept = files.free_name(files.beside(path, f".before-restore-{stamp}"))
        with suppress(FileExistsError):  # another restore took the name meanwhile
            files.copy_to(path, kept)
            return kept


def _check_copy(file: Path) -> None:
    """Raise BankError unless `file` is a sound bank that this release can read."""
    if not file.is_file():
        raise BankError(f"There is no file {file}. Name a copy that `mcp-reflect backup` made.")
    try:
        with explained(file), closing(files.connect(file, read_only=True)) as connection:
            version = files.version_of(connection, file)
            sound = connection.execute("PRAGMA integrity_check(1)").fetchall() == [("ok",)]
    except BankDamagedError:
        version, sound = 1, False
    if version > files.newest():
        raise BankError(f"{file} cannot be restored: {files.newer(version)}")
    if not sound:
        raise BankDamagedError(
            f"{file} is damaged; nothing was restored. `mcp-reflect doctor --rescue {file}` recovers what can be read."
        )
