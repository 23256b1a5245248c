"""`mcp-reflect prompts`: what serves, and its text."""

import json
from pathlib import Path

import pytest

from mcp_reflect.cli import main
from mcp_reflect.llm.prompts import Prompts
from tests.llm.test_prompts import GOOD, NAMES, write


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MCP_REFLECT_PROMPTS_DIR", str(tmp_path))
    return tmp_path


def test_list_says_who_serves(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, GOOD)
    write(folder, "nothing", "critique")
    assert main(["prompts"]) == 0
    rows = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()[1:]}
    assert list(rows) == NAMES
    assert rows["correct"].split() == ["correct", "7", "corrector", "yours"]
    assert rows["critique"].endswith("shipped, because yours is broken (see doctor)")
    assert rows["dream"].endswith("shipped")
    assert main(["prompts", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in listed] == NAMES
    assert [one["name"] for one in listed if one["overridden"]] == ["correct"]
    assert listed[NAMES.index("critique")]["problem"].startswith(f"{folder / 'critique.md'}:1: ")


def test_what_show_prints_can_be_saved_as_an_override(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in NAMES:
        assert main(["prompts", "show", name]) == 0
        write(folder, capsys.readouterr().out, name)
    assert all(Prompts(folder).load(name).overridden for name in NAMES)


def test_show_as_json_has_the_front_matter_and_the_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(folder, GOOD)
    assert main(["prompts", "show", "correct", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["version"], shown["role"], shown["overridden"]) == (7, "corrector", True)
    assert (shown["inputs"], shown["file"], shown["text"]) == (["goal", "steps"], str(path), GOOD)


@pytest.mark.parametrize("words", [["show"], ["show", "critic"], ["list", "critique"]])
def test_words_that_make_no_command_are_told_what_to_write(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["prompts", *words]) == 2
    assert "mcp-reflect: name: " in capsys.readouterr().err
