"""The log of a bank is moved into its file while nobody else can write, and stays short on an SQLite that races."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.log import Log
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.sqlite import files as checkpoints
from mcp_reflect.storage.sqlite.connections import Connections
from mcp_reflect.storage.sqlite.files import LONG_BYTES, checkpoint, empty_log, log_is_long, races

LESSON = {"mistake": "Left the door open", "correction": "Close doors at night"}


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ((3, 7, 0), True), ((3, 40, 1), True), ((3, 44, 5), True), ((3, 44, 6), False), ((3, 45, 0), True),
        ((3, 50, 6), True), ((3, 50, 7), False), ((3, 51, 2), True), ((3, 51, 3), False), ((3, 53, 0), False),
        ((4, 0, 0), False),
    ],
)  # fmt: skip
def test_the_versions_that_race_are_known(version: tuple[int, int, int], expected: bool) -> None:
    assert races(version) is expected


@pytest.fixture
def racing(monkeypatch: pytest.MonkeyPatch) -> None:
    """An SQLite that races, whichever is there."""
    monkeypatch.setattr(checkpoints, "_MENDED", ((99, 0, 0),))


def opened(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=0, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE IF NOT EXISTS t (a)")
    checkpoints.by_hand(connection)
    return connection


def long_log(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO t VALUES (zeroblob(?))", (LONG_BYTES,))


@pytest.mark.usefixtures("racing")
def test_nobody_can_write_while_the_log_is_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bank.db"
    refused: list[int] = []
    connect: Any = sqlite3.connect

    def connected(*given: Any, **named: Any) -> sqlite3.Connection:
        moving: sqlite3.Connection = connect(*given, **named)
        moving.set_trace_callback(tried)
        return moving

    def tried(statement: str) -> None:
        if "wal_checkpoint" not in statement:
            return
        with pytest.raises(sqlite3.OperationalError) as error:
            other.execute("BEGIN IMMEDIATE")
        refused.append(error.value.sqlite_errorcode)

    with closing(opened(path)) as holding, closing(opened(path)) as other:
        long_log(holding)
        monkeypatch.setattr(sqlite3, "connect", connected)
        assert checkpoint(holding, path)
        monkeypatch.undo()
        assert refused == [sqlite3.SQLITE_BUSY]
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            checkpoint(holding, path)


@pytest.mark.usefixtures("racing")
def test_an_emptied_log_holds_nothing_of_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "bank.db"
    with closing(opened(path)) as holding:
        holding.execute("INSERT INTO t VALUES ('precious')")
        assert b"precious" in path.with_name("bank.db-wal").read_bytes()
        empty_log(holding, path)
        assert b"precious" not in path.with_name("bank.db-wal").read_bytes()
        assert holding.execute("SELECT a FROM t").fetchall() == [("precious",)]


@pytest.mark.usefixtures("racing")
async def test_no_connection_that_writes_leaves_checkpoints_to_sqlite(bank_path: Path) -> None:
    async with Engine(Settings(bank=bank_path, project="app")) as engine:
        await engine.store_lesson(**LESSON)
    file = Connections(bank_path, 1, Log())
    for use in ("write", "brief"):
        connection = await file.get(use)
        rows = await connection.run(lambda raw: raw.execute("PRAGMA wal_autocheckpoint").fetchall())
        assert [tuple(row) for row in rows] == [(0,)]
    await file.close()


@pytest.mark.usefixtures("racing")
async def test_a_long_log_is_moved_by_the_next_write_and_begins_anew_with_the_one_after(bank_path: Path) -> None:
    async with Engine(Settings(bank=bank_path, project="app")) as engine:
        await engine.store_lesson(**LESSON)
        with closing(opened(bank_path)) as other:
            long_log(other)
            assert log_is_long(bank_path)
            await engine.store_lesson(**{**LESSON, "mistake": "Left the window open"})
            assert bank_path.stat().st_size > LONG_BYTES
            await engine.store_lesson(**{**LESSON, "mistake": "Left the gate open in winter"})
            assert not log_is_long(bank_path)
