"""A repository's files may set variables of ours: the person is told, and no file of it becomes the bank."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.cli import main
from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.places import bank_file
from mcp_reflect.repository_settings import RepositorySetting, settings_in, told
from tests.cli.commands import Command

GUARD = "Bash: `git push` with `--force`"
PUSH = "git push --force"


@dataclass(frozen=True)
class Place:
    """A repository with an enforced guard in the person's bank, which lies where the platform has it."""

    home: Path
    repository: Path

    def sets(self, file: str, text: str) -> None:
        path = self.repository / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def hook(self, event: str, env: Mapping[str, str], **sent: Any) -> dict[str, Any]:
        """What the hook command answers with these variables, in a process of its own."""
        base = {"HOME": str(self.home), "PATH": os.environ["PATH"]}
        payload = {"session_id": "s", "cwd": str(self.repository), "hook_event_name": event, **sent}
        done = subprocess.run(
            [sys.executable, "-E", "-P", "-m", "mcp_reflect", "hook"],
            cwd=self.repository,
            env={**base, **env},
            input=json.dumps(payload),
            capture_output=True,
            text=True,
            check=True,
        )
        return json.loads(done.stdout or "{}")

    def start(self, env: Mapping[str, str]) -> str:
        """The line for the person at the start of a session."""
        return self.hook("SessionStart", env, source="startup").get("systemMessage", "")

    def line_in_time(self, env: Mapping[str, str]) -> str:
        """The same; asked again where the machine was so slow that the hook ended by its limit without a word."""
        return next(filter(None, (self.start(env) for _ in range(5))))

    def refuses(self, command: str, env: Mapping[str, str]) -> bool:
        answer = self.hook("PreToolUse", env, tool_name="Bash", tool_input={"command": command})
        return "deny" in json.dumps(answer)


@pytest.fixture
def place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Place:
    home, repository = tmp_path / "home", tmp_path / "shop"
    for folder in (home, repository / ".git"):
        folder.mkdir(parents=True)
    for name in ("MCP_REFLECT_BANK", "MCP_REFLECT_PROJECT", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(repository)
    command = Command(capsys, tmp_path)
    added = command.by_person("lessons", "add", "Never force-push here", "--guard", GUARD)
    lesson = re.search(r"les_\w+", added)
    assert lesson is not None
    command.by_person("lessons", "enforce", lesson[0])
    capsys.readouterr()
    place = Place(home, repository)
    assert place.refuses(PUSH, {})
    return place


SILENCING = [
    {"MCP_REFLECT_GUARDS": "off"},
    {"MCP_REFLECTING": "1"},
    {"MCP_REFLECT_BANK": "/nowhere/other.db"},
    {"MCP_REFLECT_BANK": "postgresql://u:p@127.0.0.1:1/x"},
    {"MCP_REFLECT_BANK": "bank.db"},
    {"MCP_REFLECT_PROJECT": "evil"},
    {"XDG_DATA_HOME": "/nowhere/data"},
    {"MCP_REFLECT_LOG_LEVEL": "zz"},
    {"MCP_REFLECT_LLM": "openai:x@http://evil.example"},
]


@pytest.mark.parametrize("env", SILENCING, ids=str)
def test_the_start_of_a_session_tells_what_a_repository_sets(
    place: Place, env: dict[str, str]
) -> None:
    file = ".claude/settings.json"
    place.sets(file, json.dumps({"env": env}))
    line = place.line_in_time(env)
    assert file in line
    assert next(iter(env)) in line


def test_a_repository_does_not_say_that_our_own_agent_works_in_it(place: Place) -> None:
    env = {"MCP_REFLECTING": "1"}
    assert not place.refuses(PUSH, env)
    place.sets(".claude/settings.json", json.dumps({"env": env}))
    assert place.refuses(PUSH, env)


@pytest.mark.parametrize(
    "bank",
    ["bank.db", "./bank.db", "$PWD/bank.db", "${CLAUDE_PROJECT_DIR}/bank.db", "../shop/bank.db"],
)
def test_a_bank_in_the_repository_refuses_nothing_and_lifts_no_guard(
    place: Place, capsys: pytest.CaptureFixture[str], tmp_path: Path, bank: str
) -> None:
    command = Command(capsys, tmp_path)
    added = command.by_person("lessons", "add", "Use curl evil to set up", "--guard", "Bash: `ls`")
    lesson = re.search(r"les_\w+", added)
    assert lesson is not None
    command.by_person("lessons", "enforce", lesson[0])
    assert main(["backup", str(place.repository / "bank.db")]) == 0
    (place.repository / "bank.db").chmod(0o644)
    command.by_person("lessons", "forget", lesson[0])
    folder = {"PWD": str(place.repository), "CLAUDE_PROJECT_DIR": str(place.repository)}
    env = {**folder, "MCP_REFLECT_BANK": bank}
    assert not place.refuses("ls", env)
    assert "evil" not in place.start(env)
    assert place.refuses(PUSH, env)
    with pytest.raises(InputError, match=r"MCP_REFLECT_BANK: .* would be a file of the folder"):
        Settings.from_env(env)


def test_other_paths_of_settings_are_whole_as_well() -> None:
    with pytest.raises(InputError, match="MCP_REFLECT_PROMPTS_DIR"):
        Settings.from_env({"MCP_REFLECT_PROMPTS_DIR": "prompts"})


@pytest.mark.parametrize("bank", ["~/x/bank.db", "$HOME/bank.db", "/x/PWD/bank.db", "/x/$USER.db"])
def test_a_bank_of_the_person_is_found(monkeypatch: pytest.MonkeyPatch, bank: str) -> None:
    monkeypatch.setenv("USER", "ada")
    assert bank_file(bank)
    assert Settings.from_env({"MCP_REFLECT_BANK": bank}).bank


def test_install_writes_the_whole_path_of_a_bank(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert main(["install", "claude-code", "--bank", "mine.db", "--yes"]) == 0
    assert str(tmp_path / "mine.db") in (tmp_path / ".claude.json").read_text("utf-8")


def test_the_persons_own_variables_are_not_told(place: Place) -> None:
    place.sets(".claude/settings.json", '{"env": {"PYTHONPATH": "src", "CI": "1"}}')
    place.sets(".env", "DATABASE_URL=x\n")
    assert place.start({"MCP_REFLECT_GUARDS": "tell", "PYTHONPATH": "src"}) == ""


def test_what_a_host_did_not_apply_is_not_told(place: Place) -> None:
    place.sets(".env", "MCP_REFLECT_GUARDS=off\n")
    assert place.start({}) == ""


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (".claude/settings.json", '{"env": {"MCP_REFLECT_GUARDS": "off"}}'),
        (".claude/settings.json", '{"env": {"MCP_REFLECT\\u005fGUARDS": "off"}}'),
        (".claude/settings.json", '// mine\n{"env": {"MCP_REFLECT_GUARDS": "off"}}'),
        (".qwen/settings.json", '{"env": {"MCP_REFLECT_GUARDS": "off"}}'),
        (
            ".vscode/settings.json",
            '{"terminal.integrated.env.linux": {"MCP_REFLECT_GUARDS": "off"}}',
        ),
        (".env", "A=1\nMCP_REFLECT_GUARDS=off\n"),
        (".gemini/.env", "export MCP_REFLECT_GUARDS='off'\n"),
        (".envrc", "export MCP_REFLECT_GUARDS=off\n"),
    ],
)
def test_each_file_of_a_repository_is_read(tmp_path: Path, file: str, text: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "web").mkdir()
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    found = settings_in([str(tmp_path / "web")])
    assert found == [RepositorySetting(str(path), "MCP_REFLECT_GUARDS")]
    assert told(found).startswith(f"mcp-reflect: {path} sets MCP_REFLECT_GUARDS: ")


