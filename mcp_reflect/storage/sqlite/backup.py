"""The bank's file as a whole, while servers use it: copied daily and on request, restored, checked."""

import asyncio
import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from mcp_reflect.clock import Clock
from mcp_reflect.errors import BankBusyError, BankDamagedError, BankError
from mcp_reflect.log import Log
from mcp_reflect.storage.sqlite import files
from mcp_reflect.storage.sqlite.database import explained

COPIES_KEPT: Final = 7
_ABANDONED_SECONDS: Final = 3600  # after which an unfinished copy is taken for that of a killed process


class Health(NamedTuple):
    """The state of the bank's file; lists of files are sorted, oldest first.

    `sound` is SQLite's own check; `unreadable` names records with a text that is not UTF-8. `aside` are the damaged
    files, `copies` the daily copies beside the bank.
    """

    sound: bool
    unreadable: list[str]
    aside: list[Path]
    copies: list[Path]


def health(path: Path) -> Health:
    """Check every page and every text of the bank at `path`."""
    with explained(path):
        sound, names = not files.is_damaged(path), list[str]()
        if sound:
            with closing(files.connect_to_read(path)[0]) as connection:
                names = unreadable(connection)
        return Health(sound, names, files.all_aside(path), files.all_copies(path))


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


async def copy_in_background(path: Path, clock: Clock, log: Log, stop: Callable[[], bool]) -> None:
    """Make the daily copy if it is due, unless `stop` returns True meanwhile; a failure is logged."""
    try:
        with explained(path):
            copy = await asyncio.to_thread(copy_daily, path, clock.now(), stop)
        if copy is not None:
            log.info("bank_copied", file=str(copy))
    except BankError as error:
        log.warning("bank_copy_failed", error=str(error))


def latest_copy(path: Path) -> Path:
    """Return the newest sound daily copy of the bank at `path`; BankError if there is none."""
    if copy := files.sound_copy(path):
        return copy
    raise BankError(f"There is no sound daily copy beside {path}. Name a copy that `mcp-reflect backup` made.")


def restore(path: Path, file: Path, now: float, busy_seconds: float) -> Path | None:
    """Put the content of `file` into the bank at `path`, in one transaction; return a copy of the former content.

    A bank that is damaged is set aside first. Raises BankError and changes nothing then.
    """
    files.check_copy(file)
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
    fresh = not path.exists() or files.is_empty(path)
    try:
        files.prepare(path, busy_seconds)
        damaged = files.is_damaged(path)
    except BankDamagedError:
        damaged = True
    aside = files.set_aside(path, files.identity(path), now)[0] if damaged else None
    opened = files.prepare(path, busy_seconds)
    if opened.read_only:
        raise BankError(f"The bank {path} can only be read: {opened.read_only}")
    if aside is not None or fresh:
        return aside
    kept = files.stamped(path, ".before-restore-", now)
    files.copy_to(path, kept)
    return kept


# Tables that are made from the lessons; the index is made anew.
DERIVED: Final = ("features", "lesson_terms", "terms", "sizes", "vectors")


class Table(NamedTuple):
    """A table of the schema."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]  # the columns of the primary key
    rowid: str | None  # `rowid`, or the column that is the rowid; None if the table has none

    def select(self, *names: str) -> str:
        columns = ", ".join(f'"{name}"' for name in (*names, *self.columns))
        return f'SELECT {columns} FROM "{self.name}"'  # noqa: S608 - our own schema's names


def unreadable(connection: sqlite3.Connection) -> list[str]:
    """Return the table and rowid, or id, of each record with a text that is not UTF-8."""
    names: list[str] = []
    ours = tables(connection)
    connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
    for table in ours:
        for key, *values in connection.execute(table.select(table.rowid or table.key[0])):
            if any(isinstance(value, str) and value.encode("utf-8", "ignore").decode() != value for value in values):
                names.append(f"{table.name} {str(key).encode('utf-8', 'replace').decode()}")
    return names


def tables(connection: sqlite3.Connection) -> list[Table]:
    """Return our tables in the order of their creation, so that a row comes after the one it refers to."""
    names = connection.execute(
        "SELECT name, wr FROM pragma_table_list JOIN sqlite_master USING (name) "
        "WHERE pragma_table_list.type = 'table' AND schema = 'main' AND name NOT LIKE 'sqlite_%' "
        "ORDER BY sqlite_master.rowid"
    ).fetchall()
    ours: list[Table] = []
    for name, without_rowid in names:
        columns = connection.execute("SELECT name, type, pk FROM pragma_table_info(?) ORDER BY pk", (name,)).fetchall()
        key = tuple(column for column, _, place in columns if place)
        alias = [column for column, kind, place in columns if place and kind == "INTEGER" and len(key) == 1]
        rowid = None if without_rowid else (*alias, "rowid")[0]
        if name not in DERIVED:
            ours.append(Table(name, tuple(column for column, _, _ in columns), key, rowid))
    return ours
