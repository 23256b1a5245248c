"""Recovery: the rows of a damaged bank that SQLite can still read, copied into a good bank."""

import json
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from mcp_reflect.models.lesson import RecordKind, Source, State, Trust
from mcp_reflect.storage.sqlite.files import all_copies, beside, by_hand
from mcp_reflect.storage.sqlite.schema import upgrade, uri
from mcp_reflect.storage.sqlite.statements import write_lock

Value: TypeAlias = int | float | str | bytes | None

DERIVED: Final = ("features", "lesson_terms", "terms", "sizes", "vectors")
"""Tables that are made from the lessons; the index is made anew."""

# The columns of lessons with a fixed set of values, and the value for one that was damaged: out of recall, if in doubt.
_CHOICES: Final = {
    "kind": (tuple(RecordKind), RecordKind.LESSON.value),
    "state": (tuple(State), State.RETIRED.value),
    "trust": (tuple(Trust), Trust.QUARANTINED.value),
    "source": (tuple(Source), Source.IMPORT.value),
}
_LISTS: Final = ("symptoms", "keywords", "tags")

_PAGE_SIZE: Final = 4096
_BATCH: Final = 500  # rows in a transaction: other servers write in between
_MAX_FAILURES: Final = 20_000  # ranges in a row without a readable row; then nothing more can be found
_LAST_ROWID: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class _Table:
    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    """The columns of the primary key."""
    has_rowid: bool
    alias: str | None
    """The column that is the rowid, if there is one."""


def recover(damaged: Path, bank: Path, busy_seconds: float) -> dict[str, int]:
    """Copy the readable rows of `damaged` and its log into the good `bank`; return the number of new rows by table.

    A row that is there already stays as it is, so that a recovery can be repeated. `damaged` is not changed: a copy of
    it is read. Raises sqlite3.Error if the good bank cannot be written, OSError if the damaged one cannot be read.
    """
    with (
        tempfile.TemporaryDirectory(prefix=f"{bank.name}.recovering-", dir=bank.parent) as folder,
        closing(sqlite3.connect(uri(bank), uri=True, timeout=busy_seconds, isolation_level=None)) as target,
    ):
        by_hand(target)
        target.execute("PRAGMA synchronous = FULL")
        target.execute("PRAGMA foreign_keys = ON")
        tables = _tables(target)
        counts = dict.fromkeys((table.name for table in tables), 0)
        source = _readable_copy(damaged, Path(folder), bank)
        if source is not None:
            with closing(source):
                for table in tables:
                    counts[table.name] = _insert(target, table, _rows(source, table))
        return counts


def damaged_texts(connection: sqlite3.Connection) -> dict[tuple[str, str], dict[str, str]]:
    """Return the texts that are not UTF-8, as far as they can be read, by (table, id or rowid) and column."""
    texts: dict[tuple[str, str], dict[str, str]] = {}
    tables = _tables(connection)
    connection.text_factory = bytes
    for table in tables:
        if not table.has_rowid and table.key != ("id",):
            continue
        key = "rowid" if table.has_rowid else '"id"'
        names = ", ".join(f'"{name}"' for name in table.columns)
        for identity, *values in connection.execute(f'SELECT {key}, {names} FROM "{table.name}"'):  # noqa: S608 - ours
            for column, value in zip(table.columns, values, strict=True):
                if not isinstance(value, bytes):
                    continue
                try:
                    value.decode()
                except UnicodeDecodeError:
                    name = _text(identity) if isinstance(identity, bytes) else str(identity)
                    texts.setdefault((table.name, name), {})[column] = _text(value)
    return texts


def repair_texts(bank: Path, busy_seconds: float) -> dict[str, int]:
    """Rewrite texts that are not UTF-8, with U+FFFD for the bytes that are lost; return the number of rows by table."""
    counts: dict[str, int] = {}
    with closing(sqlite3.connect(uri(bank), uri=True, timeout=busy_seconds, isolation_level=None)) as connection:
        by_hand(connection)
        with write_lock(connection):
            damaged = damaged_texts(connection)
            for (table, name), texts in damaged.items():
                changes = ", ".join(f'"{column}" = ?' for column in texts)
                key = "rowid" if name.isdecimal() else "id"
                with suppress(sqlite3.IntegrityError):  # a value that the schema allows only as it was
                    sql = f'UPDATE "{table}" SET {changes} WHERE {key} = ?'  # noqa: S608 - our own schema's names
                    connection.execute(sql, (*texts.values(), name))
                    counts[table] = counts.get(table, 0) + 1
    return counts


def _readable_copy(damaged: Path, folder: Path, bank: Path) -> sqlite3.Connection | None:
    """Open a copy of the damaged file, with the beginning of another bank if its own is lost; None if that fails.

    The first page has the header and the root of the schema; a file that was cut may lack the rest of the schema too.
    Banks made by the same migrations, or restored from the same copy, have the same pages there.
    """
    data = damaged.read_bytes()
    with_log = beside(damaged, "-wal").exists()
    for model in (b"", *_models(folder, bank, with_log=with_log)):
        copy = folder / "copy.db"
        copy.write_bytes(model[:_PAGE_SIZE] + data[len(model[:_PAGE_SIZE]) :] + model[max(len(data), _PAGE_SIZE) :])
        for ending in ("-wal", "-journal"):
            beside(copy, ending).unlink(missing_ok=True)
            if beside(damaged, ending).exists():
                shutil.copyfile(beside(damaged, ending), beside(copy, ending))
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


def _text(value: bytes) -> str:
    return value.decode(errors="replace")


