"""The log of a bank is moved into its file while nobody else can write, and stays short."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.sqlite.files import LONG_LOG_BYTES, checkpoint, connect, empty_log, log_bytes

LESSON = {"mistake": "Left the door open", "correction": "Close doors at night"}


def opened(path: Path) -> sqlite3.Connection:
    path.touch()
    connection = connect(path, wait=0)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE IF NOT EXISTS t (a)")
    return connection


def test_nobody_can_write_while_the_log_is_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bank.db"
    refused: list[int] = []
    open_file: Any = sqlite3.connect

    def connected(*args: Any, **options: Any) -> sqlite3.Connection:
        moving: sqlite3.Connection = open_file(*args, **options)
        moving.set_trace_callback(tried)
        return moving

    def tried(statement: str) -> None:
        if "wal_checkpoint" not in statement:
            return
        with pytest.raises(sqlite3.OperationalError) as error:
            other.execute("BEGIN IMMEDIATE")
        refused.append(error.value.sqlite_errorcode)

    with closing(opened(path)) as holding, closing(opened(path)) as other:
        holding.execute("INSERT INTO t VALUES (zeroblob(?))", (LONG_LOG_BYTES,))
        monkeypatch.setattr(sqlite3, "connect", connected)
        assert checkpoint(holding, path)
        monkeypatch.undo()
        assert path.stat().st_size > LONG_LOG_BYTES
        assert refused == [sqlite3.SQLITE_BUSY]
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            checkpoint(holding, path)


def test_an_emptied_log_holds_nothing_of_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "bank.db"
    with closing(opened(path)) as holding:
        holding.execute("INSERT INTO t VALUES ('precious')")
        assert b"precious" in path.with_name("bank.db-wal").read_bytes()
        assert empty_log(holding, path)
        assert b"precious" not in path.with_name("bank.db-wal").read_bytes()
        assert holding.execute("SELECT a FROM t").fetchone()["a"] == "precious"


async def test_a_long_log_is_moved_by_the_next_write_and_begins_anew_with_the_one_after(bank_path: Path) -> None:
    async with Engine(Settings(bank=bank_path, project="app")) as engine:
        await engine.store_lesson(**LESSON)
        with closing(opened(bank_path)) as other:
            other.execute("INSERT INTO t VALUES (zeroblob(?))", (LONG_LOG_BYTES,))
            assert log_bytes(bank_path) >= LONG_LOG_BYTES
            await engine.store_lesson(**{**LESSON, "mistake": "Left the window open"})
            assert bank_path.stat().st_size > LONG_LOG_BYTES
            await engine.store_lesson(**{**LESSON, "mistake": "Left the gate open in winter"})
            assert log_bytes(bank_path) < LONG_LOG_BYTES