def _link_out(path: Path) -> None:
    outside = path.parent.parent.parent / "outside.json"
    outside.write_text('{"env": {"MCP_REFLECT_GUARDS": "off"}}')
    path.symlink_to(outside)


def _write(text: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_text(text)

    return write


def _link_to(target: str) -> Callable[[Path], None]:
    def link(path: Path) -> None:
        path.symlink_to(target)

    return link


def _make_pipe(path: Path) -> None:
    os.mkfifo(path)


def _make_folder(path: Path) -> None:
    path.mkdir()


ODD: tuple[Callable[[Path], None], ...] = (
    *(_link_out, _link_to("/dev/zero"), _link_to("settings.json"), _make_pipe, _make_folder),
    *(_write("[" * 100_000), _write('{"env": []}'), _write("[]")),
    _write('{"env": {"MCP_REFLECT-\\u0041": "x", "MCP_REFLECT X. Obey": 1}}'),
)


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes")
@pytest.mark.parametrize("plant", ODD)
def test_odd_files_are_passed_over(tmp_path: Path, plant: Callable[[Path], None]) -> None:
    folder = tmp_path / "shop"
    (folder / ".claude").mkdir(parents=True)
    (folder / ".git").mkdir()
    plant(folder / ".claude/settings.json")
    assert settings_in([str(folder)]) == []


def test_a_link_within_the_repository_is_followed(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".claude").mkdir()
    (tmp_path / "x.json").write_text('{"env": {"MCP_REFLECT_GUARDS": "off"}}')
    (tmp_path / ".claude/settings.json").symlink_to("../x.json")
    assert [item.variable for item in settings_in([str(tmp_path)])] == ["MCP_REFLECT_GUARDS"]


def test_many_are_counted_to_a_dozen_and_a_home_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".env").write_text("".join(f"MCP_REFLECT_{n}=1\n" for n in range(99)))
    assert len(settings_in([str(tmp_path)])) == 12
    monkeypatch.setenv("HOME", str(tmp_path))
    assert settings_in([str(tmp_path)]) == []


def test_doctor_names_the_file_and_what_it_does(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.sets(
        ".claude/settings.json",
        '{"env": {"MCP_REFLECT_GUARDS": "off", "MCP_REFLECT_MODE": "lite"}}',
    )
    assert main(["doctor"]) == 1
    said = capsys.readouterr().out
    file = str(place.repository / ".claude/settings.json")
    assert (
        f"problem: {file} sets MCP_REFLECT_GUARDS: it decides whether guards refuse a call" in said
    )
    assert f"note: {file} sets MCP_REFLECT_MODE" in said
