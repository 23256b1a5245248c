"""A damaged bank: set aside and never deleted, said plainly, and what can be read of it brought back."""

import asyncio
import json
import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.errors import BankDamagedError
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.sqlite.files import ASIDE
from tests.server.servers import server

COUNT = 80
ANALYSIS: dict[str, Any] = {"reflection": "The table was not made", "strategy": "Make the table first"}


def lesson(number: int) -> dict[str, Any]:
    long = "and then some more of it " * (400 if number % 40 == 7 else number % 5)
    return {
        "mistake": f"Task T{number} failed with code {number}. {long[:4000]}",
        "correction": f"Use file_{number}.toml",
    }


@pytest.fixture(scope="session")
def full_bank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bank with all the lessons, to copy."""
    path = tmp_path_factory.mktemp("full") / "bank.db"
    asyncio.run(fill(Settings(bank=path, project="app"), COUNT))
    return path


@pytest.fixture
def filled(full_bank: Path, bank_path: Path) -> Path:
    """A copy of the full bank, where the test's bank is."""
    bank_path.parent.mkdir(mode=0o700)
    return Path(shutil.copy(full_bank, bank_path))


async def fill(settings: Settings, count: int) -> None:
    async with Engine(settings) as engine:
        for number in range(count):
            await engine.store_lesson(**lesson(number))
        event = {"type": "observation", "content": "Error: no such table runs"}
        await engine.reflect(task="Run it", outcome="failure", events=[event], analysis=ANALYSIS)
        found = await engine.recall(task="Task T5 failed with code 5")
        await engine.record_outcome(success=True, recall_id=found.recall_id)


def counted(path: Path) -> dict[str, int]:
    tables = ("lessons", "reflections", "failures", "recalls", "outcomes", "links")
    with closing(sqlite3.connect(path)) as looking:
        assert looking.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return {name: looking.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables}  # noqa: S608


