"""A pipe in place of a file: every command that is given one, or finds one, answers at once and waits for nobody."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.forked import run_forked

FIFO = "PIPE"
COMMANDS = [
    ["reflect", FIFO],
    ["reflect", "."],
    ["import", FIFO],
    ["import", "--own", FIFO],
    ["export", FIFO],
    ["backup", FIFO],
    ["restore", FIFO, "--yes"],
    ["dream", "--analysis", FIFO],
    ["learn", "--session", FIFO],
    ["replay", "--session", FIFO],
    ["promote", "CLAUDE.md", "--yes"],
    ["lessons", "list"],
    ["doctor"],
]
SECONDS = 40  # for a loaded machine: one that waits for the pipe waits without end


@pytest.mark.skipif(sys.platform == "win32", reason="a pipe has no name in a folder there")
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_waits_for_no_pipe(words: list[str], tmp_path: Path) -> None:
    for name in (FIFO, "CLAUDE.md", "runs.jsonl", "package-lock.json", "x.jsonl.zst"):
        os.mkfifo(tmp_path / name)
    home = tmp_path / "home"
    for place in (".claude/projects/-x", ".codex/sessions", ".gemini/tmp/x/chats"):
        (home / place).mkdir(parents=True)
        os.mkfifo(home / place / "s.jsonl")
    os.mkfifo(home / ".gemini/tmp/x/.project_root")
    os.mkfifo(home / ".claude.json")
    env = {"HOME": str(home), "MCP_REFLECT_BANK": str(tmp_path / "bank.db")}
    done = run_forked(words, env, folder=tmp_path, seconds=SECONDS)
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 1, 2)


@pytest.mark.skipif(sys.platform == "win32", reason="shells there have no <(command)")
def test_the_pipe_of_a_shell_is_read(tmp_path: Path) -> None:
    env = {**os.environ, "MCP_REFLECT_BANK": str(tmp_path / "bank.db")}
    line = '{"mistake": "Fed the wombat", "correction": "Feed it once a day"}'
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m mcp_reflect import <(echo '{line}')"],
        cwd=tmp_path, env=env, capture_output=True, timeout=SECONDS, check=False, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="a pipe has no name in a folder there")
def test_a_bank_that_is_a_pipe_is_refused(tmp_path: Path) -> None:
    bank = tmp_path / "bank.db"
    os.mkfifo(bank)
    for words in (["lessons", "list"], ["doctor"], ["hook", "SessionStart"]):
        env = {"MCP_REFLECT_BANK": str(bank)}
        sent = '{"session_id": "s", "cwd": "/"}'
        done = run_forked(words, env, sent, folder=tmp_path, seconds=SECONDS)
        assert "Traceback" not in done.stderr
        assert done.returncode in (0, 1, 2)
