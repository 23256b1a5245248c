"""A connection to the bank's file: each runs the functions of transactions on a thread of its own, for database.py."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import aiosqlite

from mcp_reflect.storage.sqlite import file_access
from mcp_reflect.storage.sqlite.file_access import OpenedFile, number_of

_RUN_FUNCTION: Final = "-- work"
"""Stands in the place of a statement, with the function to run as its only parameter: see `_Session`."""

_STEPS_BETWEEN_STOPS: Final = 10_000
"""Steps of SQLite's machine, some 0.2 ms, after which a statement of a cancelled caller is stopped."""

_ROWS_AT_ONCE: Final = 64  # that aiosqlite would fetch; a function fetches its own
_CACHE: Final = "cache_size = -32000"
"""kB of pages that a connection keeps: enough for the entries of a search in the text index."""

_Result = TypeVar("_Result")


class _Session(sqlite3.Connection):
    """A connection that takes a function of many statements in the place of one statement.

    aiosqlite changes threads twice for each statement; a recall has dozens of them, and so changes threads twice.
    """

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """Execute a statement, or call the function that stands in the place of its parameters."""
        if sql != _RUN_FUNCTION:
            return super().execute(sql, parameters)
        (work,) = parameters
        work(self)
        return super().execute("")  # aiosqlite wants a cursor


def _session(path: Path, opened: OpenedFile, synchronous: str) -> _Session:
    """Connect to a file, with the pragmas of every connection; `synchronous` says when it waits for the disk."""
    session = file_access.connect(
        path, read_only=bool(opened.read_only), immutable=opened.immutable, wait=0, kind=_Session
    )
    pragmas = ("foreign_keys = ON", f"synchronous = {synchronous}", "secure_delete = ON", _CACHE)
    try:
        for pragma in pragmas:
            session.execute(f"PRAGMA {pragma}")
        number_of(session, "user_version")  # opens the log
    except sqlite3.Error:
        session.close()
        raise
    return session


class SqliteConnection:
    """A connection of aiosqlite, which opens at once, and the file that it is for."""

    def __init__(self, path: Path, opened: OpenedFile, synchronous: str) -> None:
        """Begin to open the file.

        A thread is a daemon if the thread that made it is one. aiosqlite makes its thread here, from a daemon: so a
        connection that a program forgot to close does not hold up the end of its process.
        """
        self.opened = opened
        made: list[aiosqlite.Connection] = []

        def make() -> None:
            connect = partial(_session, path, opened, synchronous)
            made.append(aiosqlite.Connection(connect, _ROWS_AT_ONCE))

        maker = threading.Thread(target=make, daemon=True)
        maker.start()
        maker.join()
        self.opening = asyncio.ensure_future(made[0])

    @property
    def failed(self) -> bool:
        """True if the file could not be opened."""
        return self.opening.done() and self.opening.exception() is not None

    async def run(self, work: Callable[[sqlite3.Connection, OpenedFile], _Result]) -> _Result:
        """Return the result of `work`, which runs on the connection's thread with the context of the caller.

        If the caller is cancelled, SQLite stops the statement that runs, and this waits for that: nothing of `work` runs
        after it has returned.
        """
        results: list[_Result] = []
        context = copy_context()
        cancelled = threading.Event()

        def call(session: _Session) -> None:
            session.set_progress_handler(cancelled.is_set, _STEPS_BETWEEN_STOPS)
            try:
                results.append(context.run(work, session, self.opened))
            finally:
                session.set_progress_handler(None, 0)

        # A caller that is cancelled leaves the opening to the next one.
        connection = await asyncio.shield(self.opening)
        running = asyncio.ensure_future(connection.execute(_RUN_FUNCTION, (call,)))
        try:
            await asyncio.shield(running)
        except asyncio.CancelledError:
            cancelled.set()
            # A scope of anyio cancels again at each turn of the loop, until its task is left.
            while not running.done():
                with suppress(asyncio.CancelledError):
                    await asyncio.wait([running])
            if not running.cancelled():
                running.exception()  # asyncio would log one that nobody looked at
            raise
        return results[0]

    async def close(self, *, move_log: bool = False) -> None:
        """Close the connection after all that runs on it; `move_log` moves its log into the file first."""
        with suppress(sqlite3.Error, OSError):
            await asyncio.wait([self.opening])
            connection = self.opening.result()
            if move_log:
                with suppress(sqlite3.Error):
                    await connection.execute_fetchall("PRAGMA wal_checkpoint(TRUNCATE)")
            await connection.close()
