"""The bank's file removed, moved or replaced while a server has it open, in a forked process, and behind a link."""

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

TASK = "deploy with a migration"
LESSON: dict[str, Any] = {"mistake": "Deployed without the migration", "correction": "Run the migration, then deploy"}
OTHER: dict[str, Any] = {"mistake": "Read the wrong configuration", "correction": "Name the configuration"}


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


async def replace_bank(path: Path) -> None:
    async with Engine(Settings(bank=path.with_name("new.db"), project="app")) as other:
        await other.store_lesson(mistake="Forgot the third thing", correction="Write it down")
    path.with_name("new.db").replace(path)


@pytest.mark.parametrize("how", ["removed", "folder removed", "moved", "replaced"])
async def test_a_bank_that_went_away_is_told_once_and_the_next_call_uses_what_is_there(
    before: Engine, settings: Settings, bank_path: Path, how: str
) -> None:
    there: set[str] = set()
    match how:
        case "removed":
            bank_path.unlink()
        case "folder removed":
            shutil.rmtree(bank_path.parent)
        case "moved":
            bank_path.rename(bank_path.with_name("elsewhere.db"))
        case _:
            await replace_bank(bank_path)
            there = {"Forgot the third thing"}
    with pytest.raises(BankError, match="was removed or replaced while it was open; nothing of this call was stored"):
        await before.store_lesson(**OTHER)
    await before.store_lesson(**OTHER)
    async with Engine(settings) as second:
        assert (await second.recall(task="read the configuration")).lessons
    assert texts(bank_path) == {OTHER["mistake"], *there}
    if how == "moved":
        assert texts(bank_path.with_name("elsewhere.db")) == {LESSON["mistake"]}


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
