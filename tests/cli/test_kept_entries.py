"""What stands in a host's files of ours stays in an agent's shell: only a person takes it out, or points it elsewhere."""

import json
from pathlib import Path

import pytest

from mcp_reflect.cli import main
from mcp_reflect.cli.host_table import HOSTS

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture(autouse=True)
def in_project(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    return home


def files_in(folder: Path) -> dict[str, str]:
    return {str(file): file.read_text("utf-8") for file in folder.rglob("*.*") if file.is_file()}


@pytest.mark.parametrize(
    "words",
    [
        ("--uninstall",),
        ("--uninstall", "--hooks"),
        ("--hooks", "--bank", "/srv/evil.db"),
        ("--hooks", "--project", "evil"),
        ("--bank", "/srv/evil.db"),
        ("--url", "http://127.0.0.1:1/mcp"),
        ("--distil",),
    ],
)
@pytest.mark.parametrize("host", ["claude-code", "codex", "gemini"])
def test_an_agents_shell_changes_nothing_that_is_registered(
    host: str,
    words: tuple[str, ...],
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["install", host, "--hooks", "--yes"]) == 0
    before = files_in(home)
    monkeypatch.setenv("CLAUDECODE", "1")
    assert main(["install", host, *words, "--yes"]) == 2
    assert (
        "A person has to run this command, in a terminal of their own." in capsys.readouterr().err
    )
    assert files_in(home) == before


@pytest.mark.parametrize("host", HOSTS)
def test_an_agents_shell_takes_our_server_out_of_no_host(
    host: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["install", host, "--yes"]) == 0
    before = files_in(home)
    monkeypatch.setenv("CODEX_SANDBOX", "seatbelt")
    assert main(["install", host, "--uninstall", "--yes"]) == 2
    assert main(["install", host, "--project", "evil", "--yes"]) == 2
    assert files_in(home) == before


def test_a_script_that_a_host_loads_stays_as_well(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["install", "opencode", "--hooks", "--yes"]) == 0
    before = files_in(home)
    monkeypatch.setenv("CLAUDECODE", "1")
    assert main(["install", "opencode", "--hooks", "--bank", "/srv/evil.db", "--yes"]) == 2
    assert files_in(home) == before


def test_a_bank_that_a_person_named_is_not_left_out_by_an_agent(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["install", "claude-code", "--hooks", "--bank", "/srv/ours.db", "--yes"]) == 0
    monkeypatch.setenv("CLAUDECODE", "1")
    assert main(["install", "claude-code", "--hooks", "--yes"]) == 2
    assert "/srv/ours.db" in (home / ".claude.json").read_text("utf-8")


def test_an_agent_may_register_it_first_and_add_hooks_later_and_see_the_entry(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    assert main(["install", "claude-code", "--yes"]) == 0
    assert main(["install", "claude-code", "--hooks", "--yes"]) == 0
    assert main(["install", "claude-code", "--hooks", "--yes"]) == 0
    assert main(["install", "claude-code", "--project", "other", "--print"]) == 0
    assert main(["install", "cursor", "--yes"]) == 0
    hooks = json.loads((home / ".claude/settings.json").read_text("utf-8"))["hooks"]
    assert "SessionStart" in hooks


def test_of_several_hosts_those_that_have_nothing_yet_are_done(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["install", "cursor", "--yes"]) == 0
    monkeypatch.setenv("CLAUDECODE", "1")
    assert main(["install", "cursor", "claude-code", "--project", "shop", "--yes"]) == 2
    assert "Cursor: not changed." in capsys.readouterr().err
    assert "shop" in (home / ".claude.json").read_text("utf-8")


def test_a_persons_script_still_takes_it_out(home: Path) -> None:
    assert main(["install", "claude-code", "--hooks", "--yes"]) == 0
    assert main(["install", "claude-code", "--uninstall", "--yes"]) == 0
    assert files_in(home) == {}
