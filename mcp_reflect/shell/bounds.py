"""How much of a script is read. Each loop of a reading takes from one of these, so that a small script stays a small reading."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

MOST_CHARS: Final = 64_000
"""Characters of a script that are read; here-documents that no shell reads do not count."""

MOST_COMMANDS: Final = 2_000
"""Commands of a script, with those that its functions and the scripts in it run."""

MOST_DEPTH: Final = 40
"""Levels of structures, substitutions, functions and scripts in scripts."""

_MOST_WORD_CHARS: Final = 256_000  # of all words together, after expansion
_MOST_STEPS: Final = 60_000  # of the walk: some four for a command


class TooMuchError(Exception):
    """The reading is given up; the text says why."""


@dataclass(slots=True)
class Budget:
    """What is left of the bounds of one reading."""

    chars: int = MOST_CHARS
    word_chars: int = _MOST_WORD_CHARS
    steps: int = _MOST_STEPS

    def take_text(self, chars: int) -> None:
        """Take the characters of a script."""
        self.chars -= chars
        if self.chars < 0:
            raise TooMuchError(f"it is longer than {MOST_CHARS // 1000} kB")

    def take_words(self, words: Sequence[str]) -> None:
        """Take the words of a command."""
        self.word_chars -= sum(map(len, words)) + len(words)
        if self.word_chars < 0:
            raise TooMuchError("its variables grow too large")

    def take_step(self) -> None:
        """Take a step of the walk."""
        self.steps -= 1
        if self.steps < 0:
            raise TooMuchError("its functions run too often")
