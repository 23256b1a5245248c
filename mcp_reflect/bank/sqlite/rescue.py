"""What can still be read of a damaged bank, brought into a good one row by row.

Where a page hangs on a table that the damaged file still names, its rows are that table's. Where the way
to it is lost, a row belongs to the table whose columns it fits. The good bank's own constraints have the
last word; a row that is there already stays as it is, so that a rescue can be repeated.
"""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mcp_reflect.bank.sqlite.checkpoints import by_hand
from mcp_reflect.bank.sqlite.identity import beside
from mcp_reflect.bank.sqlite.pages import Pages, Record, Value
from mcp_reflect.bank.sqlite.schema import uri
from mcp_reflect.bank.sqlite.statements import write_lock

_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "TEXT": (str,),
    "INTEGER": (int,),
    "REAL": (float, int),  # a whole number is stored as one
    "BLOB": (bytes,),
}
DERIVED: Final = ("features", "postings", "terms", "sizes", "vectors")
"""Tables that hold nothing but what is made from the lessons."""

_ID: Final = re.compile(r"[a-z]+_[0-9a-z]{16,}")

_BATCH: Final = 500  # rows a transaction: other servers write in between


@dataclass(frozen=True, slots=True)
class _Table:
    """A table of ours, as its rows stand in a page."""

    name: str
    columns: tuple[str, ...]
    """In the order in which a record holds them: the key first where there is no rowid."""
    types: tuple[str, ...]
    may_be_null: tuple[bool, ...]
    rowid: int | None
    """The place of the column that stands for the rowid, which a record leaves null; -1 for none such."""

    def row(self, record: Record) -> tuple[Value, ...] | None:
        """The record as a row of this table; none where it does not fit."""
        values = list(record.values)
        if (record.rowid is None) is not (self.rowid is None) or len(values) != len(self.columns):
            return None
        if self.rowid is not None and self.rowid >= 0:
            if values[self.rowid] is not None:
                return None
            values[self.rowid] = record.rowid
        for value, kind, nullable in zip(values, self.types, self.may_be_null, strict=True):
            if not (nullable if value is None else isinstance(value, _TYPES[kind])):
                return None
        return tuple(values)

    def holds(self, row: tuple[Value, ...], tenants: set[Value]) -> bool:
        """Whether tenants and ids stand where this table has them: an index's entries can look like rows."""
        return all(
            (value in tenants) is (name == "tenant") and (name != "from_id" or bool(_ID.fullmatch(str(value))))
            for name, value in zip(self.columns, row, strict=True)
        )


def rescue(damaged: Path, bank: Path, busy_seconds: float) -> dict[str, int]:
    """Bring the rows of `damaged`, and of the log beside it, into the good `bank`; how many came, by table.

    Raises sqlite3.Error where the good bank cannot be written, OSError where the damaged one cannot be read.
    """
    pages = Pages(damaged, beside(damaged, "-wal"))
    with closing(sqlite3.connect(uri(bank), uri=True, timeout=busy_seconds, isolation_level=None)) as connection:
        by_hand(connection)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        tables = _tables(connection)
        found = _sorted_out(pages, tables)
        return {table.name: _insert(connection, table, found[table.name]) for table in tables}


def _tables(connection: sqlite3.Connection) -> list[_Table]:
    """Our tables in the order in which they were made, so that a row comes after the one that it refers to.

    What is made from the lessons is none of them: it is made anew.
    """
    named = connection.execute(
        "SELECT name, wr FROM pragma_table_list JOIN sqlite_master USING (name) "
        "WHERE pragma_table_list.type = 'table' AND schema = 'main' AND name NOT LIKE 'sqlite_%' "
        "ORDER BY sqlite_master.rowid"
    ).fetchall()
    return [_table(connection, name, without_rowid=bool(wr)) for name, wr in named if name not in DERIVED]


