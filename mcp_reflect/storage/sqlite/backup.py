"""The bank's file as a whole, while servers use it: copied daily and on request, restored, checked, recovered."""

import asyncio
import json
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mcp_reflect.errors import BankBusyError, BankDamagedError, BankError, NotABankError
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import RecordKind, Source, State, Trust
from mcp_reflect.storage.lessons import change
from mcp_reflect.storage.repository import LISTS, Row, Writing, lesson_from
from mcp_reflect.storage.sqlite import files
from mcp_reflect.storage.sqlite.database import Database, explained

if TYPE_CHECKING:
    from mcp_reflect.storage.bank import Bank

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


class Maintenance:
    """Copies and repairs the bank's file while servers use it."""

    def __init__(self, bank: "Bank") -> None:
        if not isinstance(bank.db, Database):
            raise BankError("Only a bank in a file is repaired so. Use PostgreSQL's own tools: pg_dump, pg_restore.")
        self._db = bank.db
        self._clock = bank.clock
        self._log = bank.log

    async def copy_daily(self, stop: Callable[[], bool]) -> None:
        """Make the daily copy if it is due, unless `stop` returns True meanwhile; a failure is logged."""
        try:
            with explained(self._db.path):
                copy = await asyncio.to_thread(copy_daily, self._db.path, self._clock.now(), stop)
            if copy is not None:
                self._log("bank_copied", file=str(copy))
        except BankError as error:
            self._log("bank_copy_failed", "warning", error=str(error))

    async def rescue(self, file: Path | None = None) -> list[Rescued]:
        """Recover the readable rows of `file`, or of all files that were set aside, the newest first; index all anew.

        A bank that is damaged itself is set aside before. Each file is kept; one that was set aside is renamed.
        """
        path = self._db.path
        with suppress(BankDamagedError):
            await self._db.opened()
            state = await asyncio.to_thread(health, path)
            if not state.sound or state.unreadable:
                await self._db.set_aside(BankDamagedError(f"The bank {path} is damaged."), sure=True)
        await self._db.opened()
        if file is not None and not file.is_file():
            raise BankError(f"There is no file {file}.")
        results: list[Rescued] = []
        for damaged in [file] if file else reversed(files.all_aside(path)):
            with explained(path):
                rows = await asyncio.to_thread(recover, damaged, path, self._db.busy_seconds)
            done = damaged
            if damaged.name.startswith(path.name + files.ASIDE):
                done = files.move(damaged, damaged.with_name(damaged.name.replace(files.ASIDE, ".rescued-")))
            results.append(Rescued(done, rows))
        await self._index_all()
        return results

    async def _index_all(self) -> None:
        """Index every lesson of the bank: writing one unchanged writes its index entry."""
        after = ""

        def index_page(tx: Writing) -> list[Row]:
            rows = tx.rows("maintenance_lessons", {"after": after, "limit": _BATCH})
            for row in rows:
                change(tx, Scope(row["tenant"], row["project"]), lesson_from(row))
            return rows

        while rows := await self._db.write("", index_page):
            after = rows[-1]["id"]


# Recovery: the rows of a damaged bank that SQLite can still read, copied into a good bank.

# Tables that are made from the lessons; the index is made anew.
DERIVED: Final = ("features", "lesson_terms", "terms", "sizes", "vectors")

# The columns of lessons with a fixed set of values, and the value for one that was damaged: out of recall, if in doubt.
_DOUBTFUL: Final = (RecordKind.LESSON, State.RETIRED, Trust.QUARANTINED, Source.IMPORT)
_FALLBACK: Final = dict(zip(("kind", "state", "trust", "source"), _DOUBTFUL, strict=True))
_PAGE_SIZE: Final = 4096
_BATCH: Final = 500  # rows in a transaction: other servers write in between
_MAX_FAILURES: Final = 20_000  # ranges in a row without a readable row; then nothing more can be found


