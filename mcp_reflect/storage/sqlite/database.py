"""The bank's file, shared with other processes: connections, transactions, named queries, and errors in plain words."""

import asyncio
import errno
import os
import sqlite3
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import copy_context
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, TypeVar
from weakref import WeakSet

import aiosqlite

from mcp_reflect.clock import Clock
from mcp_reflect.errors import BankBusyError, BankDamagedError, BankError, BankReadOnlyError
from mcp_reflect.log import Log
from mcp_reflect.storage import repository
from mcp_reflect.storage.repository import Bound, Reading, Row, Values, Writing, compared, damaged, name_of
from mcp_reflect.storage.sql import queries
from mcp_reflect.storage.sqlite import files
from mcp_reflect.storage.sqlite.files import Identity, OpenedFile, identity, number_of

BRIEF_WAIT_SECONDS: Final = 0.01  # about as long as a short write; after it, a brief write is given up
_PAUSE_SECONDS: Final = 0.005  # the longest between two tries to write; random, so that no process starves
_MOST_CHANGES: Final = 3  # files that may follow each other at the path while a call begins
_WORK: Final = "-- work"  # in the place of a statement, with the function to run as its only parameter
_CHUNK: Final = 64  # rows that aiosqlite would fetch at once; a function fetches its own
_CACHE: Final = "cache_size = -32000"  # kB of pages that a connection keeps: enough for a block's postings

_Result = TypeVar("_Result")
_Use: TypeAlias = Literal["write", "read", "long read"]
_READS: Final[tuple[_Use, ...]] = ("read", "long read")

_FULL: Final = "cannot grow: the disk is full. Free some space and try again; what was stored before is kept"
_DISK: Final = "cannot be read or written: the disk reports an error. Look at the disk; then try again"
# SQLite's result codes (sqlite.org/rescode.html) → the error, and what to do about it.
_MEANINGS: Final[dict[int, tuple[type[BankError], str]]] = {
    sqlite3.SQLITE_BUSY: (BankBusyError, "is held by another process. Try again, or end the process that holds it"),
    sqlite3.SQLITE_PROTOCOL: (BankBusyError, "is held by other processes. Try again"),
    sqlite3.SQLITE_READONLY: (BankReadOnlyError, "cannot be written. Give this user the right or set MCP_REFLECT_BANK"),
    sqlite3.SQLITE_FULL: (BankError, _FULL),
    sqlite3.SQLITE_CORRUPT: (BankDamagedError, "is damaged"),
    sqlite3.SQLITE_NOTADB: (BankDamagedError, "is damaged: its beginning is not an SQLite database's"),
    sqlite3.SQLITE_CANTOPEN: (BankError, "cannot be opened. Check that its folder exists and may be written"),
    sqlite3.SQLITE_PERM: (BankError, "may not be opened by this user. Give this user the right to it"),
    sqlite3.SQLITE_IOERR: (BankError, _DISK),
    sqlite3.SQLITE_NOMEM: (BankError, "cannot be used: this machine has no memory left. Try again"),
}
_FULL_ERRNOS: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def explained(path: Path) -> Generator[None]:
    """Turn errors of SQLite and the file system into ours, with the path and what to do."""
    try:
        yield
    except sqlite3.IntegrityError:
        raise  # a fault of ours: the value should have been refused before
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)  # not there if Python itself raised it
        if code is None or code & 0xFF not in _MEANINGS:
            raise  # only a fault of ours can cause it
        kind, meaning = _MEANINGS[code & 0xFF]
        raise kind(f"The bank {path} {meaning}.") from error
    except OSError as error:
        if error.errno in _FULL_ERRNOS:
            raise BankError(f"The bank {path} {_FULL}.") from error
        raise BankError(
            f"The bank {path} cannot be used: {error.strerror or error}. "
            "Set MCP_REFLECT_BANK to a file that this user may write."
        ) from error


class SqliteExecutor:
    """Runs named SQL on a connection."""

    def __init__(self, connection: sqlite3.Connection, log: Log) -> None:
        self._connection = connection
        self._log = log

    def select(self, name: str, values: Values) -> list[Row]:
        """Return the rows of a named query. A row with a text that is not UTF-8 is logged and left out.

        BankError if a query by id (its name ends with `_by_id`) finds only such a row.
        """
        try:
            return self._select(name, values).fetchall()
        except sqlite3.OperationalError as error:
            if "decode to UTF-8" not in str(error):
                raise
        self._connection.text_factory = partial(str, encoding="utf-8", errors="replace")
        try:
            rows = self._select(name, values).fetchall()
        finally:
            self._connection.text_factory = str
        lost = [row for row in rows if any(isinstance(text, str) and "\ufffd" in text for text in row)]
        if name.endswith("_by_id") and lost:
            raise damaged(rows[0])
        for row in lost:
            self._log.warning("bank_record_damaged", record=name_of(row))
        return [row for row in rows if row not in lost]

    def execute(self, name: str, values: Bound) -> int:
        """Run a named statement; return the number of changed rows."""
        return self._connection.execute(queries()[name], values).rowcount

    def execute_many(self, name: str, rows: Iterable[Bound]) -> None:
        """Run a named statement once for each of `rows`."""
        self._connection.executemany(queries()[name], rows)

    def matching(self, groups: Sequence[Sequence[str]]) -> str:
        """Return an FTS5 expression."""
        return " AND ".join("(" + " OR ".join(f'"{term}"' for term in some) + ")" for some in groups)

    def _select(self, name: str, values: Values) -> sqlite3.Cursor:
        return self._connection.execute(queries()[name], compared(values))


