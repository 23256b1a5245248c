"""Servers note the calls that hooks had no time for, each for the project of its hook."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from mcp import Client

from mcp_reflect.config import Settings
from mcp_reflect.server.app import build
from mcp_reflect.storage.spool import Spool
from tests.server.calls import told


def spooled(path: Path, command: str, **values: object) -> None:
    spool = Spool(path)
    call = {"tool": "Bash", "arguments": {"command": command}, "result": None, "error": f"No rule for {command}"}
    spool.pending.append({**call, "session": "one", **values})
    spool.keep()


async def test_a_server_takes_in_what_hooks_left_and_each_counts_for_its_project(settings: Settings) -> None:
    path = settings.bank_path
    server = build(replace(settings, projects=()))
    async with Client(server) as client:
        await told(client, "recall_lessons", {"task": "build"})
        spooled(path, "make a", project="app")
        spooled(path, "make b", project="another")
        spooled(path, "make c", project=None, session=None)
        spooled(path, "make d", project="app", unknown=1)
        await told(client, "recall_lessons", {"task": "build"})
    await server.service.close()
    with closing(sqlite3.connect(path)) as bank:
        rows = bank.execute("SELECT project, arguments FROM failures ORDER BY arguments").fetchall()
    assert [(project, arguments[-8:-3]) for project, arguments in rows] == [
        ("app", "ake a"),
        ("another", "ake b"),
        ("app", "ake c"),
    ]
    assert Spool(path).path.read_bytes() == b""


async def test_a_proof_that_waits_in_the_spool_counts_as_seen_by_a_hook(settings: Settings) -> None:
    server = build(replace(settings, projects=()))
    async with Client(server) as client:
        lesson = {"mistake": "Ran the tests without a database", "correction": "Start it with `make db`"}
        stored = await told(client, "store_lesson", lesson)
        recall = await told(client, "recall_lessons", {"task": "run the tests with a database"})
        shown = "collected 12 items\n\n============ 12 passed in 0.31s ============"
        spooled(settings.bank_path, "pytest", result=shown, error=None, project="app")
        outcome = {"success": "helped", "recall_id": recall["recall_id"], "lesson_ids": [stored["lesson_id"]]}
        proof = {"evidence": "test", "tool_results": [{"tool": "Bash", "content": shown, "exit_code": 0}]}
        assert (await told(client, "record_outcome", {**outcome, **proof}))["evidence"] == "test"
    await server.service.close()