def truncated(data: bytes) -> bytes:
    return data[: len(data) * 7 // 8 + 100]


def noise_in_the_middle(data: bytes) -> bytes:
    at = len(data) // 2 // 4096 * 4096
    return data[:at] + random.Random(7).randbytes(3 * 4096) + data[at + 3 * 4096 :]


def noise_at_the_beginning(data: bytes) -> bytes:
    return random.Random(7).randbytes(4096) + data[4096:]


def noise_behind_the_header(data: bytes) -> bytes:
    return data[:200] + random.Random(7).randbytes(3896) + data[4096:]


def nothing_but_zeros(data: bytes) -> bytes:
    return bytes(len(data))


def nothing_but_noise(data: bytes) -> bytes:
    return random.Random(7).randbytes(len(data))


def another_text(data: bytes) -> bytes:
    return b"This is no database.\n" * (len(data) // 20)


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("spoil", "least"),
    [
        (truncated, 0.3),
        (noise_in_the_middle, 0.7),
        (noise_at_the_beginning, 0.95),
        (noise_behind_the_header, 0.95),
        (nothing_but_zeros, 0),
        (nothing_but_noise, 0),
        (another_text, 0),
    ],
)
async def test_a_damaged_bank_is_set_aside_and_what_can_be_read_is_rescued(
    settings: Settings, filled: Path, spoil: Callable[[bytes], bytes], least: float
) -> None:
    bank_path = filled
    before = counted(bank_path)
    damaged = spoil(bank_path.read_bytes())
    bank_path.write_bytes(damaged)
    async with Engine(settings) as engine:
        if spoil is not noise_in_the_middle:  # no call need meet that; the rescue finds it
            said = await until_it_is_found(engine)
            (aside,) = [path for path in bank_path.parent.iterdir() if ASIDE in path.name]
            assert f"It was set aside as {aside}" in said
            assert "doctor --rescue" in said
            assert aside.read_bytes() == damaged
            assert not (await engine.recall(task="Task T5 failed with code 5")).lessons
        with suppress(BankDamagedError):
            await engine.bank.open()
        (done,) = await engine.bank.maintenance.rescue()
        assert len(done.file.read_bytes()) == len(damaged)
        assert done.rows["lessons"] >= least * before["lessons"]
        after = counted(bank_path)
        assert {name: after[name] <= before[name] + 1 for name in before} == dict.fromkeys(before, True)
        await every_lesson_can_be_recalled(engine, bank_path)
        assert await engine.bank.maintenance.rescue() == []


async def until_it_is_found(engine: Engine) -> str:
    """Recall until a call meets the damage; what it says."""
    for number in range(COUNT):
        try:
            await engine.recall(task=f"Task T{number} failed with code {number}")
            await engine.store_lesson(**lesson(1000 + number))
        except BankDamagedError as error:
            return str(error)
    raise AssertionError("nobody found the damage")


async def every_lesson_can_be_recalled(engine: Engine, bank_path: Path) -> None:
    with closing(sqlite3.connect(bank_path)) as looking:
        texts = [text for (text,) in looking.execute("SELECT mistake FROM lessons WHERE kind = 'lesson'")]
    for text in texts[::10]:
        found = await engine.recall(task=text[:60], limit=5)
        assert text in [hit.mistake for hit in found.lessons]


@pytest.mark.sqlite
async def test_a_rescue_of_a_sound_file_brings_every_row(settings: Settings, filled: Path, tmp_path: Path) -> None:
    before = counted(filled)
    filled.rename(tmp_path / "old.db")
    async with Engine(settings) as engine:
        (done,) = await engine.bank.maintenance.rescue(tmp_path / "old.db")
        assert {name: done.rows[name] for name in before} == before == counted(filled)
        (again,) = await engine.bank.maintenance.rescue(tmp_path / "old.db")
        assert set(again.rows.values()) == {0}


async def test_a_rescue_where_nothing_is_damaged_indexes_every_lesson_anew(settings: Settings, bank_path: Path) -> None:
    await fill(settings, 10)
    with closing(sqlite3.connect(bank_path)) as other:
        for table in ("features", "terms", "sizes", "vectors"):
            other.execute(f"DELETE FROM {table}")  # noqa: S608 - ours
        other.execute("INSERT INTO lesson_terms (lesson_terms) VALUES ('delete-all')")
        other.commit()
    async with Engine(settings) as engine:
        assert not (await engine.recall(task="Task T5 failed with code 5")).lessons
        assert await engine.bank.maintenance.rescue() == []
        await every_lesson_can_be_recalled(engine, bank_path)


async def test_what_only_the_log_holds_is_rescued_too(settings: Settings, bank_path: Path, tmp_path: Path) -> None:
    async with Engine(settings) as engine:
        await engine.store_lesson(**lesson(1))
        for ending in ("", "-wal"):
            source = bank_path.with_name(bank_path.name + ending)
            (tmp_path / f"old.db{ending}").write_bytes(source.read_bytes())
    bank_path.unlink()
    async with Engine(settings) as engine:
        (done,) = await engine.bank.maintenance.rescue(tmp_path / "old.db")
        assert done.rows["lessons"] == 1
        assert (await engine.recall(task="Task T1 failed with code 1")).lessons


async def test_a_second_server_goes_on_with_the_new_bank(settings: Settings, bank_path: Path) -> None:
    await fill(settings, 10)
    async with Engine(settings) as first, Engine(settings) as second:
        await second.recall(task="Task T1")
        await first.recall(task="Task T1")
        bank_path.write_bytes(nothing_but_noise(bank_path.read_bytes()))
        with pytest.raises(BankDamagedError):
            await first.store_lesson(**lesson(1000))
        stored = await first.store_lesson(**lesson(1001))
        assert (await second.bank.lessons.get(second.scopes.own, stored.lesson_id)).mistake == lesson(1001)["mistake"]
    assert counted(bank_path)["lessons"] == 1


async def test_a_bank_emptied_under_its_log_is_set_aside_with_it(settings: Settings, bank_path: Path) -> None:
    async with Engine(settings) as engine:
        await engine.store_lesson(**lesson(1))
        log = bank_path.with_name("bank.db-wal").read_bytes()
    bank_path.write_bytes(b"")
    bank_path.with_name("bank.db-wal").write_bytes(log)
    async with Engine(settings) as engine:
        with pytest.raises(BankDamagedError, match="is empty beside its log"):
            await engine.store_lesson(**lesson(2))
        (done,) = await engine.bank.maintenance.rescue()
        assert done.rows["lessons"] == 1


@pytest.mark.parametrize("before", ["recall", "store"])
async def test_a_bank_emptied_while_it_is_open_is_set_aside_and_nothing_is_acknowledged_before(
    settings: Settings, bank_path: Path, before: str
) -> None:
    async with Engine(settings) as engine:
        await engine.store_lesson(**lesson(1))
        await engine.recall(task="Task T1")
        os.truncate(bank_path, 0)
        with pytest.raises(BankDamagedError, match="was emptied while it was open"):
            await (engine.recall(task="Task T1") if before == "recall" else engine.store_lesson(**lesson(2)))
        await engine.store_lesson(**lesson(3))
        assert counted(bank_path)["lessons"] == 1
        (done,) = await engine.bank.maintenance.rescue()
        assert done.rows["lessons"] == 1
        assert counted(bank_path)["lessons"] == 2


def test_the_tool_and_the_log_say_where_the_damaged_bank_is(bank_path: Path) -> None:
    bank_path.parent.mkdir()
    bank_path.write_bytes(b"\x00" * 8192)
    with server(bank_path) as running:
        result = running.call_tool("recall_lessons", {"task": "deploy on a Friday"})
        assert result["isError"]
        assert "It was set aside as" in str(result["content"])
        assert not running.call_tool("recall_lessons", {"task": "deploy on a Friday"}).get("isError")
        running.close()
        (event,) = [json.loads(line) for line in running.stderr.splitlines() if "bank_set_aside" in line]
    assert Path(event["aside"]).read_bytes() == b"\x00" * 8192