class _Table(NamedTuple):
    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]  # the columns of the primary key
    rowid: str | None  # `rowid`, or the column that is the rowid; None if the table has none

    def select(self, *names: str) -> str:
        columns = ", ".join(f'"{name}"' for name in (*names, *self.columns))
        return f'SELECT {columns} FROM "{self.name}"'  # noqa: S608 - our own schema's names


def recover(damaged: Path, bank: Path, busy_seconds: float) -> dict[str, int]:
    """Copy the readable rows of `damaged` and its log into the good `bank`; return the number of new rows by table.

    A row that is there already stays as it is, so that a recovery can be repeated. A text that is not UTF-8 has U+FFFD
    for the bytes that are lost. `damaged` is not changed: a copy of it is read. Raises sqlite3.Error or OSError.
    """
    with (
        tempfile.TemporaryDirectory(prefix=f"{bank.name}.recovering-", dir=bank.parent) as folder,
        closing(files.connect(bank, wait=busy_seconds)) as target,
    ):
        target.execute("PRAGMA synchronous = FULL")
        target.execute("PRAGMA foreign_keys = ON")
        counts = dict.fromkeys(tables(target), 0)
        source = _readable_copy(damaged, Path(folder), bank)
        if source is not None:
            with closing(source):
                for table in counts:
                    rows = _rows(source, table)
                    while batch := list(islice(rows, _BATCH)):
                        with files.write_lock(target):
                            counts[table] += sum(_insert(target, table, row) for row in batch)
        return {table.name: count for table, count in counts.items()}


class _TextBytes(bytes):
    """The bytes of a text; a BLOB is plain bytes."""


def unreadable(connection: sqlite3.Connection) -> list[str]:
    """Return the table and rowid, or id, of each record with a text that is not UTF-8."""
    names: list[str] = []
    ours = tables(connection)
    connection.text_factory = _TextBytes
    for table in ours:
        for key, *values in connection.execute(table.select(table.rowid or table.key[0])):
            if any(isinstance(value, _TextBytes) and _text(value).encode() != value for value in values):
                names.append(f"{table.name} {_text(key) if isinstance(key, bytes) else key}")
    return names


def _text(value: bytes) -> str:
    return value.decode(errors="replace")


def _readable_copy(damaged: Path, folder: Path, bank: Path) -> sqlite3.Connection | None:
    """Open a copy of the damaged file, with the beginning of another bank if its own is lost; None if that fails.

    The first page has the header and the root of the schema; a file that was cut may lack the rest of the schema too.
    Banks made by the same migrations, or restored from the same copy, have the same pages there.
    """
    data = damaged.read_bytes()
    with_log = files.beside(damaged, "-wal").exists()
    for model in (b"", *_models(folder, bank, with_log=with_log)):
        copy = folder / "copy.db"
        copy.write_bytes(model[:_PAGE_SIZE] + data[len(model[:_PAGE_SIZE]) :] + model[max(len(data), _PAGE_SIZE) :])
        for ending in ("-wal", "-journal"):
            files.beside(copy, ending).unlink(missing_ok=True)
            if files.beside(damaged, ending).exists():
                shutil.copyfile(files.beside(damaged, ending), files.beside(copy, ending))
        connection = sqlite3.connect(copy, isolation_level=None)
        try:
            connection.execute("PRAGMA writable_schema = ON")  # reads a file that is shorter than its header says
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("SELECT id FROM lessons ORDER BY row LIMIT 1").fetchone()
        except sqlite3.DatabaseError:
            connection.close()
        else:
            connection.text_factory = _text
            return connection
    return None


def _models(folder: Path, bank: Path, *, with_log: bool) -> Iterator[bytes]:
    """Yield the content of a new bank, and of the daily copies, the newest first, with headers to use for another."""
    new = folder / "new.db"
    with closing(sqlite3.connect(new, isolation_level=None)) as connection:
        files.upgrade(connection, None)
    mode = b"\x02\x02" if with_log else b"\x01\x01"
    for file in (new, *reversed(files.all_copies(bank))):
        data = file.read_bytes()
        # The journal mode (bytes 18 and 19), no free pages (32 to 39), and a size in pages that SQLite takes from the
        # file, because bytes 92 to 95 do not confirm it (sqlite.org/fileformat2.html, section 1.3).
        yield data[:18] + mode + data[20:32] + bytes(8) + data[40:92] + bytes(4) + data[96:]


