"""A finished session is read by the person's own agent program, once, and its lesson is the model's."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.cli.hook import reflect_in_background
from mcp_reflect.config import Settings
from mcp_reflect.services.hook_events import read_hook
from tests.cli.commands import Command
from tests.llm.test_llm_programs import CLAUDE, StandIn
from tests.runs import sessions

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the stand-in is a script with a shebang")

LESSON = {"mistake": "Ran tool.py without --yes", "correction": "Pass --yes to tool.py"}
ANALYSIS = {"reflection": "It refuses without --yes.", "importance": 0.7, **LESSON, "lessons": [LESSON]}


def started(command: Command, llm: str = "claude-code", **values: Any) -> "subprocess.Popen[bytes]":
    transcript = command.folder / "c-1.jsonl"
    transcript.write_text(sessions.claude())
    sent = {"session_id": "c-1", "cwd": str(command.folder), "transcript_path": str(transcript)}
    hook = read_hook("SessionEnd", sent)
    assert hook is not None
    bank = Path(os.environ["MCP_REFLECT_BANK"])
    process = reflect_in_background(hook, Settings(bank=bank, project="app", llm=llm, **values))
    assert process is not None
    return process


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    made = StandIn(tmp_path, monkeypatch)
    made.write(
        "claude", json.dumps({**CLAUDE, "result": json.dumps(ANALYSIS)}), body="open(sys.argv[0] + 's', 'a').write('x')"
    )
    return made


def test_its_lesson_is_the_model_s_and_stats_count_it(command: Command, stand_in: StandIn) -> None:
    assert started(command).wait(60) == 0
    assert "tool" in stand_in.call()["prompt"]
    (lesson,) = [one for one in command.json("lessons", "list") if one["mistake"] == LESSON["mistake"]]
    assert lesson["source"] == "model"
    assert command.json("stats")["reflections_by_thinker"] == {"claude-code": 1}


def test_it_is_read_once_by_processes_that_start_together(command: Command, stand_in: StandIn) -> None:
    for process in [started(command) for _ in range(3)]:
        assert process.wait(60) == 0
    assert (stand_in.folder / "claudes").read_text() == "x"
    assert command.json("stats")["reflections_by_thinker"] == {"claude-code": 1}


def test_a_program_that_fails_leaves_it_to_rules_and_the_bounded_log_says_why(
    command: Command, stand_in: StandIn
) -> None:
    stand_in.write("claude", json.dumps({**CLAUDE, "is_error": True, "result": "Not logged in"}), code=1)
    log = Path(f"{os.environ['MCP_REFLECT_BANK']}.distil.log")
    log.write_text("x" * 100_001)
    assert started(command).wait(60) == 0
    assert "llm_failed" in log.read_text()
    assert log.stat().st_size < 10_000
    assert log.stat().st_mode & 0o077 == 0
    assert command.json("stats")["reflections_by_thinker"] == {"rules": 1}


def test_the_hook_asks_the_program_only_with_its_option(command: Command, stand_in: StandIn) -> None:
    transcript = command.folder / "c-2.jsonl"
    transcript.write_text(sessions.claude())
    sent = {"session_id": "c-2", "cwd": str(command.folder), "transcript_path": str(transcript)}
    assert started(command, llm="off").wait(60) == 0
    assert not (stand_in.folder / "claudes").exists()
    words = [sys.executable, "-m", "mcp_reflect", "hook", "--distil=claude-code", "SessionEnd"]
    subprocess.run(words, input=json.dumps(sent).encode(), check=True, timeout=60)
    log = Path(f"{os.environ['MCP_REFLECT_BANK']}.distil.log")
    assert log.exists()
