"""Completion in the shells themselves, and help that teaches."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from mcp_reflect.cli import main
from mcp_reflect.cli.commands import COMMANDS, SHELLS
from tests.cli.typed import Person

BASH = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
$(complete -p mcp-reflect | sed "s/.*-F \\([^ ]*\\).*/\\1/") mcp-reflect "${COMP_WORDS[COMP_CWORD]}"
echo "${COMPREPLY[@]}"
"""
CASES = [
    (("les",), {"lessons"}),
    (("install", "cu"), {"cursor"}),
    (("lessons", "me"), {"merge"}),
    (("lessons", "list", "--kind", "s"), {"strategy"}),
    (("completion", "po"), {"powershell"}),
]


@pytest.fixture(params=SHELLS)
def script(request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(["completion", request.param]) == 0
    path = tmp_path / f"_mcp-reflect.{request.param}"
    path.write_text(capsys.readouterr().out, "utf-8")
    return path


@pytest.mark.parametrize(("words", "expected"), CASES)
@pytest.mark.parametrize("script", ["bash"], indirect=True)
def test_bash_completes(words: tuple[str, ...], expected: set[str], script: Path) -> None:
    command = ["bash", "--norc", "-c", BASH, "bash", str(script), "mcp-reflect", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert set(done.stdout.split()) == expected


@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish")
@pytest.mark.parametrize(("words", "expected"), CASES)
@pytest.mark.parametrize("script", ["fish"], indirect=True)
def test_fish_completes(words: tuple[str, ...], expected: set[str], script: Path, tmp_path: Path) -> None:
    line = f"source {script}; complete -C 'mcp-reflect {' '.join(words)}'"
    command = ["fish", "--no-config", "-c", line]
    env = {**os.environ, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60, env=env)
    assert {one.split("\t")[0] for one in done.stdout.splitlines()} == expected


@pytest.mark.skipif(shutil.which("zsh") is None, reason="there is no zsh")
@pytest.mark.parametrize("script", ["zsh"], indirect=True)
def test_zsh_completes(script: Path, tmp_path: Path) -> None:
    script.rename(tmp_path / "_mcp-reflect")
    shell = Person([], {"HOME": str(tmp_path), "PS1": "ready> "}, program=("zsh", "-f", "-i"))
    shell.until("ready> ")
    shell.types(f"fpath=({tmp_path} $fpath); autoload -U compinit; compinit -u -D; print d''one", "done\r\n")
    shell.presses("mcp-reflect lessons me\t", "merge")
    shell.presses("\x15mcp-reflect install cu\t", "cursor")
    shell.presses("\x15exit\n", "exit")
    assert shell.leaves() == 0


@pytest.mark.parametrize("script", ["powershell"], indirect=True)
def test_what_powershell_gets_registers_the_command_and_names_its_words(script: Path) -> None:
    text = script.read_text("utf-8")
    assert "Register-ArgumentCompleter" in text
    assert all(word in text for word in COMMANDS if word != "hook")


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "hook"])
def test_the_help_of_each_command_teaches_by_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([command, "--help"])
    assert left.value.code == 0
    said = capsys.readouterr().out
    assert f"mcp-reflect {command} {COMMANDS[command].examples[0]}" in said
