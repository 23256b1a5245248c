"""The bank's file as a whole, while servers use it: copied daily and on request, restored, checked."""

import asyncio
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Final

from mcp_reflect.clock import Clock
from mcp_reflect.errors import BankBusyError, BankDamagedError, BankError
from mcp_reflect.log import Log
from mcp_reflect.storage.rows import keeps
from mcp_reflect.storage.sqlite import damaged, file_access, files
from mcp_reflect.storage.sqlite.faults import explained

COPIES_KEPT: Final = 7
"""Daily copies that are kept, the newest."""

_SPACE_FOR_COPY: Final = 2
"""Times the size of the bank that must be free on the disk before a daily copy."""


def check(path: Path) -> tuple[bool, list[str]]:
    """Return whether SQLite finds the bank at `path` sound, and if so the records with a text that is not UTF-8."""
    with explained(path):
        if damaged.is_damaged(path):
            return False, []
        return True, unreadable(path)


def backup(path: Path, file: Path) -> int:
    """Copy the bank at `path` to `file`, whole or not at all; return its bytes. BankError if that fails."""
    with explained(file):
        try:
            files.copy_to(path, file)
        except FileExistsError:
            raise BankError(f"{file} already exists. Name a new file.") from None
        return file.stat().st_size


def copy_daily(path: Path, now: float, stop: Callable[[], bool]) -> Path | None:
    """Copy the bank to `bank.db.copy-DATE` (UTC) unless that is there, and keep the newest seven of these copies.

    Nothing is copied if the disk has not twice its size free, or if `stop` returns True, which is called now and then.
    `now` is in seconds since 1970. Returns the new copy, None if none was made.
    """
    copy = file_access.beside(path, damaged.COPY + time.strftime("%Y-%m-%d", time.gmtime(now)))
    copies = damaged.all_copies(path)
    if copy in copies or not path.is_file():
        return None
    if shutil.disk_usage(path.parent).free < _SPACE_FOR_COPY * path.stat().st_size:
        return None
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
    copy = damaged.sound_copy(path)
    if copy is None:
        raise BankError(
            f"There is no sound daily copy beside {path}. Name a copy that `mcp-reflect backup` made."
        )
    return copy


def holds_word_of_person(path: Path, busy_seconds: float) -> bool:
    """Return whether the bank at `path` has a lesson that a person keeps: only a person may replace such a bank.

    A damaged bank counts as one without: a restore sets it aside, so that nothing is lost.
    """
    if not path.exists():
        return False
    with explained(path):
        try:
            files.prepare(path, busy_seconds)  # an older release's bank has other columns
        except BankDamagedError:
            return False
        with closing(file_access.connect_to_read(path).connection) as connection:
            connection.row_factory = sqlite3.Row
            rows = connection.execute("SELECT trust, source, guard_mode, pinned_at FROM lessons")
            return any(keeps(row) for row in rows)


def restore(
    path: Path, file: Path, now: float, busy_seconds: float, *, by_person: bool = True
) -> Path | None:
    """Put the content of `file` into the bank at `path`, in one transaction; return where the former content is kept.

    A bank that is damaged is set aside first. `by_person` says that a person asked for it. Raises BankError, with
    nothing changed, if `file` is no sound bank, or if a person has kept a lesson and no person asks.
    """
    damaged.check_copy(file)
    end = time.monotonic() + busy_seconds

    def give_up_in_time(_status: int, pages_left: int, _pages: int) -> None:
        """Raise BankBusyError when copying takes too long: `backup` itself would try for ever."""
        if pages_left and time.monotonic() > end:
            raise BankBusyError(f"The bank {path} is in use by another process. Try again.")

    with explained(path):
        former = _make_room(path, now, busy_seconds, by_person=by_person)
        with (
            closing(file_access.connect_to_read(file).connection) as source,
            closing(file_access.connect(path, wait=1)) as target,
        ):
            target.execute("PRAGMA synchronous = FULL")
            source.backup(target, progress=give_up_in_time)
        files.prepare(path, busy_seconds)  # upgrades what an older release copied
    return former


def _make_room(path: Path, now: float, busy_seconds: float, *, by_person: bool) -> Path | None:
    """Make sure that a bank is at `path` and can be written; return where its content is kept, None if it had none.

    A damaged bank is set aside, and the content of a sound one is copied beside it.
    """
    had_content = path.exists() and (path.stat().st_size > 0 or file_access.log_bytes(path) > 0)
    with suppress(BankDamagedError):
        files.prepare(path, busy_seconds)
    moved = damaged.set_aside(path, file_access.identity(path), now)  # only if it is damaged
    opened = files.prepare(path, busy_seconds)
    if opened.read_only:
        raise BankError(f"The bank {path} can only be read: {opened.read_only}")
    if moved.file is not None or not had_content:
        return moved.file
    kept = damaged.stamped(path, ".before-restore-", now)
    files.copy_to(path, kept)
    if not by_person and holds_word_of_person(kept, busy_seconds):
        kept.unlink()
        raise BankError(f"A person just kept a lesson in {path}. Nothing was restored.")
    return kept


DERIVED: Final = ("features", "lesson_terms", "terms", "sizes", "vectors")
"""Tables that are made of the lessons: they are not moved or checked, since they can be made anew."""


def unreadable(path: Path) -> list[str]:
    """Return the table and the first value of each row with a text that is not UTF-8."""
    names: list[str] = []
    with closing(file_access.connect_to_read(path).connection) as connection:
        own_tables = tables(connection)
        # Bytes that are not UTF-8 become surrogates, which no other text has.
        connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
        for table in own_tables:
            for row in connection.execute(f'SELECT * FROM "{table}"'):  # noqa: S608 - our own schema's names
                if any(_has_surrogates(value) for value in row):
                    first = str(row[0]).encode("utf-8", "replace").decode()
                    names.append(f"{table} {first}")
    return names


def _has_surrogates(value: object) -> bool:
    """Return whether a value is a text that cannot be encoded as UTF-8."""
    return isinstance(value, str) and value.encode("utf-8", "ignore").decode() != value


def tables(connection: sqlite3.Connection) -> list[str]:
    """Return our tables in the order of their creation, so that a row comes after the one it refers to."""
    in_order_of_creation = (
        "SELECT name FROM pragma_table_list JOIN sqlite_master USING (name) WHERE schema = 'main' "
        "AND pragma_table_list.type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY sqlite_master.rowid"
    )
    return [name for (name,) in connection.execute(in_order_of_creation) if name not in DERIVED]
