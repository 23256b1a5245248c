"""Every schema that was released, with data in each table, is opened, migrated and used by the present code."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.sqlite.files import newest
from tests.server.servers import LESSON
from tests.storage.schemas.freeze import file_of

FROZEN = sorted(file_of(0).parent.glob("[0-9]*.sql"))
DROPPED = ("payoffs", "leases", "rates", "symptoms", "outputs")
RENAMED = {"workings": "critique_sessions", "catalogues": "search_catalogs"}


def made(frozen: Path, bank: Path) -> dict[str, int]:
    """The frozen bank as a file; how many rows each table has."""
    bank.parent.mkdir(exist_ok=True)
    with closing(sqlite3.connect(bank)) as connection:
        connection.executescript(frozen.read_text(encoding="utf-8"))
    return rows(bank)


def rows(bank: Path) -> dict[str, int]:
    with closing(sqlite3.connect(bank)) as looking:
        tables = [
            row[0] for row in looking.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        return {
            name: looking.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]  # noqa: S608
            for name in tables
        }


def schema(bank: Path) -> set[str]:
    """What a schema says, whatever its comments and spaces."""
    with closing(sqlite3.connect(bank)) as looking:
        found = [
            row[0] for row in looking.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
        ]
    return {re.sub(r"\s+", " ", re.sub(r"--[^\n]*", "", sql)).strip() for sql in found}


async def test_the_newest_schema_is_the_frozen_one(
    settings: Settings, bank_path: Path, tmp_path: Path
) -> None:
    """Until the release: `python -m tests.storage.schemas.freeze`. After it, a change is a new migration."""
    async with Engine(settings) as engine:
        await engine.bank.open()
    made(file_of(newest()), tmp_path / "frozen" / "bank.db")
    assert schema(bank_path) == schema(tmp_path / "frozen" / "bank.db")


@pytest.mark.parametrize("frozen", FROZEN, ids=lambda file: file.stem)
async def test_a_released_schema_migrates_with_its_data(
    settings: Settings, bank_path: Path, frozen: Path
) -> None:
    before = made(frozen, bank_path)
    assert min(before.values()) > 0
    async with Engine(settings) as engine:
        assert (await engine.bank.open()).schema == newest()
        after = rows(bank_path)
        expected = {
            RENAMED.get(name, name): count
            for name, count in before.items()
            if name not in (*DROPPED, "sqlite_sequence", "guards")
        }
        assert {name: after.get(name, 0) for name in expected} == expected
        found = await engine.recall(task="deploy the orders service on a friday", limit=5)
        assert any("Friday" in hit.text and hit.effectiveness for hit in found.lessons)
        stats = await engine.get_stats()
        assert (stats["total_reflections"], stats["quarantined"]) == (1, 1)
        assert (await engine.store_lesson(**LESSON)).status == "stored"
        assert (await engine.record_outcome(success=True, lesson_ids=[found.lessons[0].id])).updated
        known = (
            "make deply",
            "relctl cut v9",
        )  # a failure of an older bank, a guard of a newer one
        said = [
            await engine.before_call("bash", {"command": call}, session="another") for call in known
        ]
        assert any(said)
    with closing(sqlite3.connect(bank_path)) as looking:
        assert looking.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert looking.execute("PRAGMA foreign_key_check").fetchall() == []


async def test_guards_that_were_made_of_words_wait_for_a_person(
    settings: Settings, bank_path: Path
) -> None:
    made(file_of(14), bank_path)
    guards = {
        "words": ("Bash: `make deply`", None, None, None),
        "one call": ("Bash: `make deply`", "make deply", None, None),
        "both calls": ("Bash: `make deply`", "make deply", "make deploy", None),
        "a person's choice": ("Bash: `make deply`", None, None, "enforce"),
    }
    with closing(sqlite3.connect(bank_path)) as bank, bank:
        ids = [row[0] for row in bank.execute("SELECT id FROM lessons ORDER BY id LIMIT 4")]
        for lesson_id, fields in zip(ids, guards.values(), strict=True):
            bank.execute(
                "UPDATE lessons SET guard = ?, wrong_call = ?, right_call = ?, guard_mode = ?, unarmed = NULL, "
                "state = 'active' WHERE id = ?",
                (*fields, lesson_id),
            )
            bank.execute(
                "INSERT OR IGNORE INTO guards (tenant, project, key, lesson_id) "
                "SELECT tenant, project, '$ make', id FROM lessons WHERE id = ?",
                (lesson_id,),
            )
    async with Engine(settings) as engine:
        await engine.bank.open()
    with closing(sqlite3.connect(bank_path)) as bank:
        waiting = {
            row[0] for row in bank.execute("SELECT id FROM lessons WHERE unarmed IS NOT NULL")
        }
        armed = {
            row[0] for row in bank.execute("SELECT lesson_id FROM guards WHERE key = '$ make'")
        }
    named = dict(zip(ids, guards, strict=True))
    assert {named[one] for one in ids if one in waiting} == {"words", "one call"}
    assert {named[one] for one in ids if one in armed} == {"both calls", "a person's choice"}
