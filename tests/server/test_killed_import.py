"""An import that is killed: what it told of is there; run again it adds the rest."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.writers import Written, lost, sound
from tests.server.servers import ROOT

LINES = 250
SECONDS = 60  # that anything here may take on the busiest machine

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")


def importing(file: Path, bank: Path) -> subprocess.Popen[str]:
    env = {**os.environ, "MCP_REFLECT_BANK": str(bank), "MCP_REFLECT_PROJECT": "app", "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "mcp_reflect", "import", "--json", str(file)]
    # A small pipe: the import waits for its reader, so it cannot end before it is killed.
    return subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, pipesize=4096)


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
