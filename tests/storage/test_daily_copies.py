"""Beside the bank's file: its daily copies, and the log that stays short."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from mcp_reflect.cli import main
from mcp_reflect.config import Settings
from mcp_reflect.errors import BankError
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage import bank as bank_module
from mcp_reflect.storage.sqlite.backup import copy_daily, latest_copy
from mcp_reflect.storage.sqlite.files import LONG_LOG_BYTES, all_copies, checkpoint, connect, empty_log, log_bytes

DAY = 86_400.0
FIRST = 1_790_000_000.0  # 2026-09-21


async def store(settings: Settings, mistake: str = "Deployed on a Friday") -> None:
    async with Engine(settings) as engine:
        await engine.store_lesson(mistake=mistake, correction="Deploy on a Monday")


def mistakes(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return [row[0] for row in connection.execute("SELECT mistake FROM lessons ORDER BY row")]


async def test_one_copy_a_day_is_made_and_seven_are_kept(settings: Settings, bank_path: Path) -> None:
    await store(settings)
    other = bank_path.with_name("bank.db.copy-mine")
    other.write_text("named by a person")
    copies = [copy_daily(bank_path, FIRST + day * DAY, Event().is_set) for day in range(9)]
    assert copy_daily(bank_path, FIRST + 8 * DAY, Event().is_set) is None
    assert all_copies(bank_path) == copies[2:]
    for file in all_copies(bank_path):
        assert file.stat().st_mode & 0o777 == 0o600
        assert mistakes(file) == ["Deployed on a Friday"]
    assert other.read_text() == "named by a person"
    assert not list(bank_path.parent.glob("*.part"))


async def test_a_copy_that_is_stopped_or_of_a_damaged_bank_leaves_nothing(settings: Settings, bank_path: Path) -> None:
    async with Engine(settings) as engine:
        for number in range(200):
            await engine.store_lesson(mistake=f"Deployed {number} times", correction=f"Deploy number {number}")
    stop = Event()
    stop.set()
    assert copy_daily(bank_path, FIRST, stop.is_set) is None
    data = bytearray(bank_path.read_bytes())
    middle = len(data) // 2 // 4096 * 4096
    data[middle : middle + 8 * 4096] = bytes(8 * 4096)
    bank_path.write_bytes(data)
    with pytest.raises(sqlite3.DatabaseError):
        copy_daily(bank_path, FIRST, Event().is_set)
    assert sorted(file.name for file in bank_path.parent.iterdir() if "copy" in file.name) == []


async def test_a_long_lived_process_copies_after_a_write(
    settings: Settings, bank_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bank_module, "COPY_DELAY_SECONDS", 0.0)
    async with Engine(settings) as engine:
        await engine.store_lesson(mistake="Deployed on a Friday", correction="Deploy on a Monday")
        async with asyncio.timeout(60):
            while not all_copies(bank_path):  # noqa: ASYNC110 - a thread makes the file
                await asyncio.sleep(0)
    assert mistakes(all_copies(bank_path)[0]) == ["Deployed on a Friday"]


async def test_a_command_that_ends_at_once_copies_nothing(settings: Settings, bank_path: Path) -> None:
    await store(settings)
    assert all_copies(bank_path) == []


async def test_the_latest_sound_copy_is_restored(
    settings: Settings, bank_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MCP_REFLECT_BANK", str(bank_path))
    await store(settings)
    with pytest.raises(BankError, match="no sound daily copy"):
        latest_copy(bank_path)
    first = copy_daily(bank_path, FIRST, Event().is_set)
    second = copy_daily(bank_path, FIRST + DAY, Event().is_set)
    assert first
    assert second
    second.write_bytes(bytes(8192))
    await store(settings, "Lost the key")
    assert await asyncio.to_thread(main, ["restore", "--latest", "--yes"]) == 0
    assert f"Restored {first}" in capsys.readouterr().out
    assert mistakes(bank_path) == ["Deployed on a Friday"]


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
