"""A recall is answered while an import goes on in another process: between its batches, and inside one of them."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from tests.server.servers import LESSON, ROOT, server, told

# An import that tells of each batch, and goes on when it is told to.
IMPORT = """
import asyncio, sys
from pathlib import Path
from mcp_reflect.services.engine import Engine
from mcp_reflect.config import Settings

async def main():
    lines = [(n, {"mistake": f"Row {n} failed with code {n}x", "correction": f"Mend row {n}"}) for n in range(260)]
    async with Engine(Settings(bank=Path(sys.argv[1]), project="app")) as engine:
        async for batch in engine.import_lessons(lines):
            print(len(batch), flush=True)
            sys.stdin.readline()

asyncio.run(main())
"""


def test_recalls_are_answered_between_the_batches_of_an_import(bank_path: Path) -> None:
    with server(bank_path) as running:
        told(running, "store_lesson", LESSON)
        command = [sys.executable, "-c", IMPORT, str(bank_path)]
        with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as importing:
            assert importing.stdout is not None
            assert importing.stdin is not None
            seen: list[int] = []
            while line := importing.stdout.readline():
                seen.append(int(line) + sum(seen[-1:]))
                found = told(running, "recall_lessons", {"task": "deploy on a Friday"})
                assert found["lessons"][0]["text"].startswith("Deployed on a Friday")
                assert told(running, "recall_lessons", {"task": "row 7 failed with code 7x"})["lessons"]
                told(running, "store_lesson", {**LESSON, "mistake": f"Deployed while {seen[-1]} were there"})
                importing.stdin.write("\n")
                importing.stdin.flush()
        assert len(seen) > 1  # more than one batch, or nothing was between
        assert seen[-1] == 260


def test_a_recall_is_answered_inside_a_transaction_of_an_import(bank_path: Path) -> None:
    with server(bank_path) as running:
        told(running, "store_lesson", LESSON)
        with closing(sqlite3.connect(bank_path, isolation_level=None)) as importing:
            importing.execute("BEGIN IMMEDIATE")
            importing.execute("UPDATE lessons SET importance = 0.9")
            found = told(running, "recall_lessons", {"task": "deploy on a Friday", "detail": True})
            assert found["lessons"][0]["importance"] == 0.5  # as it was before the transaction
            importing.execute("COMMIT")
        again = json.dumps(told(running, "recall_lessons", {"task": "deploy on a Friday", "detail": True}))
        assert '"importance": 0.9' in again
