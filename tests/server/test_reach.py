"""No argument reaches a shell, a path, an address or the text of SQL: an audit hook sees all that a process opens."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.server.audited", str(tmp_path_factory.mktemp("bank") / "bank.db")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_marked_arguments_reach_no_file_process_socket_or_library(audited: dict[str, Any]) -> None:
    assert audited["reached"] == []
    assert audited["answered"] >= 30  # else only refusals would have been tried
    assert audited["events"]  # and the hook heard something


def test_marked_arguments_reach_no_statement(audited: dict[str, Any]) -> None:
    assert audited["statements"] == []
    assert audited["different"] > 50