# SQLite's locks do not survive a fork, so a bank that was open then is refused in the child.
_OPENED: Final[set[Identity]] = set()
_INHERITED: Final[set[Identity]] = set()


class _Session(sqlite3.Connection):
    """A connection that takes a function of many statements in the place of one statement.

    aiosqlite changes threads twice for each statement; a recall has dozens of them, and so changes threads twice.
    """

    cancelled = threading.Event()
    """Set when the caller of the function that runs was cancelled: its next statement fails."""

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        if sql != _WORK:
            if self.cancelled.is_set():
                raise sqlite3.OperationalError("interrupted")
            return super().execute(sql, parameters)
        for work in parameters:
            work(self)
        return super().execute("")


class _Connection:
    """A connection of aiosqlite, opened when it is first used, and the file that it is for.

    Brief writes run on the connection that reads: a write on another one empties its cache of pages.
    """

    def __init__(self, path: Path, use: _Use, opened: OpenedFile, *, durable: bool) -> None:
        self._path = path
        self._use = use
        self._durable = durable
        self.opened = opened
        self._opening: asyncio.Task[aiosqlite.Connection] | None = None
        self._turn = threading.Lock()  # of what runs, which may be interrupted
        self._running: threading.Event | None = None
        self.memory: Identity | None = None
        """The shared memory of the log that it reads."""

    async def run(self, work: Callable[[sqlite3.Connection, OpenedFile], _Result]) -> _Result:
        """Run `work` on the connection's thread. If the caller is cancelled, nothing of it runs after this returns."""
        results: list[_Result] = []
        context, cancelled = copy_context(), threading.Event()

        def call(session: _Session) -> None:
            with self._turn:
                if cancelled.is_set():
                    return
                self._running = session.cancelled = cancelled
            try:
                results.append(context.run(work, session, self.opened))
            finally:
                with self._turn:
                    self._running = None
                    del session.cancelled

        connection = await self._open()
        try:
            await connection.execute(_WORK, (call,))
        except asyncio.CancelledError:
            with self._turn:
                cancelled.set()
                if self._running is cancelled:
                    await connection.interrupt()
            await asyncio.shield(asyncio.ensure_future(_ended(connection)))
            raise
        return results[0]

    async def close(self, *, move_log: bool = False) -> None:
        """Close the connection after all that runs on it; `move_log` moves its log into the file."""
        opening, self._opening = self._opening, None
        if opening is None:
            return
        with suppress(sqlite3.Error, OSError):
            await asyncio.wait([opening])
            connection = opening.result()
            if move_log:  # it waits for the write lock, so that no process restarts the log meanwhile: see `checkpoint`
                with suppress(sqlite3.Error):
                    await connection.execute_fetchall("PRAGMA wal_checkpoint(TRUNCATE)")
            await connection.close()

    async def _open(self) -> aiosqlite.Connection:
        """Return the connection; a caller that is cancelled leaves it to the next one, or to `close`."""
        if self._opening is None or (self._opening.done() and self._opening.exception() is not None):
            connection = aiosqlite.Connection(self._connect, iter_chunk_size=_CHUNK)
            _stop_at_exit(connection)
            self._opening = asyncio.ensure_future(_awaited(connection))
        return await asyncio.shield(self._opening)

    def _connect(self) -> _Session:
        read_only, frozen = bool(self.opened.read_only), self.opened.frozen is not None
        session = files.connect(self._path, read_only=read_only, frozen=frozen, wait=0, kind=_Session)
        try:
            session.row_factory = sqlite3.Row
            synchronous = "FULL" if self._use == "write" and self._durable else "NORMAL"
            for pragma in ("foreign_keys = ON", f"synchronous = {synchronous}", "secure_delete = ON", _CACHE):
                session.execute(f"PRAGMA {pragma}")
            number_of(session, "user_version")  # opens the log
        except sqlite3.Error:
            session.close()
            raise
        self.memory = identity(files.beside(self._path, "-shm"))
        return session


