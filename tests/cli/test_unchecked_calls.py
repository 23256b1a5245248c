"""A call that a person's enforced guard may meet, on a machine that is too slow to check it, or with a locked bank.

The hook is a process of its own whose time is over as soon as the host's input is read.
"""

import asyncio
import json
import socket
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.models.lesson import GuardMode
from mcp_reflect.services import guards
from mcp_reflect.services.engine import Engine
from tests.clients.forked import run_forked

# What checks the call waits for good: a machine that is quick would be done before its time is over.
NO_TIME = """
from threading import Event
from mcp_reflect.cli import quick_hook
quick_hook.MAX_SECONDS = 0.0
quick_hook._finish_call = lambda *_: Event().wait(30)
quick_hook.run_hook(["{event}", "--project=app", "--bank={bank}"])
"""
IN_TIME = """
from mcp_reflect.cli import quick_hook
quick_hook.MAX_SECONDS = 60.0
quick_hook.run_hook(["{event}", "--project=app", "--bank={bank}"])
"""
PUSH = "git push --force origin main"


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    file = tmp_path / "bank.db"

    async def fill() -> None:
        async with Engine(Settings(bank=file, project="app")) as engine:
            for wrong, right, mode in (
                ("git push --force", "git push --force-with-lease", GuardMode.ENFORCE),
                ("npm publish --force", "npm publish", GuardMode.HOLD),
            ):
                stored = await engine.call(
                    "store_lesson",
                    {
                        "mistake": f"Called {wrong}", "correction": f"Call {right}",
                        "wrong_call": wrong, "right_call": right,
                    },
                )  # fmt: skip
                await guards.set_mode(engine.context, stored.lesson_id, mode)

    asyncio.run(fill())
    return file


def asked(bank: Path, command: str, event: str = "PreToolUse", code: str = NO_TIME) -> Any:
    sent = {"session_id": "s1", "tool_name": "Bash", "tool_input": {"command": command}}
    done = run_forked(
        code=code.format(event=event, bank=bank),
        given=json.dumps({**sent, "hook_event_name": event, "cwd": str(bank.parent)}),
    )
    assert done.stderr == ""
    return json.loads(done.stdout) if done.stdout else None


@pytest.mark.parametrize("command", [PUSH, f"cd web\n{PUSH}", "g''it push --force", "x;git status"])
def test_a_call_that_names_the_program_of_an_enforced_guard_is_held_where_time_is_over(
    bank: Path, command: str
) -> None:
    held = asked(bank, command)["hookSpecificOutput"]
    assert held["permissionDecision"] == "deny"
    assert "could not be checked" in held["permissionDecisionReason"]
    assert "les_" in held["permissionDecisionReason"]


@pytest.mark.parametrize(
    "command", ["ls", "legit push --force", "cat .gitignore", "npm publish --force"]
)
def test_other_calls_pass_where_time_is_over(bank: Path, command: str) -> None:
    assert asked(bank, command) is None


@pytest.mark.parametrize(
    ("event", "key"), [("BeforeTool", "reason"), ("preToolUse", "agent_message")]
)
def test_it_is_held_in_the_form_of_the_host(bank: Path, event: str, key: str) -> None:
    assert "could not be checked" in asked(bank, PUSH, event)[key]


@pytest.mark.parametrize("event", ["PostToolUse", "Stop", "UserPromptSubmit"])
def test_nothing_but_a_call_is_held(bank: Path, event: str) -> None:
    assert asked(bank, PUSH, event) is None


def test_a_broken_bank_holds_nothing(bank: Path) -> None:
    bank.write_bytes(b"this is no database")
    assert asked(bank, PUSH) is None
    assert asked(bank, PUSH, code=IN_TIME) is None


@pytest.mark.parametrize(("command", "is_held"), [(PUSH, True), ("ls -l", False)])
def test_an_enforced_guard_holds_a_call_with_too_many_values_to_be_parsed(
    bank: Path, command: str, is_held: bool
) -> None:
    call: dict[str, Any] = {"command": command, "more": [[]] * 200_000}
    sent = {"session_id": "s1", "tool_name": "Bash", "tool_input": call, "cwd": str(bank.parent)}
    done = run_forked(code=IN_TIME.format(event="PreToolUse", bank=bank), given=json.dumps(sent))
    assert ("deny" in done.stdout) is is_held


def test_an_enforced_guard_holds_while_another_process_writes(bank: Path) -> None:
    with closing(sqlite3.connect(bank, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for _ in range(2):
            held = asked(bank, PUSH, code=IN_TIME)["hookSpecificOutput"]
            assert "never will be" in held["permissionDecisionReason"]
        assert asked(bank, "git push --force-with-lease", code=IN_TIME) is None


@pytest.mark.parametrize("code", [NO_TIME, IN_TIME])
def test_an_enforced_guard_holds_where_nobody_may_read_the_bank(bank: Path, code: str) -> None:
    """As for a moment while the bank's first connection opens it, or its last one closes it."""
    with closing(sqlite3.connect(bank, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        held = asked(bank, PUSH, code=code)["hookSpecificOutput"]
        assert "could not be checked" in held["permissionDecisionReason"]
        assert asked(bank, "npm publish --force", code=code) is None


def test_an_enforced_guard_holds_where_the_settings_cannot_be_read(
    bank: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCP_REFLECT_HOLDOUT", "a lot")
    held = asked(bank, PUSH, code=IN_TIME)["hookSpecificOutput"]
    assert "could not be checked" in held["permissionDecisionReason"]
    assert asked(bank, "git status", code=IN_TIME) is None


def test_guards_that_are_off_hold_nothing(bank: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_REFLECT_GUARDS", "off")
    assert asked(bank, PUSH) is None


SILENT_BANK = """
from mcp_reflect.cli import quick_hook
quick_hook.MAX_SECONDS = 600.0
quick_hook.run_hook(["PreToolUse", "--project=app", "--bank=postgresql://app@127.0.0.1:{port}/app"])
"""


def test_a_hook_does_not_wait_for_a_bank_on_a_server_that_says_nothing() -> None:
    pytest.importorskip("psycopg")
    sent = {"session_id": "s1", "tool_name": "Bash", "tool_input": {"command": PUSH}}
    with socket.create_server(("127.0.0.1", 0)) as silent:
        code = SILENT_BANK.format(port=silent.getsockname()[1])
        done = run_forked(code=code, given=json.dumps(sent))
    assert (done.stdout, done.stderr) == ("", "")
