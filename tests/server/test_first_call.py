"""The first call of a tool imports its modules beside the loop, so that other calls go on."""

import json
import subprocess
import sys

import pytest

from tests.server.servers import ROOT

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
        ("reflect", {"task": "Build", "outcome": "failure", "error": "refused"}, ("runs", "schemas")),
        ("critique", {"goal": "Add", "response": "1 + 1 = 3"}, ("critique", "schemas")),
    ],
)
def test_no_service_is_imported_on_the_loop(tool: str, arguments: dict[str, str], heavy: tuple[str, ...]) -> None:
    command = [sys.executable, "-c", IMPORTED, tool, json.dumps(arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    imported = [name.split(".")[1] for name in json.loads(done.stdout) if name.startswith("mcp_reflect.")]
    assert [name for name in imported if name in heavy] == []
