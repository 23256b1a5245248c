"""The bank's file, shared with other processes: transactions, and SQLite's errors in plain words."""

import asyncio
import errno
import sqlite3
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from mcp_reflect.errors import BankBusyError, BankDamagedError, BankError, BankReadOnlyError
from mcp_reflect.log import Log
from mcp_reflect.storage.sqlite.connections import Connections, Use
from mcp_reflect.storage.sqlite.files import beside, checkpoint, empty_log, identity, log_is_long, patiently, races
from mcp_reflect.storage.sqlite.schema import Opened, newer, newest, number_of
from mcp_reflect.storage.sqlite.statements import Connection, Reading, Transaction, Values, Writing

# SQLite's errors in words, for the person who runs the server.


_FULL: Final = "cannot grow: the disk is full. Free some space and try again; what was stored before is kept"
_DISK: Final = "cannot be read or written: the disk reports an error. Look at the disk; then try again"

# SQLite's result codes (sqlite.org/rescode.html) → the error, and what to do about it.
_MEANINGS: Final[dict[int, tuple[type[BankError], str]]] = {
    sqlite3.SQLITE_BUSY: (BankBusyError, "is held by another process. Try again, or end the process that holds it"),
    sqlite3.SQLITE_PROTOCOL: (BankBusyError, "is held by other processes. Try again"),
    sqlite3.SQLITE_READONLY: (
        BankReadOnlyError,
        "cannot be written. Give this user the right to write it, or set MCP_REFLECT_BANK",
    ),
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


# The process that holds the bank's write lock, on Linux.


_LOCKS: Final = Path("/proc/locks")
_WRITE_LOCK: Final = {"-shm": ("120", "120"), "": ("1073741824", "1073741825")}
"""The bytes that SQLite locks to write: in the shared memory of a log, or in the file itself
(sqlite.org/walformat.html and fileformat2.html, the lock-byte page)."""


def holder(path: Path) -> str:
    """Return the process that is writing the bank at `path`, and whether it is suspended; empty if not known."""
    with suppress(OSError, ValueError, IndexError):
        for ending, (first, last) in _WRITE_LOCK.items():
            file_identity = identity(beside(path, ending))
            if file_identity is None:
                continue
            for line in _LOCKS.read_text().splitlines():
                if "WRITE" not in line:
                    continue
                pid, file, begin, end = line[line.index("WRITE") :].split()[1:5]
                if (
                    int(file.split(":")[2]) == file_identity[1]
                    and begin >= first
                    and end <= last
                    and len(begin) == len(first)
                ):
                    return _named(pid)
    return ""


def _named(pid: str) -> str:
    name, _, rest = Path(f"/proc/{pid}/stat").read_text().partition("(")[2].rpartition(")")
    suspended = ", which is suspended" if rest.split()[0] in ("T", "t") else ""
    return f"process {pid} ({name}{suspended})"


# What is acknowledged is on disk, in the file that lies at the bank's path. Readers never wait for a writer.


BRIEF_WAIT_SECONDS: Final = 0.01  # about as long as a short write; after it, a brief write is given up
_LONG_WRITE: Final = 0.05  # seconds; after such a write, others get their turn before this process writes again
_PAUSE_AFTER: Final = 0.015  # seconds; longer than a waiter pauses, see `pause`
_MOST_CHANGES: Final = 3  # files that may follow each other at the path while a write begins

_Result = TypeVar("_Result")


class Database:
    """One bank file. Every method raises BankError if the file cannot be used."""

    def __init__(
        self, path: Path, *, busy_seconds: float = 30.0, log: Log | None = None, sets_aside: bool = True
    ) -> None:
        self.path = path
        self.busy_seconds = busy_seconds
        self._file = Connections(path, busy_seconds, log or Log())
        self._sets_aside = sets_aside
        self._listeners: list[tuple[frozenset[str], Callable[[], None]]] = []
        self._writing = asyncio.Lock()
        self._writing_briefly = asyncio.Lock()
        self._rest_until = 0.0

    async def opened(self) -> Opened:
        """Open the file (make it, upgrade it); return its schema, journal mode and whether it can be written."""
        async with self._explained():
            return await self._file.opened()

    async def close(self) -> None:
        """Close every connection; what was acknowledged is on disk already."""
        await self._file.close()

    async def set_aside(self) -> BankDamagedError:
        """Move the damaged file away, and return an error that says where. The next use begins a new bank."""
        with explained(self.path):
            return await self._file.set_aside(BankDamagedError(f"The bank {self.path} is damaged."), None)

    async def rows(self, name: str, values: Values) -> list[sqlite3.Row]:
        """Return the rows of a named query.

        In a bank of a newer release a row may lack a column: asking for that one raises BankReadOnlyError.
        """
        async with self._explained("read"):
            opened = await self._file.opened()
            connection = await self._file.get("read")
            rows, schema = await connection.run(
                lambda raw: ((reading := Reading(raw)).rows(name, values), reading.schema())
            )
            if schema != opened.schema:
                opened = await self._file.opened(again=True)
            return rows if opened.schema <= newest() else [_newer_row(row, self.path, schema) for row in rows]

    async def row(self, name: str, values: Values) -> sqlite3.Row | None:
        """Return the first row of a named query, None if there is none."""
        return next(iter(await self.rows(name, values)), None)

    async def look(self, work: Callable[[Reading], _Result]) -> _Result:
        """Return the result of `work`, which reads as of one moment, outside of the event loop."""

        def read(raw: sqlite3.Connection) -> _Result:
            reading = Reading(raw)
            with reading.snapshot():
                try:
                    return work(reading)
                except LookupError:  # a row without a column that this release asks for
                    if (schema := reading.schema()) <= newest():
                        raise
                    raise BankReadOnlyError(_outgrown(self.path, schema)) from None

        async with self._explained("read"):
            await self._file.opened()
            return await (await self._file.get("read")).run(read)

    @asynccontextmanager
    async def write(self) -> AsyncGenerator[Transaction]:
        """Open a transaction that is on disk when the block ends, and undone if the block fails or is cancelled.

        Raises BankReadOnlyError, BankBusyError (after `busy_seconds`) or BankError.
        """
        async with self._writing:
            await asyncio.sleep(max(self._rest_until - time.monotonic(), 0))
            async with self._explained("write"):
                connection = await self._begun()
                start = time.monotonic()
                tx = Transaction(connection)
                try:
                    yield tx
                    self._refuse_moved("write")
                    await asyncio.shield(
                        patiently(partial(connection.run, sqlite3.Connection.commit), self.busy_seconds)
                    )
                except BaseException:
                    await asyncio.shield(connection.run(sqlite3.Connection.rollback))
                    raise
                self._refuse_moved("write")
            await self._checkpoint("write")
            if time.monotonic() - start > _LONG_WRITE:
                self._rest_until = time.monotonic() + _PAUSE_AFTER
        for names, listener in self._listeners:
            if names & tx.ran:
                listener()

    def on_commit(self, names: frozenset[str], listener: Callable[[], None]) -> None:
        """Call `listener` after each transaction of this process that ran one of these statements."""
        self._listeners.append((names, listener))

    async def write_briefly(self, work: Callable[[Writing], _Result]) -> _Result:
        """Return the result of `work`, a small transaction that no caller should wait for.

        It is begun and ended with one change of threads. A power cut may lose it, and BankBusyError is raised after
        10 ms if another process writes.
        """
        async with self._writing_briefly, self._explained("brief"):
            for _ in range(_MOST_CHANGES):
                opened = await self._writable()
                connection = await self._file.get("brief")
                transact = partial(self._transact, schema=opened.schema, work=work)
                result = await patiently(partial(connection.run, transact), BRIEF_WAIT_SECONDS)
                if result:
                    await self._checkpoint("brief")
                    return result[0]
                await self._file.opened(again=True)
            raise self._changing()

    def _transact(
        self, raw: sqlite3.Connection, schema: int, work: Callable[[Writing], _Result]
    ) -> tuple[_Result] | None:
        """Run a whole transaction; return None if the file or its schema has changed."""
        try:
            if _begin(raw) != schema or self._file.moved("brief"):
                raw.rollback()
                return None
            result = work(Writing(raw, set()))
            self._refuse_moved("brief")
            raw.commit()
        except BaseException:
            raw.rollback()
            raise
        self._refuse_moved("brief")
        return (result,)

    async def truncate_log(self) -> None:
        """Move the log into the file and empty it, as far as readers allow: erased bytes are gone."""
        async with self._writing, self._explained("write"):
            connection = await self._file.get("write")
            if races():
                emptied = partial(connection.run, lambda raw: empty_log(raw, self.path))
                await asyncio.shield(patiently(emptied, self.busy_seconds))
            else:
                await connection.run(lambda raw: raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())

    async def _checkpoint(self, use: Use) -> None:
        """Move a long log into the file if SQLite does not do that safely by itself; a failure is tried again later."""
        if not races() or not log_is_long(self.path):
            return
        with suppress(sqlite3.Error, OSError, BankError):  # what was written is on disk; the next write tries again
            connection = await self._file.get(use)
            await connection.run(lambda raw: checkpoint(raw, self.path))

    async def _writable(self) -> Opened:
        opened = await self._file.opened()
        if opened.read_only:
            opened = await self._file.opened(again=True)  # a person may have given the right to write
        if opened.read_only:
            raise BankReadOnlyError(f"The bank {self.path} can only be read: {opened.read_only}")
        return opened

    async def _begun(self) -> Connection:
        """Return a connection in a transaction, on the file at the path and in the schema that this release writes."""
        for _ in range(_MOST_CHANGES):
            opened = await self._writable()
            connection = await self._file.get("write")
            try:
                schema = await patiently(partial(connection.run, _begin), self.busy_seconds)
                if schema == opened.schema and not self._file.moved("write"):
                    return connection
            except BaseException:
                # A cancelled BEGIN still runs on the connection's thread, before this: undo it as well.
                await asyncio.shield(connection.run(sqlite3.Connection.rollback))
                raise
            await asyncio.shield(connection.run(sqlite3.Connection.rollback))
            await self._file.opened(again=True)
        raise self._changing()

    def _changing(self) -> BankError:
        return BankError(f"The bank {self.path} is replaced again and again. Try again when that has ended.")

    def _refuse_moved(self, use: Use) -> None:
        if self._file.moved(use):
            raise BankError(
                f"The bank {self.path} was removed or replaced while this was written; it may not have been kept. "
                "Try again."
            )

    @asynccontextmanager
    async def _explained(self, use: Use | None = None) -> AsyncGenerator[None]:
        try:
            with explained(self.path):
                yield
        except BankBusyError as error:
            process = holder(self.path)
            text = str(error).replace("another process", process, 1) if process else str(error)
            raise BankBusyError(text) from error
        except BankDamagedError as error:
            if not self._sets_aside:
                raise
            with explained(self.path):
                raise await asyncio.shield(self._file.set_aside(error, use)) from error
        except sqlite3.OperationalError as error:
            # It asked for a part that this schema does not have: the bank was upgraded under a running server.
            version = await self._file.schema()
            if version <= newest():
                raise
            raise BankReadOnlyError(_outgrown(self.path, version)) from error


def _outgrown(path: Path, schema: int) -> str:
    return f"The bank {path} cannot be read any more: {newer(schema)}"


class _NewerRow(dict[str, Any]):
    """A row of a bank that a newer release made: asking for a column that it lacks raises BankReadOnlyError."""

    def __init__(self, row: sqlite3.Row, message: str) -> None:
        super().__init__(zip(row.keys(), row, strict=True))
        self._message = message

    def __missing__(self, name: str) -> Any:
        raise BankReadOnlyError(self._message)


def _newer_row(row: sqlite3.Row, path: Path, schema: int) -> sqlite3.Row:
    return cast("sqlite3.Row", _NewerRow(row, _outgrown(path, schema)))


def _begin(raw: sqlite3.Connection) -> int:
    """Begin to write; return the version of the schema that is written."""
    raw.execute("BEGIN IMMEDIATE")
    return number_of(raw, "user_version")
