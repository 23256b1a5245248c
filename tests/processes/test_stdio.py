"""The server as hosts run it, a process and two pipes; and the first five minutes of a person."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.forked import run_forked
from tests.clients.stdio import Era, RawServer, ServerDiedError
from tests.server.servers import LESSON, ROOT, SERVE, server, started_server, told

CRASHING = (
    "import warnings\n"
    "from mcp_reflect.services import lessons\n"
    "from mcp_reflect.server.app import build\n"
    "async def fail(context, arguments):\n"
    "    warnings.warn('a warning in a tool')\n"
    "    raise RuntimeError('a crash in a tool')\n"
    "lessons.forget = fail\n"
    "build().run()\n"
)


@pytest.mark.long
@pytest.mark.parametrize("era", Era)
def test_every_byte_on_stdout_is_protocol(bank_path: Path, era: Era) -> None:
    command = (sys.executable, "-c", CRASHING)
    with started_server(
        bank_path, era=era, command=command, MCP_REFLECT_LOG_LEVEL="debug", PYTHONWARNINGS="always"
    ) as running:
        # The raw client takes each line on stdout for a JSON object, or fails.
        told(running, "store_lesson", LESSON)
        assert told(running, "recall_lessons", {"task": "deploy on a Friday"})["lessons"]
        assert running.call_tool("forget_lesson", {"lesson_id": "x", "reason": "y"})["isError"]
        assert running.call_tool("recall_lessons", {})["isError"]
        assert running.request("tools/list")["tools"]
        assert running.close() == 0
    events = {
        json.loads(line)["event"] for line in running.stderr.splitlines() if line.startswith("{")
    }
    assert {"lesson_stored", "lessons_recalled", "tool_failed"} <= events
    assert "a warning in a tool" in running.stderr


def test_a_stdin_that_is_closed_before_the_first_call_ends_the_process(bank_path: Path) -> None:
    with started_server(bank_path) as running:
        assert running.close(within=60) == 0  # one that has to be killed ends with another code


def test_a_lesson_is_recalled_by_a_process_started_later_and_by_one_already_running(
    bank_path: Path,
) -> None:
    with server(bank_path) as before:
        assert not told(before, "recall_lessons", {"task": "deploy on a Friday"}).get("lessons")
        with server(bank_path) as first:
            stored = told(first, "store_lesson", LESSON)
            seen = told(before, "recall_lessons", {"task": "deploy on a Friday"})
        with started_server(bank_path, era=Era.MODERN) as later:
            found = told(later, "recall_lessons", {"task": "deploy on a Friday"})
    assert [hit["id"] for hit in seen["lessons"]] == [stored["lesson_id"]]
    assert [hit["id"] for hit in found["lessons"]] == [stored["lesson_id"]]


def test_a_lesson_that_was_acknowledged_outlives_a_kill(bank_path: Path) -> None:
    running = started_server(bank_path)
    stored = told(running, "store_lesson", LESSON)
    os.kill(running.pid, signal.SIGKILL)
    with pytest.raises(ServerDiedError):
        running.request("ping")
    running.close()
    with server(bank_path) as later:
        found = told(later, "recall_lessons", {"task": "deploy on a Friday"})
    assert [hit["id"] for hit in found["lessons"]] == [stored["lesson_id"]]


STARTED = """
import json, sys
from mcp_reflect.server.app import build
server = build()
heavy = ("anthropic", "sqlite3", "structlog", "json_repair")
print(json.dumps([name for name in sys.modules if name in heavy
    or name.startswith(("mcp_reflect.schemas", "mcp_reflect.storage", "mcp_reflect.sessions",
    "mcp_reflect.services"))]))
"""


def test_nothing_heavy_is_imported_before_the_first_call(bank_path: Path) -> None:
    env = {**os.environ, "MCP_REFLECT_BANK": str(bank_path)}
    done = subprocess.run(
        [sys.executable, "-c", STARTED],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == []
    assert not bank_path.parent.exists()


def test_a_setting_that_cannot_be_read_is_named_at_the_start(bank_path: Path) -> None:
    env = {**os.environ, "MCP_REFLECT_BANK": str(bank_path), "MCP_REFLECT_LOG_LEVEL": "loud"}
    done = subprocess.run(
        SERVE,
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "mcp-reflect: MCP_REFLECT_LOG_LEVEL: 'loud' is not one of its values."
    )


SENTENCE = "Run make setup before make test"
TASK = {"task": "run make test in the shop"}
# The command, whose hook ends itself after three seconds, which a busy machine may need.
OURS = """
import sys
from mcp_reflect.cli import main, quick_hook
quick_hook.MAX_SECONDS = 600
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="its home is another")
def test_the_first_minutes_of_a_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, shop = tmp_path / "home", tmp_path / "shop"
    (tmp_path / "bin").mkdir()
    for folder in (home, shop):
        folder.mkdir()
    (tmp_path / "bin" / "git").symlink_to(git_program())  # no host's own command is on this PATH
    for name in [one for one in os.environ if one.startswith(("MCP_REFLECT", "XDG", "GIT"))]:
        monkeypatch.delenv(name)
    env = {**os.environ, "HOME": str(home), "PATH": str(tmp_path / "bin"), "PYTHONPATH": str(ROOT)}
    env |= {"XDG_DATA_HOME": str(home / "data")}  # a client adds its own environment

    def ours(folder: Path, *words: str, typed: str = "", code: int = 0) -> str:
        done = run_forked(words, env, typed, folder=folder, code=OURS)
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
    assert "stored" in ours(shop, "lessons", "add", SENTENCE)
    assert SENTENCE in recalled(shop, server)
    prompt = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": "s",
        "cwd": str(shop),
        "prompt": TASK["task"],
    }
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
    assert [
        file
        for file in home.rglob("*")
        if file.is_file() and file.parent != Path(report["bank"]).parent
    ] == []
    assert SENTENCE in ours(moved, "recall", TASK["task"])


def git_program() -> str:
    return subprocess.run(
        ["which", "git"], check=True, capture_output=True, text=True
    ).stdout.strip()
