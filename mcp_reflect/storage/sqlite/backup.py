"""Copies of a bank: taken daily and on request, and restored, through SQLite while servers read and write."""

import os
import shutil
import sqlite3
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Final

from mcp_reflect.errors import BankBusyError, BankDamagedError, BankError, NotABankError
from mcp_reflect.storage.sqlite.database import explained
from mcp_reflect.storage.sqlite.files import (
    COPY,
    all_aside,
    all_copies,
    by_hand,
    free_name,
    identity,
    is_damaged,
    mended_in,
    set_aside,
)
from mcp_reflect.storage.sqlite.recovery import damaged_texts
from mcp_reflect.storage.sqlite.schema import (
    check_ours,
    copy_to,
    newer,
    newest,
    number_of,
    prepare,
    publish,
    upgrade,
    uri,
)

_STAMP: Final = "%Y%m%dT%H%M%SZ"
COPIES_KEPT: Final = 7
_ABANDONED_SECONDS: Final = 3600  # after which an unfinished daily copy is taken for that of a killed process


@dataclass(frozen=True, slots=True)
class Health:
    """The state of the bank's file; lists of files are sorted, oldest first.

    `sound` is SQLite's own check; `unreadable` names records with a text that is not UTF-8. `aside` are the damaged
    files, `copies` the daily copies beside the bank. `sqlite` is the version in use; if it has the race that
    `checkpoint` guards against, `mended_in` is the first version without it.
    """

    sound: bool
    unreadable: tuple[str, ...]
    aside: tuple[Path, ...]
    copies: tuple[Path, ...]
    sqlite: str
    mended_in: str | None


def health(path: Path) -> Health:
    """Check every page and every text of the bank at `path`."""
    with explained(path):
        sound = not is_damaged(path)
        unreadable: list[str] = []
        if sound:
            with closing(sqlite3.connect(uri(path, read_only=True), uri=True)) as connection:
                unreadable = [f"{table} {name}" for table, name in damaged_texts(connection)]
        return Health(
            sound=sound,
            unreadable=tuple(unreadable),
            aside=tuple(all_aside(path)),
            copies=tuple(all_copies(path)),
            sqlite=sqlite3.sqlite_version,
            mended_in=mended_in(),
        )


def backup(path: Path, file: Path) -> int:
    """Copy the bank at `path` to `file`, whole or not at all; return its bytes. BankError if that fails."""
    taken = BankError(f"{file} is there already. Name a file that is not.")
    if file.exists():
        raise taken
    with explained(file):
        try:
            copy_to(path, file)
        except FileExistsError:  # made by another process meanwhile
            raise taken from None
        return file.stat().st_size


def copy_daily(path: Path, now: float, stop: Event) -> Path | None:
    """Copy the bank to `bank.db.copy-DATE` (UTC) unless that is there, and keep the newest seven of these copies.

    A sound copy is never replaced by that of a damaged bank, because VACUUM INTO reads every row. Nothing is copied if
    the bank can only be read, if the disk has not twice its size free, or if another process is copying.

    Args:
        path: The bank.
        now: Seconds since 1970.
        stop: Ends the copying early when it is set; nothing is left then.

    Returns:
        The new copy, None if none was made.
    """
    copy = path.with_name(f"{path.name}{COPY}{time.strftime('%Y-%m-%d', time.gmtime(now))}")
    copies = all_copies(path)
    if copy in copies or not path.is_file() or shutil.disk_usage(path.parent).free < 2 * path.stat().st_size:
        return None
    part = copy.with_name(f"{copy.name}.part")
    with suppress(FileNotFoundError):
        if time.time() - part.stat().st_mtime > _ABANDONED_SECONDS:
            part.unlink()
    try:
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return None
    try:
        with closing(sqlite3.connect(uri(path, read_only=True), uri=True, isolation_level=None)) as connection:
            connection.set_progress_handler(stop.is_set, 10_000)
            connection.execute("VACUUM INTO ?", (str(part),))
        publish(part, copy)
    except (sqlite3.Error, OSError):
        if stop.is_set():
            return None
        raise
    finally:
        part.unlink(missing_ok=True)
    for old in [*copies, copy][:-COPIES_KEPT]:
        old.unlink(missing_ok=True)
    return copy


def latest_copy(path: Path) -> Path:
    """Return the newest sound daily copy of the bank at `path`; BankError if there is none."""
    for file in reversed(all_copies(path)):
        with suppress(BankError):
            _check_copy(file)
            return file
    raise BankError(f"There is no sound daily copy beside {path}. Name a copy that `mcp-reflect backup` made.")


def restore(path: Path, file: Path, now: float, busy_seconds: float) -> Path | None:
    """Put the content of `file` into the bank at `path`, in one transaction; return a copy of the former content.

    A bank that is damaged is set aside first. Raises BankError and changes nothing then.
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
    """Copy the bank to a new file."""
    while True:
        kept = free_name(path, f".before-restore-{stamp}")
        with suppress(FileExistsError):  # another restore took the name meanwhile
            copy_to(path, kept)
            return kept


def _check_copy(file: Path) -> None:
    if not file.is_file():
        raise BankError(f"There is no file {file}. Name a copy that `mcp-reflect backup` made.")
    try:
        with explained(file), closing(sqlite3.connect(uri(file, read_only=True), uri=True)) as connection:
            check_ours(connection, file)
            version = number_of(connection, "user_version")
            sound = connection.execute("PRAGMA integrity_check(1)").fetchall() == [("ok",)]
    except BankDamagedError:
        sound, version = False, 1
    if version <= 0:
        raise NotABankError(f"{file} is no bank. Name a copy that `mcp-reflect backup` made.")
    if version > newest():
        raise BankError(f"{file} cannot be restored: {newer(version)}")
    if not sound:
        raise BankDamagedError(
            f"{file} is damaged; nothing was restored. `mcp-reflect doctor --rescue {file}` recovers what can be read."
        )


def _ready(path: Path, stamp: str, busy_seconds: float) -> Path | None:
    """Have a bank at `path` that can be written; return where a damaged one was moved, if there was one."""
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
            raise BankBusyError(f"The bank {path} is in use by another process. Try again.")

    with closing(sqlite3.connect(uri(path), uri=True, timeout=1)) as target:
        by_hand(target)
        target.execute("PRAGMA synchronous = FULL")
        source.backup(target, progress=waiting)
