"""The readable rows of a damaged bank, taken over into a good file."""

import re
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from mcp_reflect.storage.sqlite.files import beside, by_hand
from mcp_reflect.storage.sqlite.schema import uri
from mcp_reflect.storage.sqlite.statements import write_lock

# The rows of a damaged database, read from its pages without SQLite, which stops at the first fault.
#
# After "Database File Format" (sqlite.org/fileformat2.html): a table's rows stand in leaf pages as records;
# each page is read by itself, so that a fault costs the rows of its page, and not those behind it. What
# the write-ahead log holds as committed takes the place of the file's own pages.


Value: TypeAlias = int | float | str | bytes | None

_TABLE_LEAF: Final = 0x0D
_TABLE_BRANCH: Final = 0x05
_INDEX_LEAF: Final = 0x0A
_INDEX_BRANCH: Final = 0x02
_PAGE_SIZES: Final = tuple(2**power for power in range(9, 17))
_USUAL_SIZE: Final = 4096
_INTEGERS: Final = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
_MOST_OVERFLOW: Final = 100_000  # pages of one row; a ring of pages must end


class Record(NamedTuple):
    """A row as it stands in a page: `rowid` is none in a table that has none, or in an index."""

    rowid: int | None
    values: tuple[Value, ...]


class BrokenRecordError(Exception):
    """What stands there is no record."""


