"""Move the bank of a file to a server: every table as it is, indexed anew, by a run that another one continues."""

import glob
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import psycopg

from mcp_reflect.errors import BankDamagedError, BankError, NotABankError
from mcp_reflect.models.common import Scope
from mcp_reflect.storage.postgres.database import Database
from mcp_reflect.storage.postgres.statements import PostgresRow, sent
from mcp_reflect.storage.repository import Writing, lesson_from, readable
from mcp_reflect.storage.retrieval import index
from mcp_reflect.storage.sqlite import backup, files
from mcp_reflect.storage.sqlite.database import explained

_BATCH: Final = 200  # rows in a transaction: a killed run loses one at the most
_MARK: Final = "move"  # the name of the lease that says whose unfinished work is there
# The index is made anew; vectors of an embedding model are made by `mcp-reflect embed`.
_LEFT_OUT: Final = (*backup.DERIVED, "embedders", "leases")
_INDEX: Final = ("terms", "sizes")  # of tables that are made anew, those that do not go with their lessons
# A file's tables without a tenant belong to that of the record in this column.
_OWNERS: Final = {"outcomes": "lesson_id", "task_outcomes": "recall_id", "versions": "record_id", "links": "from_id"}
# Failures get other row numbers on the server: a warning's failure is named by what is unique of it.
_FAILURE_KEY: Final = "project || ' ' || signature || ' ' || exact"


class Moved(NamedTuple):
    """The result of one table: the rows that both have now, and how many of them this run has added."""

    table: str
    rows: int
    added: int


class _Digest(NamedTuple):
    rows: int
    total: int  # of the hashes of the rows, in any order


class _Table(NamedTuple):
    name: str
    columns: tuple[str, ...]  # without the tenant, and without row numbers that the server gives itself

    def select(self) -> str:
        columns = ", ".join(self._failure if name == "failure" else f'"{name}"' for name in self.columns)
        return f'SELECT {columns} FROM "{self.name}"'  # noqa: S608 - our own schema's names

    def insert(self) -> bytes:
        names = ", ".join(f'"{name}"' for name in ("tenant", *self.columns))
        found = f"coalesce((SELECT row FROM failures WHERE {_FAILURE_KEY} = %(failure)s LIMIT 1), 0)"  # noqa: S608 - same
        values = ", ".join(found if name == "failure" else f"%({name})s" for name in ("tenant", *self.columns))
        return f'INSERT INTO "{self.name}" ({names}) VALUES ({values}) ON CONFLICT DO NOTHING'.encode()  # noqa: S608 - same

    @property
    def _failure(self) -> str:
        return f"(SELECT {_FAILURE_KEY} FROM failures WHERE failures.row = {self.name}.failure)"  # noqa: S608 - same


async def move(path: Path, target: Database, *, anew: bool = False) -> list[Moved]:
    """Copy all of the bank at `path` to an empty bank, which may have the unfinished work of an earlier run.

    The file is not changed: a copy of it is read, so that servers may go on. With `anew`, unfinished work on another
    state of the file is removed first. BankError if the target has other records, or not the same ones at the end.
    """
    if not path.is_file():
        raise BankError(f"There is no bank at {path}. Set MCP_REFLECT_BANK to the file to move.")
    for left in path.parent.glob(f"{glob.escape(path.name)}.moving-*"):
        shutil.rmtree(left, ignore_errors=True)  # the copy of a run that was killed
    with explained(path), tempfile.TemporaryDirectory(prefix=f"{path.name}.moving-", dir=path.parent) as folder:
        copy = Path(folder) / "bank.db"
        files.copy_to(path, copy)
        with closing(files.connect(copy)) as source:
            if (version := files.version_of(source, path)) == 0:
                raise NotABankError(f"{path} is no bank.")
            if version > files.newest():
                raise BankError(f"{path} cannot be moved: {files.newer(version)}")
            files.upgrade(source, None)
            if names := backup.unreadable(source):
                raise BankDamagedError(f"{path} has damaged texts: {names[0]}. Run: mcp-reflect doctor --rescue")
            source.text_factory = str
            return await _Move(source, target).run(anew=anew)


