"""What a person sees: hints for typos, words that are not broken on a narrow terminal, and something in a pipe."""

import os
import subprocess

import pytest

from mcp_reflect import children
from mcp_reflect.cli.output import folded
from tests.cli.commands import Command, Terminal


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["lessons", "list", "--limt", "3"], "--limit"),
        (["lessons", "--limt=3"], "--limit"),
        (["recall", "x", "--symptm", "y"], "--symptom"),
        (["install", "cursor", "--hoks"], "--hooks"),
        (["doctor", "--jsn"], "--json"),
    ],
)
def test_a_flag_with_a_typo_gets_the_nearest_one(
    command: Command, words: list[str], meant: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        command(*words)
    assert ended.value.code == 2
    assert f"Did you mean '{meant}'?" in command.capsys.readouterr().err


def test_a_flag_that_is_like_no_other_names_the_help(command: Command) -> None:
    with pytest.raises(SystemExit):
        command("stats", "--qqqqqqq")
    assert "mcp-reflect stats --help lists the options." in command.capsys.readouterr().err


def test_a_list_without_lessons_says_so_in_a_pipe_too(command: Command) -> None:
    assert command("lessons").startswith("No such lessons in project app.")
    assert command.json("lessons") == []


@pytest.mark.parametrize("action", ["show", "forget", "edit"])
def test_an_id_that_is_not_there_is_answered_for_people(command: Command, action: str) -> None:
    more = ["--correction", "x"] if action == "edit" else []
    said = command("lessons", action, "99", *more, code=2)
    assert "List them: mcp-reflect lessons." in said
    assert "recall_lessons" not in said


def test_no_word_is_broken_on_a_terminal_of_forty_columns(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    for words in (["--help"], ["doctor"], ["lessons"]):
        shown = command.at_terminal(*words)
        for line in shown.splitlines():
            assert len(line) <= 40 or len(line.split()) <= 2, line
        monkeypatch.setenv("COLUMNS", "200")
        assert command.at_terminal(*words).split() == shown.split()
        monkeypatch.setenv("COLUMNS", "40")


def test_a_pipe_gets_whole_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert folded(line := "word " * 50) == line
    monkeypatch.setattr("sys.stdout", Terminal())
    assert len(folded(line).splitlines()) > 5
    assert folded("x" * 90) == "x" * 90


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_a_pipe_that_is_closed_early_is_no_error(command: Command) -> None:
    for number in range(3):
        command("lessons", "add", "--mistake", f"m{number}", "--correction", f"Do it so {number}")
    env = children.our_environment(MCP_REFLECT_PROJECT="app")
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        children.our_command("export"), env=env, stdout=writing, stderr=subprocess.PIPE, check=False
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")
