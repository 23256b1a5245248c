"""The bank's file: opened, prepared, created and upgraded in one place, and written through one door.

Three connections, each made when first used: one writes (synchronous FULL, waits up to 30 s for other
processes), one reads, one counts (NORMAL, 50 ms) for ledgers that nobody must wait for.
"""

import asyncio
import json
import sqlite3
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol, TypeVar

import aiosqlite

from mcp_reflect.bank.redaction import clean, clean_text
from mcp_reflect.bank.sqlite.faults import explained
from mcp_reflect.bank.sqlite.queries import query, reads
from mcp_reflect.bank.sqlite.schema import Opened, prepare
from mcp_reflect.errors import BankReadOnlyError

Values = Mapping[str, Any]

COUNTING_WAIT_SECONDS = 0.05

_Found = TypeVar("_Found")


class Reading:
    """Named queries, run one after another on the connection's own thread: many cost no more than one."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, name: str, values: Values) -> list[sqlite3.Row]:
        """The rows of a named query."""
        return self._select(name, values).fetchall()

    def numbers(self, name: str, values: Values) -> list[int]:
        """The integers of a named query that gives them as one JSON list."""
        return json.loads(self._select(name, values).fetchone()[0])

    def _select(self, name: str, values: Values) -> sqlite3.Cursor:
        """Only what reads is run: what writes goes through the door of a transaction."""
        if not reads(name):
            raise ValueError(f"the query {name} writes")
        return self._connection.execute(query(name), _plain(values))

    @contextmanager
    def snapshot(self) -> Generator[None]:
        """Everything in the block is read as of one moment."""
        self._connection.execute("BEGIN")
        try:
            yield
        finally:
            self._connection.execute("COMMIT")


class Reader(Protocol):
    """The database, or a transaction of it."""

    async def rows(self, name: str, values: dict[str, Any]) -> list[sqlite3.Row]: ...


class Transaction:
    """The one way to write. Every text that is bound here has passed the door (see `redaction`)."""

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._connection = connection

    async def run(self, name: str, values: Values) -> int:
        """Run a named statement; returns how many rows it changed."""
        cursor = await self._connection.execute(query(name), _bound(values))
        changed = cursor.rowcount
        await cursor.close()
        return changed

    async def run_many(self, name: str, rows: Iterable[Values]) -> None:
        """Run a named statement once for each of `rows`."""
        await self._connection.executemany(query(name), [_bound(values) for values in rows])

    async def rows(self, name: str, values: Values) -> list[sqlite3.Row]:
        """The rows of a named query, as this transaction sees them."""
        return list(await self._connection.execute_fetchall(query(name), _plain(values)))

    async def row(self, name: str, values: Values) -> sqlite3.Row | None:
        """The first row of a named query, or none."""
        found = await self.rows(name, values)
        return found[0] if found else None

    async def look(self, work: Callable[[Reading], _Found]) -> _Found:
        """What `work` makes of named queries, as this transaction sees them."""
        return await _on_thread(self._connection, work)


class Database:
    """One bank file, shared with any number of other processes."""

    def __init__(self, path: Path, *, busy_seconds: float = 30.0) -> None:
        self.path = path
        self.busy_seconds = busy_seconds
        self._opened: Opened | None = None
        self._connections: dict[str, aiosqlite.Connection] = {}
        self._opening = asyncio.Lock()
        self._writing = asyncio.Lock()
        self._counting = asyncio.Lock()

    async def opened(self) -> Opened:
        """Open the file (make it, upgrade it) once; says its schema, journal mode and whether it can be written."""
        async with self._opening:
            if self._opened is None:
                with explained(self.path):
                    self._opened = await asyncio.to_thread(prepare, self.path, self.busy_seconds)
            return self._opened

    async def close(self) -> None:
        """Close every connection; what was acknowledged is on disk already."""
        while self._connections:
            _, connection = self._connections.popitem()
            await connection.close()
        self._opened = None

    async def rows(self, name: str, values: Values) -> list[sqlite3.Row]:
        """The rows of a named query. Readers never wait for a writer."""
        await self.opened()
        with explained(self.path):
            connection = await self._connection("read")
            return list(await connection.execute_fetchall(query(name), _plain(values)))

    async def row(self, name: str, values: Values) -> sqlite3.Row | None:
        """The first row of a named query, or none."""
        found = await self.rows(name, values)
        return found[0] if found else None

    async def look(self, work: Callable[[Reading], _Found]) -> _Found:
        """What `work` makes of named queries, all as of one moment. It runs outside the event loop."""

        def at_once(reading: Reading) -> _Found:
            with reading.snapshot():
                return work(reading)

        await self.opened()
        with explained(self.path):
            return await _on_thread(await self._connection("read"), at_once)

    @asynccontextmanager
    async def write(self) -> AsyncGenerator[Transaction]:
        """A transaction that is on disk when the block ends, and undone where the block fails or is cancelled.

        Raises BankReadOnlyError, BankBusyError (after `busy_seconds`) or BankError.
        """
        await self._writable()
        async with self._writing:
            with explained(self.path):
                connection = await self._connection("write")
                async with _transaction(connection):
                    yield Transaction(connection)

    @asynccontextmanager
    async def count(self) -> AsyncGenerator[Transaction]:
        """A transaction for ledgers: gives up with BankBusyError after 50 ms rather than keep a reader waiting."""
        await self._writable()
        async with self._counting:
            with explained(self.path):
                connection = await self._connection("count")
                async with _transaction(connection):
                    yield Transaction(connection)

    async def truncate_log(self) -> None:
        """Move the log into the file and empty it, as far as readers let it: erased bytes are gone."""
        async with self._writing:
            with explained(self.path):
                connection = await self._connection("write")
                await connection.execute_fetchall("PRAGMA wal_checkpoint(TRUNCATE)")

    async def _writable(self) -> None:
        opened = await self.opened()
        if opened.read_only:
            raise BankReadOnlyError(f"The bank {self.path} can only be read: {opened.read_only}")

    async def _connection(self, use: str) -> aiosqlite.Connection:
        async with self._opening:
            if use not in self._connections:
                connecting = asyncio.ensure_future(self._connect(use))
                try:
                    self._connections[use] = await asyncio.shield(connecting)
                except asyncio.CancelledError:
                    # Its thread has begun and must be ended by `close`: keep it for the next caller.
                    with suppress(sqlite3.Error):
                        self._connections[use] = await connecting
                    raise
            return self._connections[use]

    async def _connect(self, use: str) -> aiosqlite.Connection:
        wait = COUNTING_WAIT_SECONDS if use == "count" else self.busy_seconds
        connecting = aiosqlite.connect(
            _uri(self.path, read_only=self._opened is not None and bool(self._opened.read_only)),
            uri=True,
            timeout=wait,
            isolation_level=None,
        )
        # Its thread would keep a process alive whose owner ended without closing the bank.
        connecting._thread.daemon = True  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        connection = await connecting
        connection.row_factory = sqlite3.Row
        try:
            await connection.execute("PRAGMA foreign_keys = ON")
            await connection.execute(f"PRAGMA synchronous = {'NORMAL' if use == 'count' else 'FULL'}")
            await connection.execute("PRAGMA secure_delete = ON")
            if use == "read":
                await connection.execute("PRAGMA query_only = ON")
        except sqlite3.Error:
            await connection.close()
            raise
        return connection


async def _on_thread(connection: aiosqlite.Connection, work: Callable[[Reading], _Found]) -> _Found:
    """Run `work` on the thread that owns the connection: one change of threads for any number of queries."""
    # aiosqlite has no public way to run more than one statement in one go.
    held: Any = connection
    return await held._execute(work, Reading(held._conn))  # noqa: SLF001


@asynccontextmanager
async def _transaction(connection: aiosqlite.Connection) -> AsyncGenerator[None]:
    try:
        await connection.execute("BEGIN IMMEDIATE")
        yield
        await asyncio.shield(connection.commit())
    except BaseException:
        # A cancelled BEGIN still runs on the connection's own thread, before this: undo it as well.
        await asyncio.shield(connection.rollback())
        raise


def _uri(path: Path, *, read_only: bool) -> str:
    return f"{path.as_uri()}?mode={'ro' if read_only else 'rw'}"


def _bound(values: Values) -> dict[str, Any]:
    """What is written: every text through the door, structures as JSON."""
    bound: dict[str, Any] = {}
    for name, value in values.items():
        match value:
            case str():
                bound[name] = clean_text(value)
            case dict() | list() | tuple():
                bound[name] = json.dumps(clean(value), ensure_ascii=False)
            case _:
                bound[name] = value
    return bound


def _plain(values: Values) -> dict[str, Any]:
    """What is only compared: structures as JSON, texts as they are."""
    return {
        name: json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list | tuple) else value
        for name, value in values.items()
    }