def _models(folder: Path, bank: Path, *, with_log: bool) -> Iterator[bytes]:
    """Yield the content of a new bank, and of the daily copies, the newest first, with headers to use for another."""
    new = folder / "new.db"
    with closing(sqlite3.connect(new, isolation_level=None)) as connection:
        upgrade(connection, None)
    mode = b"\x02\x02" if with_log else b"\x01\x01"
    for file in (new, *reversed(all_copies(bank))):
        data = file.read_bytes()
        # The journal mode (bytes 18 and 19), no free pages (32 to 39), and a size in pages that SQLite takes from the
        # file, because bytes 92 to 95 do not confirm it (sqlite.org/fileformat2.html, section 1.3).
        yield data[:18] + mode + data[20:32] + bytes(8) + data[40:92] + bytes(4) + data[96:]


def _tables(connection: sqlite3.Connection) -> list[_Table]:
    """Return our tables in the order of their creation, so that a row comes after the one it refers to."""
    names = connection.execute(
        "SELECT name, wr FROM pragma_table_list JOIN sqlite_master USING (name) "
        "WHERE pragma_table_list.type = 'table' AND schema = 'main' AND name NOT LIKE 'sqlite_%' "
        "ORDER BY sqlite_master.rowid"
    ).fetchall()
    tables: list[_Table] = []
    for name, without_rowid in names:
        if name in DERIVED:
            continue
        columns = connection.execute("SELECT name, type, pk FROM pragma_table_info(?)", (name,)).fetchall()
        key = tuple(column[0] for column in sorted(columns, key=lambda column: column[2]) if column[2])
        alias = next((column[0] for column in columns if column[2] and column[1] == "INTEGER"), None)
        tables.append(
            _Table(
                name,
                tuple(column[0] for column in columns),
                key,
                has_rowid=not without_rowid,
                alias=None if without_rowid or len(key) != 1 else alias,
            )
        )
    return tables


def _rows(source: sqlite3.Connection, table: _Table) -> Iterator[tuple[Value, ...]]:
    """Yield the rows of a table that can be read."""
    try:
        available = {row[0] for row in source.execute("SELECT name FROM pragma_table_info(?)", (table.name,))}
    except sqlite3.DatabaseError:
        return
    if available >= set(table.columns):
        yield from _by_rowid(source, table) if table.has_rowid else _from_both_ends(source, table)


def _select(table: _Table) -> str:
    names = ", ".join(f'"{name}"' for name in table.columns)
    return f'SELECT {names} FROM "{table.name}"'  # noqa: S608 - our own schema's names


def _by_rowid(source: sqlite3.Connection, table: _Table) -> Iterator[tuple[Value, ...]]:
    """Yield rows by ranges of rowids; a range that cannot be read is halved, so a damaged page costs its rows alone."""
    ranges = [(1, _LAST_ROWID)]
    failures = 0
    while ranges and failures < _MAX_FAILURES:
        first, last = ranges.pop()
        place = first
        try:
            for rowid, *row in source.execute(
                _select(table).replace("SELECT ", "SELECT rowid, ", 1) + " WHERE rowid BETWEEN ? AND ? ORDER BY rowid",
                (first, last),
            ):
                yield tuple(row)
                place, failures = rowid + 1, 0
        except sqlite3.DatabaseError:
            failures += 1
            if place < last:
                middle = (place + last) // 2
                ranges += [(middle + 1, last), (place, middle)]


def _from_both_ends(source: sqlite3.Connection, table: _Table) -> Iterator[tuple[Value, ...]]:
    """Yield the rows before the first damaged page and behind the last, in the order of the primary key."""
    for direction in ("", " DESC"):
        order = ", ".join(f'"{name}"{direction}' for name in table.key)
        with suppress(sqlite3.DatabaseError):
            yield from source.execute(f"{_select(table)} ORDER BY {order}")
            return


def _insert(target: sqlite3.Connection, table: _Table, rows: Iterator[tuple[Value, ...]]) -> int:
    """Write the rows that are not there yet, in short transactions; return how many."""
    count = 0
    more = True
    while more:
        batch = [row for row, _ in zip(rows, range(_BATCH), strict=False)]
        more = len(batch) == _BATCH
        with write_lock(target):
            for row in batch:
                count += _insert_row(target, table, row)
    return count


def _insert_row(target: sqlite3.Connection, table: _Table, row: tuple[Value, ...]) -> int:
    """Write a row under its rowid, or under a new one if another row has it; return 1 if it was written."""
    values = dict(zip(table.columns, row, strict=True))
    if table.name == "lessons":
        _repair_lesson(values)
        row = tuple(values.values())
    try:
        if target.execute(_insertion(table.name, table.columns), row).rowcount:
            return 1
        same = " AND ".join(f'"{name}" IS ?' for name in table.columns)
        if target.execute(f'SELECT 1 FROM "{table.name}" WHERE {same}', row).fetchone():  # noqa: S608 - ours
            return 0
        if table.alias is None:
            return 0
        del values[table.alias]
        return target.execute(_insertion(table.name, tuple(values)), tuple(values.values())).rowcount
    except sqlite3.IntegrityError:
        return 0  # it refers to a row that is lost, or a value of it is damaged


def _repair_lesson(values: dict[str, Value]) -> None:
    """Replace values of a lesson that its columns do not allow."""
    for column, (choices, fallback) in _CHOICES.items():
        if values[column] not in choices:
            values[column] = fallback
    for column in _LISTS:
        try:
            json.loads(str(values[column]))
        except ValueError:
            values[column] = "[]"


def _insertion(table: str, columns: tuple[str, ...]) -> str:
    names, places = ", ".join(f'"{name}"' for name in columns), ", ".join("?" * len(columns))
    return f'INSERT OR IGNORE INTO "{table}" ({names}) VALUES ({places})'  # noqa: S608 - our own schema's names
