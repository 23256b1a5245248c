"""A bank's daily copies and its log; and a damaged bank: set aside, said plainly, begun again with the latest copy."""

import asyncio
import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from mcp_reflect.cli import main
from mcp_reflect.config import Settings
from mcp_reflect.errors import BankDamagedError, BankError
from mcp_reflect.models.lesson import Filter
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage import bank as bank_module
from mcp_reflect.storage.sqlite.backup import check, copy_daily, latest_copy, restore
from mcp_reflect.storage.sqlite.damaged import ASIDE, all_copies
from mcp_reflect.storage.sqlite.file_access import connect, log_bytes
from mcp_reflect.storage.sqlite.write_ahead_log import LONG_LOG_BYTES, checkpoint, empty_log
from tests.server.servers import server

DAY = 86_400.0
FIRST = 1_790_000_000.0  # 2026-09-21


async def store(settings: Settings, mistake: str = "Deployed on a Friday") -> None:
    async with Engine(settings) as engine:
        await engine.store_lesson(mistake=mistake, correction="Deploy on a Monday")


def mistakes(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return [row[0] for row in connection.execute("SELECT mistake FROM lessons ORDER BY row")]


async def test_one_copy_a_day_is_made_and_seven_are_kept(
    settings: Settings, bank_path: Path
) -> None:
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


async def test_a_copy_that_is_stopped_or_of_a_damaged_bank_leaves_nothing(
    settings: Settings, bank_path: Path
) -> None:
    async with Engine(settings) as engine:
        for number in range(200):
            await engine.store_lesson(
                mistake=f"Deployed {number} times", correction=f"Deploy number {number}"
            )
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


async def test_a_command_that_ends_at_once_copies_nothing(
    settings: Settings, bank_path: Path
) -> None:
    await store(settings)
    assert all_copies(bank_path) == []


async def test_the_latest_sound_copy_is_restored(
    settings: Settings,
    bank_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
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


def test_nobody_can_write_while_the_log_is_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


async def test_a_long_log_is_moved_by_the_next_write_and_begins_anew_with_the_one_after(
    bank_path: Path,
) -> None:
    async with Engine(Settings(bank=bank_path, project="app")) as engine:
        await engine.store_lesson(**LESSON)
        with closing(opened(bank_path)) as other:
            other.execute("INSERT INTO t VALUES (zeroblob(?))", (LONG_LOG_BYTES,))
            assert log_bytes(bank_path) >= LONG_LOG_BYTES
            await engine.store_lesson(**{**LESSON, "mistake": "Left the window open"})
            assert bank_path.stat().st_size > LONG_LOG_BYTES
            await engine.store_lesson(**{**LESSON, "mistake": "Left the gate open in winter"})
            assert log_bytes(bank_path) < LONG_LOG_BYTES


COUNT = 80
ANALYSIS: dict[str, Any] = {
    "reflection": "The table was not made",
    "strategy": "Make the table first",
}


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
        return {
            name: looking.execute(f"SELECT count(*) FROM {name}").fetchone()[0]  # noqa: S608
            for name in tables
        }


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


@pytest.mark.sqlite
@pytest.mark.parametrize("copied", [True, False])
@pytest.mark.parametrize(
    "spoil",
    [truncated, noise_at_the_beginning, noise_behind_the_header, nothing_but_zeros],
)
async def test_a_damaged_bank_is_set_aside_and_begins_again_with_the_latest_sound_copy(
    settings: Settings, filled: Path, spoil: Callable[[bytes], bytes], copied: bool
) -> None:
    bank_path = filled
    before = counted(bank_path)
    if copied:
        assert copy_daily(bank_path, FIRST, bool)
        broken = copy_daily(bank_path, FIRST + 86_400.0, bool)
        assert broken
        broken.write_bytes(spoil(broken.read_bytes()))
    damaged = spoil(bank_path.read_bytes())
    bank_path.write_bytes(damaged)
    async with Engine(settings) as engine:
        said = await until_it_is_found(engine)
        (aside,) = [path for path in bank_path.parent.iterdir() if ASIDE in path.name]
        assert f"It was set aside as {aside}" in said
        assert (
            "The next call uses the copy bank.db.copy-2026-09-21" if copied else "begins a new bank"
        ) in said
        assert len(aside.read_bytes()) >= len(damaged)
        assert counted(bank_path) == before if copied else not bank_path.exists()
        await engine.store_lesson(**lesson(2000))
        await every_lesson_can_be_recalled(engine, bank_path)


@pytest.mark.sqlite
def test_damage_that_no_call_meets_is_found_by_a_check_and_restored(filled: Path) -> None:
    before = counted(filled)
    copy = copy_daily(filled, FIRST, bool)
    assert copy
    filled.write_bytes(noise_in_the_middle(filled.read_bytes()))
    assert check(filled) == (False, [])
    assert restore(filled, copy, FIRST, 10)
    assert counted(filled) == before


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
        texts = [
            text for (text,) in looking.execute("SELECT mistake FROM lessons WHERE kind = 'lesson'")
        ]
    for text in texts[::10]:
        found = await engine.recall(task=text[:60], limit=5)
        assert text in [hit.mistake for hit in found.lessons]


async def test_a_second_server_goes_on_with_the_new_bank(
    settings: Settings, bank_path: Path
) -> None:
    await fill(settings, 10)
    async with Engine(settings) as first, Engine(settings) as second:
        await second.recall(task="Task T1")
        await first.recall(task="Task T1")
        bank_path.write_bytes(nothing_but_noise(bank_path.read_bytes()))
        with pytest.raises(BankDamagedError):
            await first.store_lesson(**lesson(1000))
        stored = await first.store_lesson(**lesson(1001))
        with pytest.raises(BankError, match="was removed or replaced while it was open"):
            await second.recall(task="Task T1")
        assert (
            await second.bank.lessons.get(second.scopes.own, stored.lesson_id)
        ).mistake == lesson(1001)["mistake"]
    assert counted(bank_path)["lessons"] == 1


def test_the_tool_and_the_log_say_where_the_damaged_bank_is(bank_path: Path) -> None:
    bank_path.parent.mkdir()
    bank_path.write_bytes(b"\x00" * 8192)
    with server(bank_path) as running:
        result = running.call_tool("recall_lessons", {"task": "deploy on a Friday"})
        assert result["isError"]
        assert "It was set aside as" in str(result["content"])
        assert not running.call_tool("recall_lessons", {"task": "deploy on a Friday"}).get(
            "isError"
        )
        running.close()
        (event,) = [
            json.loads(line) for line in running.stderr.splitlines() if "bank_set_aside" in line
        ]
    assert Path(event["aside"]).read_bytes() == b"\x00" * 8192


RECORDS = 12
BROKEN_UTF8 = "UPDATE lessons SET mistake = CAST(X'4465706C6FF979' AS TEXT) WHERE id = ?"
BROKEN_JSON = "UPDATE lessons SET tags = '{\"release\"]' WHERE id = ?"
BROKEN_ENUM = "UPDATE lessons SET trust = 'obrerved' WHERE id = ?"


async def damaged(settings: Settings, path: Path, statement: str) -> str:
    """Fill a bank, damage its third lesson; return the id."""
    async with Engine(settings) as engine:
        stored = [
            await engine.store_lesson(
                mistake=f"Deploy {number} failed", correction=f"Run step {number}"
            )
            for number in range(RECORDS)
        ]
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(statement, (stored[3].lesson_id,))
        connection.commit()
    return stored[3].lesson_id


@pytest.mark.parametrize("statement", [BROKEN_UTF8, BROKEN_JSON, BROKEN_ENUM])
async def test_a_damaged_record_is_named_and_the_others_are_read(
    settings: Settings, bank_path: Path, statement: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lesson_id = await damaged(settings, bank_path, statement)
    async with Engine(settings) as engine:
        bank, own = engine.bank, engine.scopes.own
        exported = [line async for line in bank.transfer.export(own.tenant, own.project)]
        assert len(exported) == RECORDS - 1
        event = json.loads(capsys.readouterr().err.splitlines()[0])
        assert (event["event"], event["record"]) == ("bank_record_damaged", lesson_id)
        assert len(await bank.lessons.latest(own)) == RECORDS - 1
        assert len(await bank.views.browse(own, Filter())) == RECORDS - 1
        board = await bank.views.board(own)
        assert lesson_id not in [row[0] for row in board["lessons"]["rows"]]
        with pytest.raises(BankError, match=f"The record {lesson_id} is damaged"):
            await bank.lessons.get(own, lesson_id)


async def test_export_and_doctor_name_the_damaged_record(
    settings: Settings,
    bank_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lesson_id = await damaged(settings, bank_path, BROKEN_UTF8)
    monkeypatch.setenv("MCP_REFLECT_BANK", str(bank_path))
    monkeypatch.setenv("MCP_REFLECT_PROJECT", "app")
    assert await asyncio.to_thread(main, ["export"]) == 0
    output = capsys.readouterr()
    assert len(output.out.splitlines()) == RECORDS - 1
    assert lesson_id in output.err
    await asyncio.to_thread(main, ["doctor", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert not report["sound"]
    assert "restore --latest" in str(report["degraded"])
