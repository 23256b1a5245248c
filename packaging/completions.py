"""The completions of shells, made of the commands' own words: `python packaging/completions.py [--check]`.

shtab writes them; they are shipped as they are, so that nobody who uses mcp-reflect needs shtab, and completing starts
no Python. With --check nothing is written, and it ends with 1 where they are not what the commands say.
"""

import argparse
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn
from unittest.mock import patch

import shtab

from mcp_reflect.cli.hosts.registry import HOSTS
from mcp_reflect.cli.main import COMMANDS, USAGE

FOLDER = Path(__file__).parent.parent / "mcp_reflect" / "cli" / "completions"
SHELLS = ("bash", "zsh", "fish", "powershell")
FILES = ("file", "bank", "analysis", "rescue")


class Asked(Exception):  # noqa: N818 - it is no error: it carries a parser out of the command that made it
    """A command is about to read its words."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        super().__init__()
        self.parser = parser


def words_of(command: str) -> argparse.ArgumentParser | None:
    """The parser of a command, taken as it is about to be used; null where it reads its words by itself."""

    def asked(parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        raise Asked(parser)

    module, function = COMMANDS[command].split(".")
    if command == "hook":
        return None  # it is for hosts
    with patch.object(argparse.ArgumentParser, "parse_args", asked):
        try:
            getattr(import_module(f"mcp_reflect.cli.{module}"), function)([])
        except Asked as found:
            return found.parser
    sys.exit(f"{command} read no words")


def whole() -> argparse.ArgumentParser:
    """All commands as one parser."""
    about = dict(re.findall(r"^  (\w+)(?: \S+)*? {2,}(.*)$", USAGE, re.MULTILINE))
    root = argparse.ArgumentParser(prog="mcp-reflect")
    root.add_argument("-V", "--version", action="store_true", help="say the version")
    commands = root.add_subparsers(dest="command")
    for name in COMMANDS:
        found = words_of(name)
        made = commands.add_parser(name, help=about[name], parents=[found] if found else [], add_help=False)
        for action in made._actions:  # noqa: SLF001 - argparse has no other way to say what a word may be
            if action.dest == "host" and name == "install":
                action.choices = [*HOSTS, "rules"]
            if action.dest in FILES and action.nargs != 0:
                action.complete = shtab.FILE  # type: ignore[attr-defined]
    return root


def main() -> int:
    """Write them, or compare."""
    root, wrong = whole(), []
    for shell in SHELLS:
        text = shtab.complete(root, shell=shell)
        path = FOLDER / f"mcp-reflect.{shell}"
        if "--check" not in sys.argv:
            FOLDER.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
        elif not path.exists() or path.read_text("utf-8") != text:
            wrong.append(path.name)
    if wrong:
        print(f"{', '.join(wrong)} are not what the commands say: run python packaging/completions.py")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