class _Move:
    def __init__(self, source: Any, target: Database) -> None:
        self._source = source
        self._target = target
        tables = [table for table in backup.tables(source) if table.name not in _LEFT_OUT]
        self._tables = [
            _Table(table.name, tuple(name for name in table.columns if name not in ("tenant", "row")))
            for table in tables
        ]
        self._keys = {table.name: table.rowid or ", ".join(table.key) for table in tables}
        held = [table.name for table in tables if "tenant" in table.columns]
        every = " UNION ".join(f'SELECT tenant FROM "{name}"' for name in held)  # noqa: S608 - our own schema's names
        self._tenants: list[str] = [row[0] for row in source.execute(f"{every} ORDER BY tenant")]

    async def run(self, *, anew: bool) -> list[Moved]:
        digests = {(own, table): _digest(self._rows(own, table)) for own in self._tenants for table in self._tables}
        state = sha256(repr(sorted(digests.items())).encode()).hexdigest()
        for tenant in self._tenants:
            await self._target.transact(tenant, partial(self._take, tenant=tenant, state=state, anew=anew))
        added = dict.fromkeys(self._tables, 0)
        for tenant, table in digests:
            rows = self._rows(tenant, table)
            while batch := list(islice(rows, _BATCH)):
                put = partial(_put, table=table, tenant=tenant, rows=batch)
                added[table] += await self._target.transact(tenant, put)
        for (tenant, table), digest in digests.items():
            found = await self._target.transact(tenant, partial(_digest_there, table=table, tenant=tenant))
            if found != digest:
                raise BankError(
                    f"{self._target.url} has not the same {table.name} as the file: {found.rows} rows instead of "
                    f"{digest.rows}. Let no server use it before the move is done, and name an empty database."
                )
        for tenant in self._tenants:
            await self._target.transact(tenant, partial(_unmark, tenant=tenant))
        rows = {table: sum(digests[tenant, table].rows for tenant in self._tenants) for table in self._tables}
        return [Moved(table.name, rows[table], added[table]) for table in self._tables if rows[table]]

    def _rows(self, tenant: str, table: _Table) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a tenant in the file, in the order in which they were written."""
        owner = f'"{table.name}"."{_OWNERS.get(table.name)}"'
        named = [f"(SELECT tenant FROM {name} WHERE id = {owner})" for name in ("lessons", "reflections", "recalls")]  # noqa: S608 - our own schema's names
        # A record that is there no more belongs to the first tenant: most files have one.
        held = f"coalesce({', '.join(named)}, :first)" if table.name in _OWNERS else "tenant"
        found = self._source.execute(
            f"{table.select()} WHERE {held} = :tenant ORDER BY {self._keys[table.name]}",
            {"tenant": tenant, "first": self._tenants[0]},
        )
        return (tuple(map(sent, row)) for row in found)

    def _take(self, connection: psycopg.Connection[Any], _: Writing, tenant: str, state: str, *, anew: bool) -> None:
        """Mark a tenant's records as this move's; BankError if there are others."""
        own = {"tenant": tenant, "name": _MARK, "state": state}
        marks = connection.execute("SELECT holder FROM leases WHERE tenant = %(tenant)s AND name = %(name)s", own)
        mark = next((row[0] for row in marks), None)
        if mark == state:
            return
        names = [table.name for table in self._tables]
        filled = [name for name in names if _ask(connection, f'SELECT 1 FROM "{name}" WHERE tenant = %(tenant)s', own)]  # noqa: S608 - our own schema's names
        if filled and mark is None:
            raise BankError(
                f"{self._target.url} has records of the tenant '{tenant}' already ({filled[0]}); nothing was moved. "
                "Name an empty database."
            )
        if filled and not anew:
            raise BankError(
                f"{self._target.url} has a part of an earlier state of this file; nothing was moved now. "
                "With --anew, that part is removed first."
            )
        for name in (*reversed(names), *_INDEX) if filled else ():
            connection.execute(f'DELETE FROM "{name}" WHERE tenant = %(tenant)s'.encode(), own)  # noqa: S608 - same
        _unmark(connection, _, tenant)
        connection.execute(
            "INSERT INTO leases (tenant, project, name, holder, until) VALUES (%(tenant)s, '', %(name)s, %(state)s, 0)",
            own,
        )


def _ask(connection: psycopg.Connection[Any], query: str, values: dict[str, Any]) -> bool:
    return connection.execute(f"{query} LIMIT 1".encode(), values).fetchone() is not None


def _unmark(connection: psycopg.Connection[Any], _: Writing, tenant: str) -> None:
    connection.execute("DELETE FROM leases WHERE tenant = %s AND name = %s", (tenant, _MARK))


def _put(
    connection: psycopg.Connection[Any], writing: Writing, table: _Table, tenant: str, rows: Sequence[tuple[Any, ...]]
) -> int:
    """Add the rows that are not there, and index the lessons among them; return how many."""
    if table.name == "lessons":
        place = table.columns.index("id")
        ids = [row[place] for row in rows]
        taken = connection.execute("SELECT id FROM lessons WHERE tenant = %s AND id = ANY(%s)", (tenant, ids))
        there = {row[0] for row in taken}
        rows = [row for row in rows if row[place] not in there]
    if not rows:
        return 0
    cursor = connection.cursor()
    values = ({"tenant": tenant, **dict(zip(table.columns, row, strict=True))} for row in rows)
    cursor.executemany(table.insert(), values)
    if table.name == "lessons":
        places = {name: place for place, name in enumerate(table.columns)}
        lessons = readable((PostgresRow(places, row) for row in rows), lesson_from)
        entries = [index.entry(Scope(tenant, lesson.project), lesson) for lesson in lessons]
        index.add(writing, [entry for entry in entries if entry])
    return cursor.rowcount


def _digest_there(connection: psycopg.Connection[Any], _: Writing, table: _Table, tenant: str) -> _Digest:
    with connection.cursor(name="moved") as cursor:
        cursor.itersize = _BATCH
        return _digest(tuple(row) for row in cursor.execute(f"{table.select()} WHERE tenant = %s".encode(), (tenant,)))


def _digest(rows: Iterable[tuple[Any, ...]]) -> _Digest:
    count = total = 0
    for row in rows:
        count += 1
        total += int.from_bytes(sha256(repr(row).encode()).digest()[:16])
    return _Digest(count, total % 2**128)
