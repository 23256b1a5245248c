"""The bank's file, shared with other processes: its connections, and the transactions that run on them."""

import asyncio
import os
import sqlite3
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final, Literal, TypeAlias, TypeVar

from mcp_reflect.clock import Clock
from mcp_reflect.errors import BankDamagedError, BankError, BankReadOnlyError
from mcp_reflect.log import Log
from mcp_reflect.storage import repository
from mcp_reflect.storage.queries import queries
from mcp_reflect.storage.repository import READS, Mode, Writing
from mcp_reflect.storage.rows import Row, damaged, name_of
from mcp_reflect.storage.sqlite import file_access, files, write_ahead_log
from mcp_reflect.storage.sqlite.connection import SqliteConnection
from mcp_reflect.storage.sqlite.damaged import SetAside, set_aside
from mcp_reflect.storage.sqlite.faults import explained
from mcp_reflect.storage.sqlite.file_access import Identity, OpenedFile, identity, number_of
from mcp_reflect.storage.values import Bound, Values, compared

BRIEF_WAIT_SECONDS: Final = 0.01
"""About as long as a short write; after it, a brief write is given up."""

_PAUSE_SECONDS: Final = 0.005
"""The longest between two tries to write; random, so that no process starves."""

_Result = TypeVar("_Result")
_Use: TypeAlias = Literal["write", "read", "long read"]

_LOCKED: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)
_PRIMARY_CODE: Final = 0xFF
"""The part of SQLite's result code that names the kind of error (sqlite.org/rescode.html)."""


class SqliteTransaction(Writing):
    """Runs named SQL on a connection."""

    def __init__(self, connection: sqlite3.Connection, log: Log) -> None:
        super().__init__(log)
        self._connection = connection

    def rows(self, name: str, values: Values) -> list[Row]:
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
        lost = [row for row in rows if _has_lost_letters(row)]
        if name.endswith("_by_id") and lost:
            raise damaged(rows[0])
        for row in lost:
            self.log.warning("bank_record_damaged", record=name_of(row))
        return [row for row in rows if row not in lost]

    def execute(self, name: str, values: Bound) -> int:
        """Run a named statement with values that are redacted; return the number of changed rows."""
        return self._connection.execute(queries()[name], values).rowcount

    def execute_many(self, name: str, rows: Iterable[Bound]) -> None:
        """Run a named statement once for each of `rows`."""
        self._connection.executemany(queries()[name], rows)

    def matching(self, groups: Sequence[Sequence[str]]) -> str:
        """Return the FTS5 condition that a row has at least one term of each group."""
        return " AND ".join(_any_of(group) for group in groups)

    def _select(self, name: str, values: Values) -> sqlite3.Cursor:
        """Run a named query, whose values are only compared; return the cursor with its rows."""
        return self._connection.execute(queries()[name], compared(values))


def _has_lost_letters(row: sqlite3.Row) -> bool:
    """Return whether a text of a row is not UTF-8: bytes that are no letter were read as the sign U+FFFD."""
    return any(isinstance(text, str) and "\ufffd" in text for text in row)


def _any_of(terms: Sequence[str]) -> str:
    """Return the part of a search that a row has one of these terms: `("proxy" OR "cache")`."""
    return "(" + " OR ".join(f'"{term}"' for term in terms) + ")"


_BEGIN: Final[dict[Mode, str]] = {
    "read": "BEGIN",
    "long read": "BEGIN",
    "write": "BEGIN IMMEDIATE",
    "brief": "BEGIN IMMEDIATE",
}


_PROCESSES: Final[dict[Identity | None, int]] = {}
"""The id of the process that opened each file: SQLite's locks do not survive a fork."""


