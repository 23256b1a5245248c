"""How much of a script is read. Each loop of a reading takes from one of these, so that a small script stays a small reading."""

import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

MOST_CHARS: Final = 64_000
"""Characters of a script that are read; here-documents that no shell reads do not count."""

MOST_COMMANDS: Final = 2_000
"""Commands of a script, with those that its functions and the scripts in it run."""

MOST_DEPTH: Final = 40
"""Levels of structures, substitutions, functions and scripts in scripts."""

MOST_REDIRECTIONS: Final = 200
"""Redirections of one command, with those of the blocks around it."""

MOST_PARSER_SECONDS: Final = 0.25
"""Seconds for all that one reading parses: of the processor, so that a busy machine changes nothing."""

_MOST_WORD_CHARS: Final = 256_000  # of all words together, after expansion
_MOST_LOOP_CHARS: Final = 256_000  # of all loops together: each is looked through before it is read
_MOST_STEPS: Final = 60_000  # of the walk: some four for a command


class TooMuchError(Exception):
    """The reading is given up; the text says why."""


@dataclass(slots=True)
class Budget:
    """What is left of the bounds of one reading."""

    chars: int = MOST_CHARS
    word_chars: int = _MOST_WORD_CHARS
    steps: int = _MOST_STEPS
    loop_chars: int = _MOST_LOOP_CHARS
    parser_seconds: float = MOST_PARSER_SECONDS

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

    def take_loop(self, chars: int) -> None:
        """Take the characters of a loop, with the loops in it."""
        self.loop_chars -= chars
        if self.loop_chars < 0:
            raise TooMuchError("its loops are too large within each other")

    def take_step(self) -> None:
        """Take a step of the walk."""
        self.steps -= 1
        if self.steps < 0:
            raise TooMuchError("its functions run too often")

    @contextmanager
    def parsing(self) -> Generator[float]:
        """Give the seconds that are left to the parser, and take those that pass meanwhile."""
        began = time.thread_time()
        yield self.parser_seconds
        self.parser_seconds -= time.thread_time() - began
