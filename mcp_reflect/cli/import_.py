"""`mcp-reflect import FILE`."""

import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from mcp_reflect.cli.reflect_ import json_object, read_text
from mcp_reflect.cli.running import parser, say, say_json, with_engine
from mcp_reflect.config import Settings
from mcp_reflect.engine import Engine
from mcp_reflect.models.plain import plain

_SAID_SECONDS: Final = 1.0  # between two lines about how far a long import is


def run(arguments: list[str]) -> int:
    """Store every lesson of a file, or none where one line is bad."""
    words = parser(
        "import",
        "Lessons from JSONL: the fields of store_lesson, with an optional external_id and project. "
        "A bad line is named, and then nothing of the file is stored. What is there word for word is left out.",
    )
    words.add_argument("file", help="the file; - reads stdin")
    words.add_argument("--merge", action="store_true", help="strengthen near-duplicates instead of storing each line")
    given = words.parse_args(arguments)
    text = read_text(given.file, Settings.from_env())
    lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    said = _Progress(len(lines))

    async def work(engine: Engine) -> Counter[str]:
        done: Counter[str] = Counter()
        drafts = engine.import_drafts(_read(lines, said))
        async for batch in engine.import_lessons(drafts, merge=given.merge, processes=os.cpu_count() or 1):
            for stored in batch:
                done[stored.status] += 1
                if given.json:
                    say_json(plain(stored))
            said.tell("", sum(done.values()))
        return done

    done = with_engine(work)
    if not given.json:
        told = ", ".join(f"{count} {status}" for status, count in sorted(done.items()))
        say(f"{sum(done.values())} lessons: {told or 'none in the file'}.")
    return 0


class _Progress:
    """How far a long import is, on stderr, once a second."""

    def __init__(self, lines: int) -> None:
        self._lines = lines
        self._next = time.monotonic() + _SAID_SECONDS

    def tell(self, what: str, done: int) -> None:
        """Say how many lessons are done, where it is time to."""
        if (now := time.monotonic()) >= self._next:
            sys.stderr.write(f"mcp-reflect: {what}{done} of {self._lines} lessons\n")
            self._next = now + _SAID_SECONDS


def _read(lines: list[tuple[int, str]], said: _Progress) -> Iterator[tuple[int, dict[str, Any]]]:
    """Numbered lines as objects."""
    for done, (number, line) in enumerate(lines):
        said.tell("read ", done)
        yield number, json_object(line, f"line {number}")