class SqliteDatabase(repository.Database):
    """One bank file. Every method raises BankError if the file cannot be used.

    An acknowledged write is on disk. Readers never wait for a writer. Brief writes run on the connection that reads: a
    write on another one empties its cache of pages.
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
        super().__init__(busy_seconds, log)
        self.path = path
        self._sets_aside = sets_aside
        self._durable = durable
        self._opened: OpenedFile | None = None
        self._connections: dict[_Use, SqliteConnection] = {}

    async def opened(self) -> OpenedFile:
        """Open the file (make it, upgrade it); return its state."""
        return await self._attempt(
            "read", lambda _, opened: opened, self.busy_seconds, writes=False
        )

    async def close(self) -> None:
        """Close every connection; what was acknowledged is on disk already."""
        while self._connections:
            await self._connections.popitem()[1].close()
        self._opened = None

    async def truncate_log(self) -> None:
        """Move the log into the file and empty it, as far as readers allow: erased bytes are gone."""
        await self._attempt(
            "write",
            lambda raw, _: write_ahead_log.empty_log(raw, self.path),
            self.busy_seconds,
            writes=True,
        )

    async def _transact(
        self,
        mode: Mode,
        tenant: str,  # noqa: ARG002
        work: Callable[[Writing], _Result],
    ) -> _Result:
        """Return the result of `work` in a transaction; the file is the bank of one tenant, so which is not asked."""
        writes = mode not in READS

        def transact(raw: sqlite3.Connection, opened: OpenedFile) -> tuple[_Result] | None:
            """Return the result in a tuple, since it may be None; None if the file has another schema now."""
            raw.execute(_BEGIN[mode])
            try:
                if number_of(raw, "user_version") != opened.schema:
                    return None
                result = work(SqliteTransaction(raw, self._log))
                if writes:
                    raw.commit()
            finally:
                raw.rollback()  # nothing after a commit
            if writes:
                self._shorten_log(raw)
            return (result,)

        use: _Use
        if mode == "brief":
            use = "read"
            seconds = BRIEF_WAIT_SECONDS
        else:
            use = mode
            seconds = self.busy_seconds
        (result,) = await self._attempt(use, transact, seconds, writes=writes)
        return result

    def _shorten_log(self, raw: sqlite3.Connection) -> None:
        """Move a log that has grown long into the file; if it fails, what was written is on disk all the same."""
        if file_access.log_bytes(self.path) < write_ahead_log.LONG_LOG_BYTES:
            return
        with suppress(sqlite3.Error, OSError):  # the next write tries again
            write_ahead_log.checkpoint(raw, self.path)

    async def _attempt(
        self,
        use: _Use,
        work: Callable[[sqlite3.Connection, OpenedFile], _Result | None],
        seconds: float,
        *,
        writes: bool,
    ) -> _Result:
        """Return the result of `work` on a connection, tried again for `seconds` while the file is locked.

        `work` returns None if another release has upgraded the file meanwhile: the file is opened anew then. SQLite's
        own busy handler tries less and less often, while a new process tries at once, so under load the longest waiter
        comes last. Here everybody tries after a random pause.
        """
        end = time.monotonic() + seconds
        async with self._explained():
            while True:
                try:
                    connection = await self._connection(use, writes=writes)
                    result = await connection.run(work)
                except sqlite3.OperationalError as error:
                    is_locked = error.sqlite_errorcode & _PRIMARY_CODE in _LOCKED
                    if not is_locked or time.monotonic() >= end:
                        raise
                    await self._pause(_PAUSE_SECONDS)
                    continue
                if result is not None:
                    return result
                self._opened = None

    async def _connection(self, use: _Use, *, writes: bool) -> SqliteConnection:
        """Return the connection for a use, the last one if the file and its state are still the same, else a new one.

        BankReadOnlyError if it shall write and the file can only be read. A connection that takes the file as immutable
        is never used again, since it does not see what others write.
        """
        async with self._opening:
            opened = await self._examine(writes=writes)
            if writes and opened.read_only:
                raise BankReadOnlyError(
                    f"The bank {self.path} can only be read: {opened.read_only}"
                )
            connection = self._connections.get(use)
            if connection is not None:
                if connection.opened == opened and not opened.immutable and not connection.failed:
                    return connection
                await connection.close()
            synchronous = "NORMAL"
            if use == "write" and self._durable:
                synchronous = "FULL"
            connection = SqliteConnection(self.path, opened, synchronous)
            self._connections[use] = connection
            return connection

    async def _examine(self, *, writes: bool) -> OpenedFile:
        """Return the state of the file at the path, which is made or upgraded when it is first used.

        BankError if it is not the file that was opened: somebody removed or replaced it. A file that could not be written
        is looked at again before a write, since a person may have given the right to it.
        """
        current = identity(self.path)
        self._refuse_fork(self.path, _PROCESSES.get(current, os.getpid()))
        opened = self._opened
        self._opened = None  # set again at the end: after an error here the file is examined anew
        if opened is None or opened.immutable or (writes and opened.read_only):
            opened = await asyncio.to_thread(files.prepare, self.path, self.busy_seconds)
            _PROCESSES.setdefault(opened.identity, os.getpid())
        elif opened.identity != current:
            while self._connections:  # their log must not be read into the file that is there now
                await self._connections.popitem()[1].close(move_log=True)
            raise BankError(
                f"The bank {self.path} was removed or replaced while it was open; nothing of this call was stored. "
                "Try again: the next call uses the file that is there then."
            )
        self._opened = opened
        return opened

    async def _set_aside(self, error: BankDamagedError) -> BankDamagedError:
        """Move the damaged file away, and return an error that says where."""
        async with self._opening:
            damaged_file = self._opened.identity if self._opened else identity(self.path)
            # First the connections go: SQLite removes the log of a database by its name when the last one is closed,
            # and that would be the log of the file that is at the path then.
            await self.close()
            with explained(self.path):
                moved = await asyncio.to_thread(set_aside, self.path, damaged_file, Clock().now())
        text = f"{error} {_what_became_of(moved)}"
        self._log.error(
            "bank_set_aside", bank=str(self.path), aside=moved.file and str(moved.file), error=text
        )
        return BankDamagedError(text)

    @asynccontextmanager
    async def _explained(self) -> AsyncGenerator[None]:
        """Turn errors of SQLite into ours; a damaged file is set aside, unless a person works on it."""
        try:
            with explained(self.path):
                yield
        except BankDamagedError as error:
            if not self._sets_aside:
                raise
            raise await asyncio.shield(self._set_aside(error)) from error


def _what_became_of(moved: SetAside) -> str:
    """Return the sentences of an error that say where a damaged file is now, and what the next call uses."""
    if moved.file is None:
        return "It may have been set aside by another server a moment ago: try once more."
    where = f"It was set aside as {moved.file}, and nothing of it was deleted; nothing of this call was stored."
    if moved.copy is None:
        return f"{where} The next call begins a new bank."
    return f"{where} The next call uses the copy {moved.copy.name}."
