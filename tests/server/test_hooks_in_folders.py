"""Hooks answer the same in every kind of folder, from the first call on, as a command and by the server."""

import asyncio
import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import TextContent

from mcp_reflect.cli import main
from mcp_reflect.config import Settings
from mcp_reflect.server.app import build
from tests.cli.commands import Command as PersonsCommand
from tests.storage.test_projects import SHOP, git, repository

RULE = "Use `uv run pytest` instead of `pytest`"
PYTEST = {"command": "pytest -q"}
NOT_FOUND = "Exit code 127\nbash: pytest: command not found"


def no_git(place: Path) -> Path:
    (folder := place / "shop").mkdir()
    return folder


def no_commit(place: Path) -> Path:
    git(folder := no_git(place), "init", "-q")
    return folder


def no_remote(place: Path) -> Path:
    return repository(place / "shop")


def remote(place: Path) -> Path:
    return repository(place / "shop", SHOP)


def worktree(place: Path) -> Path:
    git(repository(place / "shop"), "worktree", "add", "-q", str(place / "tree"))
    return place / "tree"


def subfolder(place: Path) -> Path:
    (folder := repository(place / "shop") / "src").mkdir()
    return folder


FOLDERS: dict[str, Callable[[Path], Path]] = {
    make.__name__: make for make in (no_git, no_commit, no_remote, remote, worktree, subfolder)
}
MOVED = ("no_remote", "remote")  # what a folder without a commit was is not known elsewhere


class Command:
    """Runs commands in this process, as a person and a host run them in a folder."""

    def __init__(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, place: Path
    ) -> None:
        monkeypatch.setenv("MCP_REFLECT_BANK", str(place / "bank.db"))
        monkeypatch.delenv("CLAUDE_PROJECT_DIR", raising=False)
        # The limit ends the process, and that is pytest's here.
        monkeypatch.setattr("mcp_reflect.cli.quick_hook.MAX_SECONDS", 600)
        self.capsys = capsys
        self.monkeypatch = monkeypatch

    def __call__(self, *words: str, sent: Any = None) -> str:
        text = io.BytesIO(json.dumps(sent).encode())
        self.monkeypatch.setattr("sys.stdin", io.TextIOWrapper(text))
        assert main(words) == 0
        return self.capsys.readouterr().out

    def add_rule(self) -> None:
        """Add the lesson as a person does, at a terminal."""
        calls = ("--wrong-call", "pytest -q", "--right-call", "uv run pytest -q")
        PersonsCommand(self.capsys, Path.cwd()).by_person("lessons", "add", RULE, *calls)

    def hooks(self, sent: list[dict[str, Any]]) -> list[Any]:
        """What the hook command answers to each event."""
        told = [self("hook", values["hook_event_name"], sent=values) for values in sent]
        return [json.loads(text) if text else {} for text in told]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (place := tmp_path / "command").mkdir()
    return place


@pytest.fixture
def command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, place: Path
) -> Command:
    return Command(capsys, monkeypatch, place)


def transcript(folder: Path) -> Path:
    """A session in which the tests failed, and the agent says that they pass."""
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": PYTEST}
    answer = {"type": "tool_result", "tool_use_id": "t1", "content": "2 failed", "is_error": True}
    said = {"type": "text", "text": "All tests pass."}
    records = (("assistant", call), ("user", answer), ("assistant", said))
    lines = [
        json.dumps({"type": role, "message": {"role": role, "content": [block]}}) + "\n"
        for role, block in records
    ]
    path = folder / "session.jsonl"
    path.write_text("".join(lines))
    return path


def events(session: Path, folder: Path) -> list[dict[str, Any]]:
    """The moments of a session, in order."""
    shared = {"session_id": "s1", "transcript_path": str(session), "cwd": str(folder)}
    call = {"tool_name": "Bash", "tool_input": PYTEST, "tool_use_id": "t1"}
    moments: list[tuple[str, dict[str, Any]]] = [
        ("PreToolUse", call),
        ("PostToolUseFailure", {**call, "error": NOT_FOUND}),
        ("UserPromptSubmit", {"prompt": "Run pytest on the shop", "session_id": "s2"}),
        ("Stop", {"last_assistant_message": "All tests pass."}),
    ]
    return [{**shared, "hook_event_name": name, **values} for name, values in moments]


async def by_server(bank: Path, folder: Path, sent: list[dict[str, Any]]) -> list[Any]:
    """What the hook tool of a server answers that runs in the folder."""
    settings = Settings(bank=bank, folder=folder)
    answers: list[Any] = []
    async with Client(build(settings)) as client:
        for values in sent:
            result = await client.call_tool("hook", values)
            (content,) = result.content
            assert isinstance(content, TextContent)
            answers.append(json.loads(content.text))
    return answers


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("kind", "moved"), [*((kind, False) for kind in FOLDERS), *((kind, True) for kind in MOVED)]
)
def test_a_hook_answers_the_same_in_every_folder(
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    place: Path,
    tmp_path: Path,
    kind: str,
    moved: bool,
) -> None:
    folder = FOLDERS[kind](place)
    monkeypatch.chdir(folder)
    command.add_rule()
    if moved:
        folder = folder.rename(place / "elsewhere")
    (other := tmp_path / "server").mkdir()
    for file in place.glob("bank.db*"):
        shutil.copy(file, other)
    sent = events(transcript(tmp_path), folder)
    commanded = command.hooks(sent)
    served = asyncio.run(by_server(other / "bank.db", folder, sent))
    assert commanded == served
    before, after, prompt, stop = served
    assert before["hookSpecificOutput"]["permissionDecision"] == "deny", "from the first call on"
    assert after == {}
    assert "uv run pytest" in prompt["hookSpecificOutput"]["additionalContext"]
    assert stop["decision"] == "block"


def test_below_the_folder_of_a_session_without_git_its_lessons_hold(
    command: Command, monkeypatch: pytest.MonkeyPatch, place: Path, tmp_path: Path
) -> None:
    (inside := (folder := no_git(place)) / "src").mkdir()
    monkeypatch.chdir(folder)
    command.add_rule()
    first, *_ = events(transcript(tmp_path), inside)
    assert command.hooks([first]) == [{}], "a session that began there is of another project"
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(folder))
    for session in ("s3", "s4"):  # the first process finds the project, the next one knows it
        (told,) = command.hooks([{**first, "session_id": session}])
        assert told["hookSpecificOutput"]["permissionDecision"] == "deny"
