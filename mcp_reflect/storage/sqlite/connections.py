"""Connections to a bank's file: opened when first used, and again when another file lies at its path."""

import asyncio
import sqlite3
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

import aiosqlite

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
from mcp_reflect.storage.sqlite.schema import Opened, clear_logs, prepare, thawed, uri
from mcp_reflect.storage.sqlite.statements import on_thread

_CACHE_KB: Final = 32_000  # of pages that a connection keeps at most: a block's postings fit in

Use: TypeAlias = Literal["write", "read", "count"]


@dataclass(frozen=True, slots=True)
class _Held:
    connection: aiosqlite.Connection
    identity: Identity
    """Of the file that it was opened on."""
    log: Identity | None
    """Of the memory that it shares with others who read the same log."""
    frozen: tuple[int, int] | None = None
    """As of when it reads, where it does not look again; see `Opened`."""


class Connections:
    """The file of one bank as this process has it open."""

    def __init__(self, path: Path, busy_seconds: float, log: Log) -> None:
        self._path = path
        self._busy_seconds = busy_seconds
        self._log = log
        self._opened: Opened | None = None
        self._held: dict[Use, _Held] = {}
        self._damaged: set[Identity] = set()
        self._opening = asyncio.Lock()

    async def opened(self) -> Opened:
        """What lies at the path: opened, made or upgraded where that is still to do."""
        async with self._opening:
            return await self._look()

    async def looked_again(self) -> Opened:
        """The same, looked at anew: for a file that may have become another."""
        async with self._opening:
            self._opened = None
            return await self._look()

    async def get(self, use: Use) -> aiosqlite.Connection:
        """The connection for a use, on the file that lies at the path now."""
        async with self._opening:
            opened = await self._look()
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
                # Its thread has begun and must be ended by `close`: keep it for the next caller.
                with suppress(sqlite3.Error):
                    self._held[use] = await connecting
                raise
            return self._held[use].connection

    def moved(self, use: Use) -> bool:
        """Whether another file, or none, lies where the one of this use was opened."""
        held = self._held.get(use)
        return held is None or held.identity != identity(self._path)

    async def close(self) -> None:
        """Close every connection; what was acknowledged is on disk already."""
        while self._held:
            _, held = self._held.popitem()
            await held.connection.close()
        self._opened = None

    async def schema(self) -> int:
        """The version of the schema in the file as it is now, where it was opened at all; else 0."""
        held = self._held.get("read")
        if held is None:
            return 0
        return next(iter(await held.connection.execute_fetchall("PRAGMA user_version")))[0]

    async def set_aside(self, error: BankDamagedError, use: Use | None) -> BankDamagedError:
        """Move the damaged file out of the way, and say where it is; the next use begins a new bank."""
        async with self._opening:
            held = self._held.get(use) if use and self._opened else None
            damaged = held.identity if held else identity(self._path)
            self._opened = None
            stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(Clock().now()))
            aside = await asyncio.to_thread(set_aside, self._path, damaged, stamp)
            if damaged is not None and identity(self._path) != damaged:
                self._damaged.add(damaged)
        said = left_aside(aside, error)
        self._log("bank_set_aside", "error", bank=str(self._path), aside=aside and str(aside), error=str(said))
        return said

    async def _look(self) -> Opened:
        now = identity(self._path)
        refuse_inherited(self._path, now)
        before = self._opened
        if before is not None and before.identity == now:
            if hollow(self._path):
                raise BankDamagedError(f"The bank {self._path} was emptied while it was open.")
            if thawed(self._path, before):
                self._opened = before = None
        if before is None or before.identity != now:
            self._opened = None
            if before is not None:
                await self._abandon()
            self._opened = await asyncio.to_thread(prepare, self._path, self._busy_seconds)
        assert self._opened is not None  # noqa: S101 - set above
        return self._opened

    async def _abandon(self) -> None:
        """The file that was open lies there no more: finish it where it is now, and keep its log off the new one."""
        found = identity(self._path)
        self._log("bank_replaced", "warning", bank=str(self._path), found=found is not None)
        held = self._held.pop("read", None)  # a writer may be in a transaction, and notices by itself
        if held is None:
            return
        await self._leave(held)
        if held.log is not None and held.log == identity(beside(self._path, "-shm")):
            clear_logs(self._path)

    async def _leave(self, held: _Held) -> None:
        """Close a connection to a file that is not the bank any more, with what its log holds moved into it."""
        with suppress(sqlite3.Error):
            if held.identity not in self._damaged:
                # It waits for the write lock, so that nobody begins the log anew meanwhile: see `checkpoints`.
                await held.connection.execute_fetchall("PRAGMA query_only = OFF")
                await held.connection.execute_fetchall("PRAGMA wal_checkpoint(TRUNCATE)")
        with suppress(sqlite3.Error):
            await held.connection.close()

    async def _connect(self, use: Use, opened: Opened) -> _Held:
        connecting = aiosqlite.connect(
            uri(self._path, read_only=bool(opened.read_only), frozen=opened.frozen),
            uri=True,
            timeout=self._busy_seconds,
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
            if use != "count":
                await connection.execute(f"PRAGMA cache_size = -{_CACHE_KB}")
            await connection.execute_fetchall("PRAGMA user_version")  # opens the log
            if use == "read":
                await connection.execute("PRAGMA query_only = ON")
            else:
                await connection.execute("PRAGMA busy_timeout = 0")  # a writer waits by itself, see `waiting`
                await on_thread(connection, by_hand)
        except sqlite3.Error:
            await connection.close()
            raise
        return _Held(connection, opened.identity, identity(beside(self._path, "-shm")), opened.frozen)
