"""An import that is killed: what it told of is there, its processes end too; run again it adds the rest."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.writers import Written, lost, sound
from tests.processes.servers import ROOT

LINES = 600
SECONDS = 60  # that anything here may take on the busiest machine

# Lessons made ready in two processes, of which the first page is told; nothing is read on.
SHARED = """
import asyncio, sys
from mcp_reflect.storage.transfer import PAGE, ready
from mcp_reflect.clock import Clock
from mcp_reflect.models.lesson import LessonDraft
from mcp_reflect.models.common import Scope

async def main():
    drafts = [(Scope("t", "app"), LessonDraft(text="Row 1", mistake="Row 1", correction="Mend it"))] * PAGE * 9
    async for page in ready(drafts, Clock(), 2, least_shared=1):
        print(len(page), flush=True)
        sys.stdin.readline()

if __name__ == "__main__":
    asyncio.run(main())
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")


def importing(file: Path, bank: Path) -> subprocess.Popen[str]:
    env = {**os.environ, "MCP_REFLECT_BANK": str(bank), "MCP_REFLECT_PROJECT": "app", "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "mcp_reflect", "import", "--json", str(file)]
    return subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True)


def test_an_import_that_was_killed_adds_the_rest_when_it_is_run_again(bank_path: Path, tmp_path: Path) -> None:
    file = tmp_path / "lessons.jsonl"
    rows = [{"mistake": f"Row {n} failed with code {n}x", "correction": f"Mend row {n}"} for n in range(LINES)]
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


def test_the_processes_of_an_import_end_with_it_and_leave_its_output_alone(tmp_path: Path) -> None:
    script = tmp_path / "shared.py"
    script.write_text(SHARED, encoding="utf-8")
    command, env, pipe = [sys.executable, str(script)], {**os.environ, "PYTHONPATH": "."}, subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, env=env, stdin=pipe, stdout=pipe, stderr=pipe) as one:
        assert one.stdout is not None
        assert int(one.stdout.readline()) > 0
        one.send_signal(signal.SIGKILL)
        # The pipes are at their end when nobody holds them any more: neither it nor a process of it.
        output, _ = one.communicate(timeout=SECONDS)
    assert output == b""