async def _awaited(connection: aiosqlite.Connection) -> aiosqlite.Connection:
    return await connection


async def _ended(connection: aiosqlite.Connection) -> None:
    """Wait until what was cancelled has ended: an empty statement runs after it."""
    await connection.execute("")


# A connection's thread holds up the end of the process, and a program may forget to close its bank.
_OPEN: Final = WeakSet[aiosqlite.Connection]()


@cache
def _watch_for_exit() -> None:
    def stop() -> None:
        threading.main_thread().join()
        for connection in list(_OPEN):
            connection.stop()  # pyright: ignore[reportUnknownMemberType]

    threading.Thread(target=stop, name="bank", daemon=True).start()


def _stop_at_exit(connection: aiosqlite.Connection) -> None:
    _OPEN.add(connection)
    _watch_for_exit()


def _after_fork() -> None:  # the child has none of the threads
    _INHERITED.update(_OPENED)
    _OPEN.clear()
    _watch_for_exit.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Database(repository.Database):
    """One bank file. Every method raises BankError if the file cannot be used.

    Each call checks that the file that it has open is still at the path. An acknowledged write is on disk, in that
    file. Readers never wait for a writer.
    """

    def __init__(
        self,
        path: Path,
        *,
        busy_seconds: float = 30.0,
        log: Log | None = None,
        sets_aside: bool = True,
        durable: bool = True,
    ) -> None:
        super().__init__()
        self.path = path
        self.busy_seconds = busy_seconds
        self._log = log or Log()
        self._sets_aside = sets_aside
        self._durable = durable
        self._opened: OpenedFile | None = None
        self._connections: dict[_Use, _Connection] = {}
        self._damaged: set[Identity] = set()
        self._opening = asyncio.Lock()
        self._writing: dict[_Use, asyncio.Lock] = {"write": asyncio.Lock(), "read": asyncio.Lock()}

    async def opened(self) -> OpenedFile:
        """Open the file (make it, upgrade it); return its schema, journal mode and whether it can be written."""
        async with self._explained(), self._opening:
            return await self._examine()

    async def close(self) -> None:
        """Close every connection; what was acknowledged is on disk already."""
        while self._connections:
            await self._connections.popitem()[1].close()
        self._opened = None

    async def look(self, tenant: str, work: Callable[[Reading], _Result], *, long: bool = False) -> _Result:  # noqa: ARG002 - see Database
        """Return the result of `work`, which reads as of one moment, outside of the event loop.

        With `long`, it has a connection of its own, so that recalls do not wait for it.
        """

        def read(raw: sqlite3.Connection, opened: OpenedFile) -> tuple[_Result] | None:
            raw.execute("BEGIN")
            try:
                same = number_of(raw, "user_version") == opened.schema
                return (work(Reading(SqliteExecutor(raw, self._log), self._log)),) if same else None
            finally:
                raw.rollback()

        return (await self._attempt("long read" if long else "read", read, self.busy_seconds))[0]

    async def truncate_log(self) -> None:
        """Move the log into the file and empty it, as far as readers allow: erased bytes are gone."""
        async with self._writing["write"]:
            await self._attempt("write", lambda raw, _: files.empty_log(raw, self.path), self.busy_seconds, writes=True)

    async def write(self, tenant: str, work: Callable[[Writing], _Result], *, brief: bool = False) -> _Result:  # noqa: ARG002
        """Return the result of `work`, a transaction that is on disk then, and undone if it fails.

        It runs outside of the event loop, and again if the file is locked or replaced before it is committed. If the
        caller is cancelled, it is written whole or not at all. With `brief`, a power cut may lose it, and no caller
        waits for another process for long. Raises BankReadOnlyError, BankBusyError (after `busy_seconds`, or 10 ms) or
        BankError.
        """

        def transact(raw: sqlite3.Connection, opened: OpenedFile) -> tuple[_Result, set[str]] | None:
            try:
                raw.execute("BEGIN IMMEDIATE")
                if number_of(raw, "user_version") != opened.schema or opened.identity != identity(self.path):
                    return None
                writing = Writing(SqliteExecutor(raw, self._log), self._log)
                result = work(writing)
                raw.commit()
            finally:
                raw.rollback()  # nothing after a commit
            if opened.identity != identity(self.path):
                raise BankError(
                    f"The bank {self.path} was removed or replaced while this was written; it may not have been kept. "
                    "Try again."
                )
            if files.log_bytes(self.path) >= files.LONG_LOG_BYTES:
                with suppress(sqlite3.Error, OSError):  # what was written is on disk; the next write tries again
                    files.checkpoint(raw, self.path)
            return result, writing.ran

        use: _Use = "read" if brief else "write"
        wait = BRIEF_WAIT_SECONDS if brief else self.busy_seconds
        async with self._writing[use]:
            result, ran = await self._attempt(use, transact, wait, writes=True)
        self._committed(ran)
        return result

    async def _attempt(
        self,
        use: _Use,
        work: Callable[[sqlite3.Connection, OpenedFile], _Result | None],
        seconds: float,
        *,
        writes: bool = False,
    ) -> _Result:
        """Return the result of `work` on a connection to the file at the path.

        `work` returns None if the file or its schema has changed. It is repeated for `seconds` while it finds the file
        locked: SQLite's own busy handler tries less and less often, while a new process tries at once, so under load
        the longest waiter comes last. Here everybody tries after a random pause.
        """
        end, changes = time.monotonic() + seconds, 0
        async with self._explained(use):
            while changes < _MOST_CHANGES:
                try:
                    connection = await self._connection(use, writes=writes)
                    if (result := await connection.run(work)) is not None:
                        return result
                    self._opened = None
                    changes += 1
                except sqlite3.OperationalError as error:
                    if not files.locked(error) or time.monotonic() >= end:
                        raise
                    await asyncio.sleep(_PAUSE_SECONDS * (1 + Clock().random(1)[0]) / 256)
            raise BankError(f"The bank {self.path} is replaced again and again. Try again when that has ended.")

    async def _connection(self, use: _Use, *, writes: bool) -> _Connection:
        """Return the connection for a use, to the file that is at the path now."""
        async with self._opening:
            opened = await self._examine()
            if writes and opened.read_only:
                self._opened = None
                opened = await self._examine()  # a person may have given the right to write
                if opened.read_only:
                    raise BankReadOnlyError(f"The bank {self.path} can only be read: {opened.read_only}")
            connection = self._connections.get(use)
            if connection is not None:
                if connection.opened == opened:
                    return connection
                del self._connections[use]
                await self._leave(connection)
            self._connections[use] = _Connection(self.path, use, opened, durable=self._durable)
            return self._connections[use]

    async def _examine(self) -> OpenedFile:
        """Return the state of the file at the path, made or upgraded if necessary."""
        current = identity(self.path)
        if current in _INHERITED:
            raise BankError(
                f"The bank {self.path} was open when this process was forked, and cannot be used in it. "
                "Open it after the fork, or start the process anew (spawn)."
            )
        before, self._opened = self._opened, None  # set again at the end: an error here examines anew
        if before is not None and before.identity == current:
            if files.hollow(self.path):
                raise BankDamagedError(f"The bank {self.path} was emptied while it was open.")
            if before.frozen is None:
                self._opened = before
                return before
        elif before is not None:
            # Finish the file that was open where it is now, and keep its log off the file that replaced it.
            self._log.warning("bank_replaced", bank=str(self.path), found=current is not None)
            # A writer may be in a transaction, and notices by itself.
            for connection in [self._connections.pop(use) for use in _READS if use in self._connections]:
                await self._leave(connection)
                if connection.memory is not None and connection.memory == identity(files.beside(self.path, "-shm")):
                    files.clear_logs(self.path)
        self._opened = await asyncio.to_thread(files.prepare, self.path, self.busy_seconds)
        _OPENED.add(self._opened.identity)
        return self._opened

    async def _leave(self, connection: _Connection) -> None:
        """Close a connection to a file that is no longer the bank, after moving its log into it."""
        await connection.close(move_log=connection.opened.identity not in self._damaged)

    async def set_aside(
        self, error: BankDamagedError, use: _Use | None = None, *, sure: bool = False
    ) -> BankDamagedError:
        """Move the damaged file away (`sure`: without a check), and return an error that says where."""
        async with self._opening:
            connection = self._connections.get(use) if use and self._opened else None
            damaged = connection.opened.identity if connection else identity(self.path)
            self._opened = None
            with explained(self.path):
                aside, copy = await asyncio.to_thread(files.set_aside, self.path, damaged, Clock().now(), sure)
            if damaged is not None and identity(self.path) != damaged:
                self._damaged.add(damaged)
        text = f"{error} It may have been set aside by another server a moment ago: try once more."
        if aside is not None:
            text = (
                f"{error} It was set aside as {aside}, and nothing of it was deleted; nothing of this call was stored. "
                + (f"The next call uses the copy {copy.name}." if copy else "The next call begins a new bank.")
            )
        self._log.error("bank_set_aside", bank=str(self.path), aside=aside and str(aside), error=text)
        return BankDamagedError(text)

    @asynccontextmanager
    async def _explained(self, use: _Use | None = None) -> AsyncGenerator[None]:
        try:
            with explained(self.path):
                yield
        except BankDamagedError as error:
            if not self._sets_aside:
                raise
            raise await asyncio.shield(self.set_aside(error, use)) from error
