"""Connections to a bank's file: opened when first used, and again when another file lies at its path."""

import asyncio
import sqlite3
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from mcp_reflect.clock import Clock
from mcp_reflect.errors import BankDamagedError
from mcp_reflect.log import Log
from mcp_reflect.storage.sqlite.files import (
    Identity,
    beside,
    by_hand,
    hollow,
    identity,
    left_aside,
    refuse_inherited,
    set_aside,
)
from mcp_reflect.storage.sqlite.schema import Opened, clear_logs, number_of, prepare, thawed, uri
from mcp_reflect.storage.sqlite.statements import Connection

_CACHE_KB: Final = 32_000  # of pages that a connection keeps: enough for a block's postings

Use: TypeAlias = Literal["write", "read", "brief"]


@dataclass(frozen=True, slots=True)
class _Held:
    connection: Connection
    identity: Identity
    """The file that it was opened on."""
    log: Identity | None
    """The shared memory of the log that it reads."""
    frozen: tuple[int, int] | None = None
    """The state of a file that it reads without looking again; see `Opened`."""


class Connections:
    """The connections of this process to one bank."""

    def __init__(self, path: Path, busy_seconds: float, log: Log) -> None:
        self._path = path
        self._busy_seconds = busy_seconds
        self._log = log
        self._opened: Opened | None = None
        self._held: dict[Use, _Held] = {}
        self._damaged: set[Identity] = set()
        self._opening = asyncio.Lock()

    async def opened(self, *, again: bool = False) -> Opened:
        """Return the state of the file at the path, made or upgraded if necessary; `again` examines it anew."""
        async with self._opening:
            if again:
                self._opened = None
            return await self._examine()

    async def get(self, use: Use) -> Connection:
        """Return the connection for a use, to the file that lies at the path now."""
        async with self._opening:
            opened = await self._examine()
            held = self._held.get(use)
            if held is not None and (held.identity, held.frozen) == (opened.identity, opened.frozen):
                return held.connection
            if held is not None:
                del self._held[use]
                await self._leave(held)
            connecting = asyncio.ensure_future(self._connect(use, opened))
            try:
                self._held[use] = await asyncio.shield(connecting)
            except asyncio.CancelledError:
                # Its thread has started and `close` must end it: keep it for the next caller.
                with suppress(sqlite3.Error):
                    self._held[use] = await connecting
                raise
            return self._held[use].connection

    def moved(self, use: Use) -> bool:
        """True if the file that this use has open does not lie at the path any more."""
        held = self._held.get(use)
        return held is None or held.identity != identity(self._path)

    async def close(self) -> None:
        """Close every connection; what was acknowledged is on disk already."""
        while self._held:
            _, held = self._held.popitem()
            await held.connection.close()
        self._opened = None

    async def schema(self) -> int:
        """Return the schema version of the file as it is now, 0 if it was not opened."""
        held = self._held.get("read")
        return 0 if held is None else await held.connection.run(lambda raw: number_of(raw, "user_version"))

    async def set_aside(self, error: BankDamagedError, use: Use | None) -> BankDamagedError:
        """Move the damaged file away, and return an error that says where; the next use begins a new bank."""
        async with self._opening:
            held = self._held.get(use) if use and self._opened else None
            damaged = held.identity if held else identity(self._path)
            self._opened = None
            stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(Clock().now()))
            aside = await asyncio.to_thread(set_aside, self._path, damaged, stamp)
            if damaged is not None and identity(self._path) != damaged:
                self._damaged.add(damaged)
        located = left_aside(aside, error)
        self._log("bank_set_aside", "error", bank=str(self._path), aside=aside and str(aside), error=str(located))
        return located

    async def _examine(self) -> Opened:
        current = identity(self._path)
        refuse_inherited(self._path, current)
        before, self._opened = self._opened, None  # set again at the end: an error here examines anew
        if before is not None and before.identity == current:
            if hollow(self._path):
                raise BankDamagedError(f"The bank {self._path} was emptied while it was open.")
            if not thawed(self._path, before):
                self._opened = before
                return before
        elif before is not None:
            await self._abandon()
        self._opened = await asyncio.to_thread(prepare, self._path, self._busy_seconds)
        return self._opened

    async def _abandon(self) -> None:
        """Finish the file that was open where it is now, and keep its log off the file that replaced it."""
        self._log("bank_replaced", "warning", bank=str(self._path), found=identity(self._path) is not None)
        held = self._held.pop("read", None)  # a writer may be in a transaction, and notices by itself
        if held is None:
            return
        await self._leave(held)
        if held.log is not None and held.log == identity(beside(self._path, "-shm")):
            clear_logs(self._path)

    async def _leave(self, held: _Held) -> None:
        """Close a connection to a file that is not the bank any more, after moving its log into it."""

        def move_log(raw: sqlite3.Connection) -> None:
            # It waits for the write lock, so that nobody restarts the log meanwhile: see `checkpoint`.
            raw.execute("PRAGMA query_only = OFF")
            raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

        with suppress(sqlite3.Error):
            if held.identity not in self._damaged:
                await held.connection.run(move_log)
        with suppress(sqlite3.Error):
            await held.connection.close()

    async def _connect(self, use: Use, opened: Opened) -> _Held:
        def connect() -> sqlite3.Connection:
            address = uri(self._path, read_only=bool(opened.read_only), frozen=opened.frozen)
            raw = sqlite3.connect(address, uri=True, timeout=self._busy_seconds, isolation_level=None)
            try:
                raw.row_factory = sqlite3.Row
                raw.execute("PRAGMA foreign_keys = ON")
                raw.execute(f"PRAGMA synchronous = {'NORMAL' if use == 'brief' else 'FULL'}")
                raw.execute("PRAGMA secure_delete = ON")
                if use != "brief":
                    raw.execute(f"PRAGMA cache_size = -{_CACHE_KB}")
                raw.execute("PRAGMA user_version").fetchone()  # opens the log
                if use == "read":
                    raw.execute("PRAGMA query_only = ON")
                else:
                    raw.execute("PRAGMA busy_timeout = 0")  # `patiently` waits instead
                    by_hand(raw)
            except sqlite3.Error:
                raw.close()
                raise
            return raw

        connection = await Connection.open(connect)
        return _Held(connection, opened.identity, identity(beside(self._path, "-shm")), opened.frozen)
