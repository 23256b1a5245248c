"""The daily copy: made beside the bank while it is used, the newest seven kept, and restored on request."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from threading import Event

import pytest

from mcp_reflect.cli import main
from mcp_reflect.config import Settings
from mcp_reflect.errors import BankError
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage import bank as bank_module
from mcp_reflect.storage.sqlite.backup import copy_daily, latest_copy
from mcp_reflect.storage.sqlite.files import all_copies

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


async def test_the_unfinished_copy_of_a_killed_process_is_removed_and_one_in_the_making_is_not(
    settings: Settings, bank_path: Path
) -> None:
    await store(settings)
    killed, in_the_making = (bank_path.with_name(f"bank.db.copy-2026-09-{day}.part-1") for day in (20, 21))
    for file in (killed, in_the_making):
        file.write_text("half a copy")
    copy_daily(bank_path, FIRST, Event().is_set)
    assert (killed.exists(), in_the_making.exists()) == (False, True)


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