def _table(connection: sqlite3.Connection, name: str, *, without_rowid: bool) -> _Table:
    columns = connection.execute('SELECT name, type, "notnull", pk FROM pragma_table_info(?)', (name,)).fetchall()
    rowid = None
    if without_rowid:
        columns.sort(key=lambda column: column[3] or len(columns) + 1)
    else:
        rowid = next((at for at, (_, kind, _, key) in enumerate(columns) if key and kind == "INTEGER"), -1)
    return _Table(
        name,
        tuple(column[0] for column in columns),
        tuple(column[1] for column in columns),
        tuple(not column[2] and not column[3] for column in columns),
        rowid,
    )


def _sorted_out(pages: Pages, tables: list[_Table]) -> dict[str, list[tuple[Value, ...]]]:
    """Every row that fits, by table."""
    found: dict[str, list[tuple[Value, ...]]] = {table.name: [] for table in tables}
    by_name = {table.name: table for table in tables}
    reached: set[int] = set()
    for name, root in _roots(pages):
        table = by_name.get(name)
        for number in _leaves(pages, root, reached):
            if table is not None:
                found[name] += [row for record in pages.records(number) if (row := table.row(record))]
    guessed = [
        (table, row)
        for number in range(1, pages.count + 1)
        if number not in reached and pages.is_leaf(number)
        for record in pages.records(number)
        for table in tables
        if (row := table.row(record))
    ]
    tenants = _tenants([*((by_name["lessons"], row) for row in found["lessons"]), *guessed])
    for table, row in guessed:
        if table.holds(row, tenants):
            found[table.name].append(row)
    return found


def _tenants(rows: list[tuple[_Table, tuple[Value, ...]]]) -> set[Value]:
    """Whose lessons there are: a lesson has so many columns that nothing else is taken for one."""
    return {row[table.columns.index("tenant")] for table, row in rows if table.name == "lessons"}


def _roots(pages: Pages) -> Iterator[tuple[str, int]]:
    """The tables and indexes that the damaged file still names, each with its first page; an index as ''."""
    for number in _leaves(pages, 1, set()):
        for record in pages.records(number):
            match record.values:
                case (str(kind), str(name), str(), int(root), *_) if 1 < root <= pages.count:
                    yield (name if kind == "table" else ""), root
                case _:
                    continue


def _leaves(pages: Pages, root: int, reached: set[int]) -> Iterator[int]:
    """The pages that hang on `root`, each once; they are noted in `reached`."""
    waiting = [root]
    while waiting:
        number = waiting.pop()
        if number not in reached:
            reached.add(number)
            yield number
            waiting += pages.below(number)


def _insert(connection: sqlite3.Connection, table: _Table, rows: list[tuple[Value, ...]]) -> int:
    """Write rows that are not there yet, in short transactions; returns how many were."""
    count = 0
    for start in range(0, len(rows), _BATCH):
        with write_lock(connection):
            for row in rows[start : start + _BATCH]:
                count += _inserted(connection, table, row)
    return count


def _inserted(connection: sqlite3.Connection, table: _Table, row: tuple[Value, ...]) -> int:
    """1 where the row was written: under its number, or under another where a newer row has that one."""
    values = dict(zip(table.columns, row, strict=True))
    try:
        if connection.execute(_insertion(table.name, table.columns), row).rowcount:
            return 1
        same = " AND ".join(f'"{name}" IS ?' for name in table.columns)
        if connection.execute(f'SELECT 1 FROM "{table.name}" WHERE {same}', row).fetchone():  # noqa: S608 - ours
            return 0
        if table.rowid is None or table.rowid < 0:
            return 0
        del values[table.columns[table.rowid]]
        return connection.execute(_insertion(table.name, tuple(values)), tuple(values.values())).rowcount
    except sqlite3.IntegrityError:
        return 0  # it refers to a row that is lost


def _insertion(table: str, columns: tuple[str, ...]) -> str:
    names, places = ", ".join(f'"{name}"' for name in columns), ", ".join("?" * len(columns))
    return f'INSERT OR IGNORE INTO "{table}" ({names}) VALUES ({places})'  # noqa: S608 - our own schema's names
