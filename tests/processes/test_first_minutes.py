"""The five minutes of a person: real processes, a home of their own, and a repository that moves and is cloned."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.stdio import RawServer
from tests.server.servers import ROOT, told

SENTENCE = "Run make setup before make test"
TASK = {"task": "run make test in the shop"}
# The command, whose hook ends itself after three seconds, which a busy machine may need.
OURS = """
import sys
from mcp_reflect.cli import main, quick_hook
quick_hook.MAX_SECONDS = 600
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="its home is another")
def test_the_first_minutes_of_a_person(tmp_path: Path) -> None:
    home, shop = tmp_path / "home", tmp_path / "shop"
    (tmp_path / "bin").mkdir()
    for folder in (home, shop):
        folder.mkdir()
    (tmp_path / "bin" / "git").symlink_to(git_program())  # no host's own command is on this PATH
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("MCP_REFLECT", "XDG", "GIT"))}
    env = {**outside, "HOME": str(home), "PATH": str(tmp_path / "bin"), "PYTHONPATH": str(ROOT)}
    env |= {"XDG_DATA_HOME": str(home / "data")}  # a client adds its own environment

    def ours(folder: Path, *words: str, typed: str = "", code: int = 0) -> str:
        command = [sys.executable, "-c", OURS, *words]
        done = subprocess.run(command, cwd=folder, env=env, input=typed, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr + done.stdout
        return done.stdout

    def git(folder: Path, *words: str) -> None:
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
        subprocess.run(["git", *who, *words], cwd=folder, env=env, check=True, capture_output=True)

    def recalled(folder: Path, command: list[str]) -> str:
        """What a server that a host starts in a folder recalls."""
        with RawServer(command, env=env, cwd=folder) as running:
            running.open()
            return json.dumps(told(running, "recall_lessons", TASK))

    git(tmp_path, "init", "-q", "--bare", "origin.git")
    git(shop, "init", "-q")
    git(shop, "commit", "-q", "--allow-empty", "-m", "Begin")
    git(shop, "remote", "add", "origin", f"file://{tmp_path / 'origin.git'}")
    git(shop, "push", "-q", "origin", "HEAD")

    ours(shop, "install", "claude-code", "--hooks", "--yes")
    entry = json.loads((home / ".claude.json").read_text("utf-8"))["mcpServers"]["mcp-reflect"]
    server = [entry["command"], *entry.get("args", [])]
    hooks = json.loads((home / ".claude" / "settings.json").read_text("utf-8"))["hooks"]
    assert "SessionStart" in hooks
    assert "stored, trusted" in ours(shop, "lessons", "add", SENTENCE)
    assert SENTENCE in recalled(shop, server)
    prompt = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": str(shop), "prompt": TASK["task"]}
    assert SENTENCE in ours(shop, "hook", "UserPromptSubmit", typed=json.dumps(prompt))
    (lesson,) = json.loads(ours(shop, "lessons", "list", "--json"))
    assert lesson["times_applied"] == 2, "one recall and one prompt showed it"

    moved, clone = tmp_path / "moved", tmp_path / "clone"
    shop.rename(moved)
    git(tmp_path, "clone", "-q", f"file://{tmp_path / 'origin.git'}", str(clone))
    assert SENTENCE in recalled(clone, server)
    report = json.loads(ours(clone, "doctor", "--json"))
    assert (report["bank_works"], report["degraded"]) == (True, [])

    said = ours(clone, "install", "claude-code", "--uninstall", "--yes")
    assert str(report["bank"]) in said, "it says where the lessons stay"
    assert [file for file in home.rglob("*") if file.is_file() and file.parent != Path(report["bank"]).parent] == []
    assert SENTENCE in ours(moved, "recall", TASK["task"])


def git_program() -> str:
    return subprocess.run(["which", "git"], check=True, capture_output=True, text=True).stdout.strip()
