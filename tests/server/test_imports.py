"""An import beside recalls, and one that is killed."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.clients.forked import Forked
from tests.clients.writers import Written, lost, sound
from tests.server.servers import LESSON, ROOT, server, told

# An import that tells of each batch, and goes on when it is told to.
IMPORT = """
import asyncio, sys
from pathlib import Path
from mcp_reflect.services.engine import Engine
from mcp_reflect.config import Settings

async def main():
    lines = [(n, {"mistake": f"Row {n} failed with code {n}x", "correction": f"Mend row {n}"}) for n in range(150)]
    async with Engine(Settings(bank=Path(sys.argv[1]), project="app")) as engine:
        async for batch in engine.import_lessons(lines):
            print(len(batch), flush=True)
            sys.stdin.readline()

asyncio.run(main())
"""


def test_recalls_are_answered_between_the_batches_of_an_import(bank_path: Path) -> None:
    with server(bank_path) as running:
        told(running, "store_lesson", LESSON)
        with Forked([str(bank_path)], code=IMPORT) as importing:
            seen: list[int] = []
            while line := importing.stdout.readline():
                seen.append(int(line) + sum(seen[-1:]))
                found = told(running, "recall_lessons", {"task": "deploy on a Friday"})
                assert found["lessons"][0]["text"].startswith("Deployed on a Friday")
                assert told(running, "recall_lessons", {"task": "row 7 failed with code 7x"})[
                    "lessons"
                ]
                told(
                    running,
                    "store_lesson",
                    {**LESSON, "mistake": f"Deployed while {seen[-1]} were there"},
                )
                importing.stdin.write(b"\n")
        assert len(seen) > 1  # more than one batch, or nothing was between
        assert seen[-1] == 150


LINES = 150
SECONDS = 60  # that anything here may take on the busiest machine


def importing(file: Path, bank: Path) -> subprocess.Popen[str]:
    env = {
        **os.environ,
        "MCP_REFLECT_BANK": str(bank),
        "MCP_REFLECT_PROJECT": "app",
        "PYTHONUNBUFFERED": "1",
    }
    command = [sys.executable, "-m", "mcp_reflect", "import", "--json", str(file)]
    # A small pipe: the import waits for its reader, so it cannot end before it is killed.
    return subprocess.Popen(
        command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, pipesize=4096
    )


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_an_import_that_was_killed_adds_the_rest_when_it_is_run_again(
    bank_path: Path, tmp_path: Path
) -> None:
    file = tmp_path / "lessons.jsonl"
    rows = [
        {"mistake": f"Row {n} failed with code {n}x", "correction": f"Mend row {n}"}
        for n in range(LINES)
    ]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    with importing(file, bank_path) as killed:
        assert killed.stdout is not None
        told = [json.loads(killed.stdout.readline()) for _ in range(3)]
        killed.send_signal(signal.SIGKILL)
        told += [json.loads(line) for line in killed.stdout if line.endswith("\n")]
    assert 3 <= len(told) < LINES
    assert lost(bank_path, [Written("lesson", (one["lesson_id"],)) for one in told]) == []
    assert sound(bank_path)
    with importing(file, bank_path) as again:
        output, _ = again.communicate(timeout=SECONDS)
    became = [json.loads(line) for line in output.splitlines()]
    assert len({one["lesson_id"] for one in became}) == len(became) == LINES
    assert [one["lesson_id"] for one in became[: len(told)]] == [one["lesson_id"] for one in told]
    assert Counter(one["status"] for one in became)["duplicate"] >= len(told)
    assert sound(bank_path)
