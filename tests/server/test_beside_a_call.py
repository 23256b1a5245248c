"""What goes on beside an answer: imports off the loop, nothing that reaches out, a dream, and what hooks left."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from mcp_reflect.config import Settings
from mcp_reflect.server.app import build
from mcp_reflect.server.service import Service
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.spool import Spool
from tests.clients.forked import run_forked
from tests.held_clock import HeldClock
from tests.server.calls import told
from tests.server.servers import ROOT
from tests.services.test_consolidate import FAR, SAME, reflections

IMPORTED = """
import asyncio, json, sys, tempfile, threading
from pathlib import Path
from mcp_reflect import Engine, Settings

on_the_loop = []

class Watch:
    def find_spec(self, name, path=None, target=None):
        if threading.current_thread() is threading.main_thread():
            on_the_loop.append(name)

async def main():
    with tempfile.TemporaryDirectory() as folder:
        async with Engine(Settings(bank=Path(folder) / "bank.db", project="app")) as engine:
            sys.meta_path.insert(0, Watch())
            await engine.call(sys.argv[1], json.loads(sys.argv[2]))

asyncio.run(main())
print(json.dumps(on_the_loop))
"""


@pytest.mark.parametrize(
    ("tool", "arguments", "heavy"),
    [
        (
            "reflect",
            {"task": "Build", "outcome": "failure", "error": "refused"},
            ("sessions", "schemas"),
        ),
        ("critique", {"goal": "Add", "response": "1 + 1 = 3"}, ("evidence", "schemas")),
    ],
)
def test_no_service_is_imported_on_the_loop(
    tool: str, arguments: dict[str, str], heavy: tuple[str, ...]
) -> None:
    command = [sys.executable, "-c", IMPORTED, tool, json.dumps(arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    imported = [
        name.split(".")[1] for name in json.loads(done.stdout) if name.startswith("mcp_reflect.")
    ]
    assert [name for name in imported if name in heavy] == []


def test_marked_arguments_reach_no_file_process_socket_library_or_statement(tmp_path: Path) -> None:
    code = "from tests.server.audited import main; main()"
    done = run_forked([str(tmp_path / "bank.db")], code=code, seconds=300)
    assert done.returncode == 0, done.stderr[-4000:]
    audited = json.loads(done.stdout.splitlines()[-1])
    assert (audited["reached"], audited["statements"]) == ([], [])
    assert audited["answered"] >= 30  # else only refusals would have been tried
    assert audited["events"]  # and the hook heard something
    assert audited["different"] > 50


async def dreams_after_a_call(engine: Engine, service: Service) -> int:
    """The dreams that there are after a call at which one may begin."""
    service.next_dream = 0.0
    await service.call("recall_lessons", {"task": "x"})
    if service.dreaming is not None:
        await service.dreaming
    return len(await engine.bank.consolidations.latest(engine.scopes.own))


async def test_one_dream_a_day_follows_a_call_where_something_is_new(
    settings: Settings, clock: HeldClock
) -> None:
    async with Engine(settings, clock=clock) as engine:
        service = Service(settings, engine)
        await reflections(engine, *SAME, FAR)
        assert [await dreams_after_a_call(engine, service) for _ in range(2)] == [1, 1]
        await reflections(
            engine, "The gate of the mill stood open", "The gates of the mill stood open"
        )
        assert await dreams_after_a_call(engine, service) == 1
        clock.time += 86_400
        assert [await dreams_after_a_call(engine, service) for _ in range(2)] == [2, 2]
        await service.close()


@pytest.mark.parametrize("mode", ["full", "lite"])
async def test_a_server_that_has_just_started_and_a_lite_one_do_not_dream(
    engine: Engine, mode: Any
) -> None:
    await reflections(engine, *SAME, FAR)
    service = Service(replace(engine.settings, mode=mode), engine)
    await service.call("recall_lessons", {"task": "x"})
    assert service.dreaming is None


def spooled(path: Path, command: str, **values: object) -> None:
    spool = Spool(path)
    call = {
        "tool": "Bash",
        "arguments": {"command": command},
        "result": None,
        "error": f"No rule for {command}",
    }
    spool.pending.append({**call, "session": "one", **values})
    spool.keep()


async def test_a_server_takes_in_what_hooks_left_and_each_counts_for_its_project(
    settings: Settings,
) -> None:
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
        lesson = {
            "mistake": "Ran the tests without a database",
            "correction": "Start it with `make db` first",
            "right_call": "make db && pytest",
        }
        stored = await told(client, "store_lesson", lesson)
        recall = await told(client, "recall_lessons", {"task": "run the tests with a database"})
        shown = "collected 12 items\n\n============ 12 passed in 0.31s ============"
        spooled(settings.bank_path, "make db && pytest", result=shown, error=None, project="app")
        outcome = {
            "success": "helped",
            "recall_id": recall["recall_id"],
            "lesson_ids": [stored["lesson_id"]],
        }
        proof = {
            "evidence": "test",
            "tool_results": [{"tool": "Bash", "content": shown, "exit_code": 0}],
        }
        assert (await told(client, "record_outcome", {**outcome, **proof}))["evidence"] == "test"
    await server.service.close()
