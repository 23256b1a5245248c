"""Commands run in this process, as a person or a program runs them."""

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.cli import main


class Terminal(io.StringIO):
    """Lines that were typed at a terminal, or a terminal's screen."""

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return _ALWAYS_READY


_ALWAYS_READY = os.open(os.devnull, os.O_RDONLY)


_ASKED = frozenset("approve enforce guard pin edit merge".split())
"""Acts on lessons about which a person is asked."""


class Command:
    """Runs a command in this process, over the test's bank."""

    def __init__(self, capsys: pytest.CaptureFixture[str], folder: Path) -> None:
        self.capsys = capsys
        self.folder = folder

    def __call__(self, *words: str, code: int = 0) -> str:
        """What a command prints; a failure says why on stderr alone."""
        assert main(words) == code
        done = self.capsys.readouterr()
        assert bool(done.err) == bool(code), done.err
        return done.err if code else done.out

    def json(self, *words: str) -> Any:
        """What a person's program reads who runs it at a terminal."""
        return json.loads(self.by_person(*words, "--json"))

    def by_person(self, *words: str, code: int = 0) -> str:
        """What a command prints for a person at a wide terminal without colors, who says yes where an act is asked about."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("NO_COLOR", "1")
            patch.setenv("COLUMNS", "1000")
            typed = ""
            if words[:1] == ("lessons",) and words[1:2] and words[1] in _ASKED:
                typed = "y\n" * len(words)
            shown = self.at_terminal(*words, typed=typed, code=code)
        said = self.capsys.readouterr().err
        if "--json" not in words:  # what is asked stands there, too
            assert bool(said) == bool(code), said
        return said if code else shown

    def json_status(self, *words: str, code: int) -> Any:
        """What a command prints as JSON that ends with a status for programs."""
        assert main((*words, "--json")) == code
        return json.loads(self.capsys.readouterr().out)

    def at_terminal(self, *words: str, typed: str = "", code: int = 0) -> str:
        """What a person sees at a terminal who types that."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.stdin", Terminal(typed))
            patch.setattr("sys.stdout", screen := Terminal())
            assert main(words) == code
        return screen.getvalue()

    def file(self, name: str, lines: list[Any]) -> str:
        path = self.folder / name
        path.write_text(
            "".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in lines)
        )
        return str(path)
