"""Commands run in this process, as a person or a program runs them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.cli import main

PROGRESS = re.compile(r"^mcp-reflect: (?:read )?\d+ of \d+ lessons\n", re.MULTILINE)
"""What a slow machine prints of a long import."""


class Command:
    """Runs a command in this process, over the test's bank."""

    def __init__(self, capsys: pytest.CaptureFixture[str], folder: Path) -> None:
        self.capsys = capsys
        self.folder = folder

    def __call__(self, *words: str, code: int = 0) -> str:
        """What a command prints; a failure says why on stderr alone."""
        assert main(words) == code
        done = self.capsys.readouterr()
        faults = PROGRESS.sub("", done.err)
        assert bool(faults) == bool(code), faults
        return faults if code else done.out

    def json(self, *words: str) -> Any:
        return json.loads(self(*words, "--json"))

    def json_status(self, *words: str, code: int) -> Any:
        """What a command prints as JSON that ends with a status for programs."""
        assert main((*words, "--json")) == code
        return json.loads(self.capsys.readouterr().out)

    def file(self, name: str, lines: list[Any]) -> str:
        path = self.folder / name
        path.write_text("".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in lines))
        return str(path)
