"""The bank's file as a whole, while servers use it: copied daily and on request, restored, checked, recovered."""

import asyncio
import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Final, NamedTuple

from mcp_reflect.errors import BankBusyError, BankDamagedError, BankError, NotABankError
from mcp_reflect.storage.sqlite import files
from mcp_reflect.storage.sqlite.database import Repository, explained
from mcp_reflect.storage.sqlite.recovery import recover, unreadable

COPIES_KEPT: Final = 7
_ABANDONED_SECONDS: Final = 3600  # after which an unfinished copy is taken for that of a killed process


class Health(NamedTuple):
    """The state of the bank's file; lists of files are sorted, oldest first.

    `sound` is SQLite's own check; `unreadable` names records with a text that is not UTF-8. `aside` are the damaged
    files, `copies` the daily copies beside the bank. `sqlite` is the version in use.
    """

    sound: bool
    unreadable: list[str]
    aside: list[Path]
    copies: list[Path]
    sqlite: str


class Rescued(NamedTuple):
    """The result of one damaged file: new rows by table, and where the file is now."""

    file: Path
    rows: dict[str, int]


def health(path: Path) -> Health:
    """Check every page and every text of the bank at `path`."""
    with explained(path):
        sound, names = not files.is_damaged(path), list[str]()
        if sound:
            with closing(files.connect(path, read_only=True)) as connection:
                names = unreadable(connection)
        return Health(sound, names, files.all_aside(path), files.all_copies(path), sqlite3.sqlite_version)


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

    Nothing is copied if the disk has not twice its size free, or if `stop` returns True, which is called now and then.
    `now` is in seconds since 1970. Returns the new copy, None if none was made.
    """
    copy = files.beside(path, files.COPY + time.strftime("%Y-%m-%d", time.gmtime(now)))
    copies = files.all_copies(path)
    if copy in copies or not path.is_file() or shutil.disk_usage(path.parent).free < 2 * path.stat().st_size:
        return None
    for file in path.parent.iterdir():
        if file.name.startswith(path.name + files.COPY) and ".part-" in file.name:
            with suppress(FileNotFoundError):
                if time.time() - file.stat().st_mtime > _ABANDONED_SECONDS:
                    file.unlink()
    try:
        files.copy_to(path, copy, stop)
    except (FileExistsError, sqlite3.OperationalError):
        if stop() or copy.exists():  # another process has made it
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
        former = _make_room(path, now, busy_seconds)
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


def _make_room(path: Path, now: float, busy_seconds: float) -> Path | None:
    """Have a bank at `path` that can be written; return where its content is kept, if it had one."""
    fresh = not path.exists() or files.hollow(path)
    try:
        files.prepare(path, busy_seconds)
        damaged = files.is_damaged(path)
    except BankDamagedError:
        damaged = True
    aside = files.set_aside(path, files.identity(path), now) if damaged else None
    opened = files.prepare(path, busy_seconds)
    if opened.read_only:
        raise BankError(f"The bank {path} can only be read: {opened.read_only}")
    if aside is not None or fresh:
        return aside
    kept = files.stamped(path, ".before-restore-", now)
    files.copy_to(path, kept)
    return kept


def _check_copy(file: Path) -> None:
    """Raise BankError unless `file` is a sound bank that this release can read."""
    if not file.is_file():
        raise BankError(f"There is no file {file}. Name a copy that `mcp-reflect backup` made.")
    try:
        with explained(file), closing(files.connect(file, read_only=True)) as connection:
            if not (version := files.version_of(connection, file)):
                raise NotABankError(f"{file} is no bank. Name a copy that `mcp-reflect backup` made.")
            if version > files.newest():
                raise BankError(f"{file} cannot be restored: {files.newer(version)}")
            sound = connection.execute("PRAGMA integrity_check(1)").fetchall() == [("ok",)]
    except BankDamagedError:
        sound = False
    if not sound:
        raise BankDamagedError(
            f"{file} is damaged; nothing was restored. `mcp-reflect doctor --rescue {file}` recovers what can be read."
        )


class Maintenance(Repository):
    """Copies and repairs the bank's file while servers use it."""

    async def copy_daily(self, stop: Callable[[], bool]) -> None:
        """Make the daily copy if it is due, unless `stop` returns True meanwhile; a failure is logged."""
        try:
            with explained(self.db.path):
                copy = await asyncio.to_thread(copy_daily, self.db.path, self.clock.now(), stop)
            if copy is not None:
                self.bank.log("bank_copied", file=str(copy))
        except BankError as error:
            self.bank.log("bank_copy_failed", "warning", error=str(error))

    async def rescue(self, file: Path | None = None) -> list[Rescued]:
        """Recover the readable rows of `file`, or of all files that were set aside, the newest first.

        A bank that is damaged itself is set aside before. Each file is kept; one that was set aside is renamed.
        """
        path = self.db.path
        with suppress(BankDamagedError):
            await self.db.opened()
            state = await asyncio.to_thread(health, path)
            if not state.sound or state.unreadable:
                await self.db.set_aside(BankDamagedError(f"The bank {path} is damaged."), sure=True)
        await self.db.opened()
        if file is not None and not file.is_file():
            raise BankError(f"There is no file {file}.")
        results: list[Rescued] = []
        for damaged in [file] if file else reversed(files.all_aside(path)):
            with explained(path):
                rows = await asyncio.to_thread(recover, damaged, path, self.db.busy_seconds)
            await self.bank.lessons.index_all()
            done = damaged
            if damaged.name.startswith(path.name + files.ASIDE):
                done = files.move(damaged, damaged.with_name(damaged.name.replace(files.ASIDE, ".rescued-")))
            results.append(Rescued(done, rows))
        return results
