"""The bank's file removed, moved, replaced or taken away while servers have it open: noticed, without a restart."""

import asyncio
import os
import shutil
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.errors import BankDamagedError, BankError
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.repository import Writing
from mcp_reflect.storage.sqlite.database import Database

TASK = "deploy with a migration"
LESSON: dict[str, Any] = {"mistake": "Deployed without the migration", "correction": "Run the migration, then deploy"}
OTHER: dict[str, Any] = {"mistake": "Read the wrong configuration", "correction": "Name the configuration"}
LINK = {"from_id": "a", "relation": "b", "to_kind": "c", "to_id": "d"}


@pytest.fixture
async def before(settings: Settings) -> AsyncIterator[Engine]:
    """An engine that has read, written and counted."""
    async with Engine(settings) as engine:
        await engine.store_lesson(**LESSON)
        assert (await engine.recall(task=TASK)).lessons
        yield engine


def texts(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as looking:
        assert looking.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return {row[0] for row in looking.execute("SELECT mistake FROM lessons")}


async def test_after_its_removal_the_bank_begins_anew(before: Engine, bank_path: Path) -> None:
    bank_path.unlink()
    assert not (await before.recall(task=TASK)).lessons
    await before.store_lesson(**OTHER)
    assert texts(bank_path) == {OTHER["mistake"]}


async def test_after_the_removal_of_its_folder_the_bank_begins_anew(before: Engine, bank_path: Path) -> None:
    shutil.rmtree(bank_path.parent)
    await before.store_lesson(**OTHER)
    assert [hit.mistake for hit in (await before.recall(task="read the configuration")).lessons] == [OTHER["mistake"]]
    assert texts(bank_path) == {OTHER["mistake"]}


async def test_a_file_in_the_place_of_its_folder_is_told_and_recovered_from(before: Engine, bank_path: Path) -> None:
    moved = bank_path.parent.rename(bank_path.parent.with_name("moved"))
    bank_path.parent.touch()
    for call in (before.recall(task=TASK), before.store_lesson(**OTHER)):
        with pytest.raises(BankError, match=r"cannot be used: .*Set MCP_REFLECT_BANK to a file"):
            await call
    bank_path.parent.unlink()
    moved.rename(bank_path.parent)
    await before.store_lesson(**OTHER)
    assert texts(bank_path) == {LESSON["mistake"], OTHER["mistake"]}


async def test_a_bank_that_was_moved_away_takes_along_what_its_log_held(before: Engine, bank_path: Path) -> None:
    elsewhere = bank_path.rename(bank_path.with_name("elsewhere.db"))
    await before.store_lesson(**OTHER)
    assert texts(elsewhere) == {LESSON["mistake"]}
    assert texts(bank_path) == {OTHER["mistake"]}


async def test_another_server_that_starts_after_a_removal_shares_nothing_with_the_old_file(
    before: Engine, settings: Settings, bank_path: Path
) -> None:
    bank_path.unlink()
    async with Engine(settings) as second:
        await second.store_lesson(**OTHER)
        await before.store_lesson(mistake="Forgot the third thing", correction="Write it down")
        assert texts(bank_path) == {OTHER["mistake"], "Forgot the third thing"}
        assert (await second.recall(task="read the configuration")).lessons


async def test_a_bank_that_takes_the_place_of_another_is_the_one_that_counts(
    before: Engine, settings: Settings, bank_path: Path, tmp_path: Path
) -> None:
    async with Engine(Settings(bank=tmp_path / "new.db", project="app")) as other:
        await other.store_lesson(**OTHER)
    (tmp_path / "new.db").replace(bank_path)
    assert OTHER["mistake"] in {hit.mistake for hit in (await before.recall(task="read the configuration")).lessons}
    await before.store_lesson(mistake="Forgot the third thing", correction="Write it down")
    assert texts(bank_path) == {OTHER["mistake"], "Forgot the third thing"}
    async with Engine(settings) as later:
        assert (await later.recall(task="read the configuration")).lessons


async def test_a_write_is_not_acknowledged_whose_file_is_removed_meanwhile(bank_path: Path) -> None:
    database = Database(bank_path)

    def write_and_remove(tx: Writing) -> None:
        tx.run("link_add", LINK)
        bank_path.unlink()

    try:
        with pytest.raises(BankError, match="was removed or replaced while this was written"):
            await database.write("local", write_and_remove)
        await database.write("local", lambda tx: tx.run("link_add", LINK))
        assert await database.rows("link_list", {"from_id": "a", "tenant": "local"})
    finally:
        await database.close()


async def test_a_write_that_waited_while_the_file_was_replaced_goes_into_the_new_one(
    before: Engine, bank_path: Path
) -> None:
    with closing(sqlite3.connect(bank_path, isolation_level=None)) as holding:
        holding.execute("BEGIN IMMEDIATE")
        waiting = asyncio.create_task(before.store_lesson(**OTHER))
        await asyncio.wait([waiting], timeout=0.05)
        bank_path.rename(bank_path.with_name("elsewhere.db"))
        holding.execute("ROLLBACK")
        assert (await waiting).status == "stored"
    assert texts(bank_path) == {OTHER["mistake"]}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
async def test_a_forked_process_is_told_not_to_use_the_bank_that_was_open(before: Engine, settings: Settings) -> None:
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.write(write, _tried(before, settings).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as child_said:
        said = child_said.read()
    os.waitpid(child, 0)  # noqa: ASYNC222 - it has said all, and ends
    told = said.count("was open when this process was forked, and cannot be used in it. Open it after the fork")
    # SQLite's locks belong to the process: the whole file is refused in a child. A server knows the child's connections
    # from its parent's, so an engine of its own works there.
    assert told == (2 if isinstance(settings.bank, Path) else 1)
    assert (await before.recall(task=TASK)).lessons
    await before.store_lesson(**OTHER)


def _tried(engine: Engine, settings: Settings) -> str:
    """What a child hears that uses the engine it was born with, and then one of its own."""
    said = ""
    for used in (engine, Engine(settings)):
        try:
            asyncio.new_event_loop().run_until_complete(used.store_lesson(**OTHER))
        except BankError as error:
            said += str(error)
        except BaseException as error:  # noqa: BLE001 - it must not return into the test's own process
            said += repr(error)
    return said


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
@pytest.mark.parametrize("begun", [True, False])
async def test_a_bank_behind_a_link_is_one_with_its_log_at_the_links_end(
    settings: Settings, bank_path: Path, tmp_path: Path, *, begun: bool
) -> None:
    (tmp_path / "elsewhere").mkdir()
    real = tmp_path / "elsewhere" / "kept.db"
    if begun:
        async with Engine(replace(settings, bank=real)) as engine:
            await engine.store_lesson(**LESSON)
    bank_path.parent.mkdir()
    bank_path.symlink_to(real)
    async with Engine(settings) as engine:
        await engine.store_lesson(**OTHER)
        assert engine.bank.path == real
    assert texts(real) == {OTHER["mistake"]} | ({LESSON["mistake"]} if begun else set())
    real.write_bytes(os.urandom(9000))
    async with Engine(settings) as engine:
        with pytest.raises(BankDamagedError):
            await engine.recall(task=TASK)
        assert not (await engine.recall(task=TASK)).lessons
    assert bank_path.is_symlink()
    assert len(list(real.parent.glob("kept.db.damaged-*"))) == 1