def tables(connection: sqlite3.Connection) -> list[_Table]:
    """Return our tables in the order of their creation, so that a row comes after the one it refers to."""
    names = connection.execute(
        "SELECT name, wr FROM pragma_table_list JOIN sqlite_master USING (name) "
        "WHERE pragma_table_list.type = 'table' AND schema = 'main' AND name NOT LIKE 'sqlite_%' "
        "ORDER BY sqlite_master.rowid"
    ).fetchall()
    ours: list[_Table] = []
    for name, without_rowid in names:
        columns = connection.execute("SELECT name, type, pk FROM pragma_table_info(?) ORDER BY pk", (name,)).fetchall()
        key = tuple(column for column, _, place in columns if place)
        alias = [column for column, kind, place in columns if place and kind == "INTEGER" and len(key) == 1]
        rowid = None if without_rowid else (*alias, "rowid")[0]
        if name not in DERIVED:
            ours.append(_Table(name, tuple(column for column, _, _ in columns), key, rowid))
    return ours


def _rows(source: sqlite3.Connection, table: _Table) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table that can be read."""
    try:
        columns = {row[0] for row in source.execute("SELECT name FROM pragma_table_info(?)", (table.name,))}
    except sqlite3.DatabaseError:
        return
    if not columns >= set(table.columns):
        return
    if table.rowid is not None:
        yield from _by_rowid(source, table)
        return
    for direction in ("", " DESC"):  # the rows before the first damaged page, and those behind the last
        order = ", ".join(f'"{name}"{direction}' for name in table.key)
        with suppress(sqlite3.DatabaseError):
            yield from source.execute(f"{table.select()} ORDER BY {order}")
            return


def _by_rowid(source: sqlite3.Connection, table: _Table) -> Iterator[tuple[Any, ...]]:
    """Yield rows by ranges of rowids; a range that cannot be read is halved, so a damaged page costs its rows alone."""
    ranges = [(1, 2**63 - 1)]
    failures = 0
    while ranges and failures < _MAX_FAILURES:
        place, last = ranges.pop()
        sql = f"{table.select('rowid')} WHERE rowid BETWEEN ? AND ? ORDER BY rowid"
        try:
            for rowid, *row in source.execute(sql, (place, last)):
                yield tuple(row)
                place, failures = rowid + 1, 0
        except sqlite3.DatabaseError:
            failures += 1
            if place < last:
                middle = (place + last) // 2
                ranges += [(middle + 1, last), (place, middle)]


def _insert(target: sqlite3.Connection, table: _Table, row: tuple[Any, ...]) -> int:
    """Write a row under its rowid, or under a new one if another row has it; return 1 if it was written."""
    values = dict(zip(table.columns, row, strict=True))
    if table.name == "lessons":
        for column, fallback in _FALLBACK.items():
            if values[column] not in tuple(type(fallback)):
                values[column] = fallback.value
        for column in LISTS:
            try:
                json.loads(str(values[column]))
            except ValueError:
                values[column] = "[]"
    try:
        same = " AND ".join(f'"{name}" IS :{name}' for name in values)
        if target.execute(f'SELECT 1 FROM "{table.name}" WHERE {same}', values).fetchone():  # noqa: S608 - ours
            return 0
        while True:
            names, places = ", ".join(f'"{name}"' for name in values), ", ".join(f":{name}" for name in values)
            sql = f'INSERT OR IGNORE INTO "{table.name}" ({names}) VALUES ({places})'  # noqa: S608 - ours
            if (written := target.execute(sql, values).rowcount) or table.rowid not in values:
                return written
            del values[table.rowid]
    except sqlite3.IntegrityError:
        return 0  # it refers to a row that is lost, or a value of it is damaged
