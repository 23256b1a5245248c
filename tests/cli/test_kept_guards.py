"""A bank elsewhere that does not answer: what a person enforces in it holds by what this machine keeps of it."""

import json
import socket
import sqlite3
import stat
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.cli import kept_guards
from mcp_reflect.cli.kept_guards import keep_guards, kept_file, refusal_text
from mcp_reflect.models.warning import EnforcedGuard
from mcp_reflect.places import BANK
from tests.cli import test_unchecked_calls
from tests.cli.test_unchecked_calls import PUSH
from tests.clients.forked import Forked, run_forked

bank = test_unchecked_calls.bank

HOOK = """
from mcp_reflect.cli import quick_hook
quick_hook.MAX_TEAM_SECONDS = 60.0
quick_hook.run_hook(["{event}", "--url={url}", "--bank={bank}"])
"""


def asked(own: Path, url: str, event: str, command: str = "", **sent: Any) -> Any:
    sent |= {"session_id": "s1", "hook_event_name": event, "cwd": str(own.parent)}
    if command:
        sent |= {"tool_name": "Bash", "tool_input": {"command": command}}
    done = run_forked(code=HOOK.format(event=event, url=url, bank=own), given=json.dumps(sent))
    assert done.stderr == ""
    return json.loads(done.stdout) if done.stdout else None


@pytest.fixture
def url(bank: Path, tmp_path: Path) -> str:
    """The address of a service that answered the start of a session, and is gone."""
    env = {"MCP_REFLECT_BANK": str(bank), "MCP_REFLECT_PROJECT": "app"}
    with Forked(("serve", "--http", "127.0.0.1:0"), env) as service:
        address = service.stdout.readline().decode().strip()
        asked(tmp_path / "own" / "bank.db", address, "SessionStart", source="startup")
    return address


def test_a_call_against_an_enforced_guard_is_held_where_the_service_is_gone(
    tmp_path: Path, url: str
) -> None:
    own = tmp_path / "own" / "bank.db"
    (kept,) = own.parent.glob("guards-*.json")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    held = asked(own, url, "PreToolUse", PUSH)["hookSpecificOutput"]
    assert held["permissionDecision"] == "deny"
    assert "the bank does not answer" in held["permissionDecisionReason"]
    assert "Call git push --force-with-lease" in held["permissionDecisionReason"]
    for command in ("git status", "git push --force-with-lease", "npm publish --force"):
        assert asked(own, url, "PreToolUse", command) is None
    assert asked(own, "http://127.0.0.1:9/mcp", "PreToolUse", PUSH) is None  # another service


@pytest.fixture
def enforced(bank: Path) -> EnforcedGuard:
    with sqlite3.connect(bank) as connection:
        (guard,) = connection.execute(
            "SELECT guard FROM lessons WHERE guard_mode = 'enforce'"
        ).fetchone()
    return EnforcedGuard(lesson_id="les_1", guard=guard, text="Call it with lease.")


def test_a_bank_on_a_server_that_says_nothing_holds_by_what_is_kept(
    tmp_path: Path, enforced: EnforcedGuard, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("psycopg")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        place = f"postgresql://app@127.0.0.1:{silent.getsockname()[1]}/app"
        monkeypatch.setenv(BANK, place)
        monkeypatch.setenv("MCP_REFLECT_PROJECT", "app")
        file = kept_file(None, str(tmp_path))
        assert file is not None
        keep_guards(file, [enforced])
        code = (
            "from mcp_reflect.cli import quick_hook\n"
            f"quick_hook.run_hook(['PreToolUse', '--project=app', '--bank={place}'])"
        )
        for command, is_held in ((PUSH, True), ("git status", False)):
            sent = {"session_id": "s1", "tool_name": "Bash", "tool_input": {"command": command}}
            done = run_forked(code=code, given=json.dumps({**sent, "cwd": str(tmp_path)}))
            assert done.stderr == ""
            assert ("the bank does not answer" in done.stdout) is is_held


def test_what_is_kept_follows_the_bank_and_is_never_believed_as_it_stands(
    tmp_path: Path, enforced: EnforcedGuard, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "guards.json"
    call = {"command": PUSH}
    keep_guards(file, [])
    assert not file.exists()
    keep_guards(file, [enforced])
    assert "with lease" in str(refusal_text(file, "Bash", call))
    written = file.stat().st_mtime_ns
    keep_guards(file, [enforced])
    assert file.stat().st_mtime_ns == written
    monkeypatch.setenv("MCP_REFLECT_GUARDS", "off")
    assert refusal_text(file, "Bash", call) is None
    monkeypatch.delenv("MCP_REFLECT_GUARDS")
    keep_guards(file, [])
    assert refusal_text(file, "Bash", call) is None
    for odd in (
        "",
        "[]",
        '{"guards": 7}',
        '{"guards": [7, {"guard": "of another release"}]}',
        "[" * 9999,
    ):
        file.write_text(odd)
        assert refusal_text(file, "Bash", call) is None
    assert kept_guards.guards_from(None) is None


def test_a_bank_in_a_file_keeps_nothing_beside_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(BANK, str(tmp_path / "bank.db"))
    assert kept_file(None, "/somewhere") is None