class Pages:
    """The pages of a database and its log, by number from 1."""

    def __init__(self, path: Path, log: Path) -> None:
        self._data = path.read_bytes()
        self.size = self._page_size()
        self._newer = _committed(log, self.size)
        self.count = max(-(-len(self._data) // self.size), *self._newer, 0)

    def page(self, number: int) -> bytes:
        """A page as it was last committed; shorter, or empty, where the file ends before."""
        return self._newer.get(number) or self._data[(number - 1) * self.size : number * self.size]

    def records(self, number: int) -> Iterator[Record]:
        """The records of a leaf page; one that cannot be read is passed over. Other pages have none."""
        page = self.page(number)
        start = 100 if number == 1 else 0
        if len(page) < start + 8 or page[start] not in (_TABLE_LEAF, _INDEX_LEAF, _INDEX_BRANCH):
            return
        head = 12 if page[start] == _INDEX_BRANCH else 8
        cells = struct.unpack_from(">H", page, start + 3)[0]
        for place in range(min(cells, (len(page) - start - head) // 2)):
            at = struct.unpack_from(">H", page, start + head + 2 * place)[0]
            try:
                yield self._record(page, at, page[start])
            except (BrokenRecordError, IndexError, struct.error, UnicodeDecodeError):
                continue

    def below(self, number: int) -> list[int]:
        """The pages that a branch page leads to; none from a leaf."""
        page = self.page(number)
        start = 100 if number == 1 else 0
        if len(page) < start + 12 or page[start] not in (_TABLE_BRANCH, _INDEX_BRANCH):
            return []
        cells = min(struct.unpack_from(">H", page, start + 3)[0], (len(page) - start - 12) // 2)
        at = (struct.unpack_from(">H", page, start + 12 + 2 * place)[0] for place in range(cells))
        found = [struct.unpack_from(">I", page, one)[0] for one in at if one + 4 <= len(page)]
        return [one for one in (*found, struct.unpack_from(">I", page, start + 8)[0]) if 0 < one <= self.count]

    def is_leaf(self, number: int) -> bool:
        """Whether the page says that rows stand in it."""
        page = self.page(number)
        return bool(page) and page[0] in (_TABLE_LEAF, _INDEX_LEAF, _INDEX_BRANCH)

    def _page_size(self) -> int:
        """What the header says; the usual size where its beginning is lost."""
        if len(self._data) >= 18:
            told = struct.unpack_from(">H", self._data, 16)[0]
            size = 65536 if told == 1 else told
            if size in _PAGE_SIZES and self._data.startswith(b"SQLite format 3\x00"):
                return size
        return _USUAL_SIZE

    def _record(self, page: bytes, at: int, kind: int) -> Record:
        if kind == _INDEX_BRANCH:
            at += 4  # the page on its left
        size, at = _varint(page, at)
        rowid = None
        if kind == _TABLE_LEAF:
            rowid, at = _varint(page, at)
            rowid -= 2**64 if rowid >= 2**63 else 0
        return Record(rowid, _values(self._payload(page, at, size, on_table=kind == _TABLE_LEAF)))

    def _payload(self, page: bytes, at: int, size: int, *, on_table: bool) -> bytes:
        """The bytes of a record, with those that stand in overflow pages."""
        most = self.size - 35 if on_table else (self.size - 12) * 64 // 255 - 23
        if size <= most:
            return _exactly(page[at : at + size], size)
        least = (self.size - 12) * 32 // 255 - 23
        here = least + (size - least) % (self.size - 4)
        here = here if here <= most else least
        found = bytearray(_exactly(page[at : at + here], here))
        following = struct.unpack_from(">I", page, at + here)[0]
        for _ in range(_MOST_OVERFLOW):
            if len(found) >= size:
                return bytes(found[:size])
            more = self.page(following)
            if len(more) < self.size:
                break
            found += more[4:]
            following = struct.unpack_from(">I", more, 0)[0]
        raise BrokenRecordError


def _exactly(found: bytes, size: int) -> bytes:
    if len(found) != size:
        raise BrokenRecordError
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, and where it ends."""
    value = 0
    for place in range(8):
        byte = data[at + place]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + place + 1
    return value << 8 | data[at + 8], at + 9


def _values(payload: bytes) -> tuple[Value, ...]:
    head, at = _varint(payload, 0)
    if head > len(payload):
        raise BrokenRecordError
    kinds: list[int] = []
    while at < head:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    found: list[Value] = []
    for kind in kinds:
        size = _size_of(kind)
        found.append(_value(kind, _exactly(payload[at : at + size], size)))
        at += size
    if at != len(payload):
        raise BrokenRecordError
    return tuple(found)


def _size_of(kind: int) -> int:
    if kind in _INTEGERS:
        return _INTEGERS[kind]
    if kind >= 12:
        return (kind - 12) // 2
    if kind in (10, 11):
        raise BrokenRecordError
    return 8 if kind == 7 else 0


def _value(kind: int, data: bytes) -> Value:
    if kind >= 12:
        return data.decode() if kind % 2 else data
    if kind == 7:
        return struct.unpack(">d", data)[0]
    if kind in _INTEGERS:
        return int.from_bytes(data, signed=True)
    return {0: None, 8: 0, 9: 1}[kind]


def _committed(log: Path, size: int) -> dict[int, bytes]:
    """The newest committed copy of each page in a write-ahead log (fileformat2.html, section 4), by number.

    A frame counts while its salt is the log's own and its running checksum holds, up to the last commit.
    """
    data = log.read_bytes() if log.exists() else b""
    if len(data) < 32 or struct.unpack_from(">I", data, 8)[0] != size:
        return {}
    order = ">" if data[3] & 1 else "<"
    salt = data[16:24]
    running = _checksum(data[:24], order, (0, 0))
    committed: dict[int, bytes] = {}
    pending: dict[int, bytes] = {}
    for at in range(32, len(data) - size - 23, size + 24):
        frame = data[at : at + 24 + size]
        running = _checksum(frame[:8] + frame[24:], order, running)
        if frame[8:16] != salt or running != struct.unpack_from(">II", frame, 16):
            break
        number, pages = struct.unpack_from(">II", frame, 0)
        pending[number] = frame[24:]
        if pages:  # the last frame of a transaction
            committed |= pending
            pending = {}
    return committed


def _checksum(data: bytes, order: str, running: tuple[int, int]) -> tuple[int, int]:
    one, two = running
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for first, second in zip(words[::2], words[1::2], strict=True):
        one = (one + first + two) & 0xFFFFFFFF
        two = (two + second + one) & 0xFFFFFFFF
    return one, two


# What can still be read of a damaged bank, brought into a good one row by row.
#
# Where a page hangs on a table that the damaged file still names, its rows are that table's. Where the way
# to it is lost, a row belongs to the table whose columns it fits. The good bank's own constraints have the
# last word; a row that is there already stays as it is, so that a rescue can be repeated.


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


def recover(damaged: Path, bank: Path, busy_seconds: float) -> dict[str, int]:
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
