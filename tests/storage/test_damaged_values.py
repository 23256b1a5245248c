"""A flipped bit inside a value: the record is named and left out, and the others are read."""

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mcp_reflect.cli import main
from mcp_reflect.config import Settings
from mcp_reflect.errors import BankError
from mcp_reflect.models.lesson import Filter
from mcp_reflect.services.engine import Engine

COUNT = 12
BROKEN_UTF8 = "UPDATE lessons SET mistake = CAST(X'4465706C6FF979' AS TEXT) WHERE id = ?"
BROKEN_JSON = "UPDATE lessons SET tags = '{\"release\"]' WHERE id = ?"
BROKEN_ENUM = "UPDATE lessons SET trust = 'obrerved' WHERE id = ?"


async def damaged(settings: Settings, path: Path, statement: str) -> str:
    """Fill a bank, damage its third lesson; return the id."""
    async with Engine(settings) as engine:
        stored = [
            await engine.store_lesson(mistake=f"Deploy {number} failed", correction=f"Run step {number}")
            for number in range(COUNT)
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
        assert len(exported) == COUNT - 1
        event = json.loads(capsys.readouterr().err.splitlines()[0])
        assert (event["event"], event["record"]) == ("bank_record_damaged", lesson_id)
        assert len(await bank.lessons.latest(own)) == COUNT - 1
        assert len(await bank.views.browse(own, Filter())) == COUNT - 1
        board = await bank.views.board(own)
        assert lesson_id not in [row[0] for row in board["lessons"]["rows"]]
        with pytest.raises(BankError, match=f"The record {lesson_id} is damaged"):
            await bank.lessons.get(own, lesson_id)


async def test_export_and_doctor_name_the_damaged_record(
    settings: Settings, bank_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lesson_id = await damaged(settings, bank_path, BROKEN_UTF8)
    monkeypatch.setenv("MCP_REFLECT_BANK", str(bank_path))
    monkeypatch.setenv("MCP_REFLECT_PROJECT", "app")
    assert await asyncio.to_thread(main, ["export"]) == 0
    output = capsys.readouterr()
    assert len(output.out.splitlines()) == COUNT - 1
    assert lesson_id in output.err
    await asyncio.to_thread(main, ["doctor", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert not report["sound"]
    assert "restore --latest" in str(report["degraded"])
