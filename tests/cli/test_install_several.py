"""Several hosts in one command: each is changed as a whole or not at all, and one that is broken stops no other."""

import json
from pathlib import Path

import pytest

from mcp_reflect.cli import main
from mcp_reflect.cli.host_state import is_registered
from mcp_reflect.cli.host_table import HOSTS
from tests.cli.commands import Command

pytestmark = pytest.mark.usefixtures("home")  # no test may touch the home of who runs it

SEVERAL = ("copilot", "qwen", "cline")


def contents(home: Path) -> dict[str, str]:
    files = (path for path in home.rglob("*") if path.is_file())
    return {path.relative_to(home).as_posix(): path.read_text("utf-8") for path in files}


def broken(host: str, text: str = "{") -> Path:
    path = HOSTS[host].file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def test_several_at_once_are_as_one_after_the_other(home: Path) -> None:
    for name in SEVERAL:
        assert main(["install", name, "--hooks", "--yes"]) == 0
    one_by_one = contents(home)
    for name in SEVERAL:
        assert main(["install", name, "--uninstall", "--yes"]) == 0
    assert contents(home) == {}
    assert main(["install", *SEVERAL, "qwen", "--hooks", "--yes"]) == 0
    assert contents(home) == one_by_one
    assert main(["install", *SEVERAL, "--uninstall", "--yes"]) == 0
    assert contents(home) == {}


@pytest.mark.parametrize("place", range(3))
def test_a_broken_host_stops_no_other(
    place: int, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [*SEVERAL]
    path = broken(names[place])
    assert main(["install", *names, "--hooks", "--yes"]) == 2
    said = capsys.readouterr()
    assert [name for name in names if is_registered(name)] == [
        name for name in names if name != names[place]
    ]
    assert path.read_text("utf-8") == "{"
    (line,) = said.err.splitlines()
    assert line.startswith(f"{HOSTS[names[place]].title}: not changed. ")
    assert str(path) in line
    for name in names:
        assert (f"{HOSTS[name].title}: Registered" in said.out) is (name != names[place])
    assert not [file for file in contents(home) if "reflect" in file and "qwen" in file]


def test_where_hooks_cannot_be_written_the_entry_is_taken_back(home: Path) -> None:
    hooks = home / ".copilot" / "hooks" / "mcp-reflect.json"
    hooks.mkdir(parents=True)
    assert main(["install", "copilot", "cline", "--hooks", "--yes"]) == 2
    assert not is_registered("copilot")
    assert is_registered("cline")


def test_two_hosts_that_read_one_file_of_hooks_both_have_it_and_both_leave_it(home: Path) -> None:
    assert main(["install", "vscode", "copilot", "--hooks", "--yes"]) == 0
    assert is_registered("vscode")
    assert is_registered("copilot")
    assert ".copilot/hooks/mcp-reflect.json" in contents(home)
    assert main(["install", "vscode", "copilot", "--uninstall", "--yes"]) == 0
    assert contents(home) == {}


def test_a_host_without_hooks_is_named_and_the_others_have_theirs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["install", "claude-desktop", "qwen", "--hooks", "--yes"]) == 2
    assert "Claude Desktop: not changed. --hooks" in capsys.readouterr().err
    assert is_registered("qwen")


def test_a_program_reads_what_was_done_in_each(command: Command) -> None:
    broken("qwen", "// mine\n{}")
    assert main(["install", *SEVERAL, "--yes", "--json"]) == 2
    value = json.loads(command.capsys.readouterr().out)
    assert [*value["hosts"]] == ["copilot", "cline"]
    assert [*value["faults"]] == ["qwen"]
    assert value["hosts"]["cline"]["changed"] == [str(HOSTS["cline"].file())]


def test_each_is_asked_for_by_itself(command: Command) -> None:
    shown = command.at_terminal("install", *SEVERAL, typed="n\ny\nn\n", code=1)
    assert "Cline: Registered" not in shown
    assert [name for name in SEVERAL if is_registered(name)] == ["qwen"]


def test_entries_of_several_are_printed_and_nothing_is_written(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["install", "codex", "goose", "--print"]) == 0
    printed = capsys.readouterr().out
    assert "[mcp_servers.mcp-reflect]" in printed
    assert "extensions:" in printed
    assert contents(home) == {}


def test_rules_stand_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install", "rules", "qwen", "--yes"]) == 2
    assert "HOST" in capsys.readouterr().err
    assert not is_registered("qwen")
