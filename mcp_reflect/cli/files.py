"""`mcp-reflect backup | restore | export | import`."""

import json
import os
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final, TextIO

from mcp_reflect.cli.common import parser, replacing, say, say_json, with_engine
from mcp_reflect.cli.reflect import json_object, read_text
from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.results import plain

# `mcp-reflect backup FILE`.


def run_backup(arguments: list[str]) -> int:
    """Copy the bank as it is now, while servers read and write."""
    words = parser("backup", "A copy of the bank in one file, whole or not at all, for your eyes alone (mode 0600).")
    words.add_argument("file", help="a file that is not there yet")
    given = words.parse_args(arguments)
    file = Path(given.file).absolute()
    size = with_engine(lambda engine: engine.bank.maintenance.backup(file))
    if given.json:
        say_json({"file": str(file), "bytes": size})
    else:
        say(f"Copied to {file}, {size} bytes.")
    return 0


# `mcp-reflect restore FILE`.


def run_restore(arguments: list[str]) -> int:
    """Put a copy in the place of all that is in the bank; running servers go on with it."""
    words = parser(
        "restore",
        "Put what a copy holds in the place of all that is in the bank. Servers that run go on with it; "
        "what was there is kept as a copy beside the bank.",
    )
    words.add_argument("file", help="a copy that `mcp-reflect backup` made")
    given = words.parse_args(arguments)
    file = Path(given.file).absolute()
    kept = with_engine(lambda engine: engine.bank.maintenance.restore(file))
    if given.json:
        say_json({"restored": str(file), "kept": None if kept is None else str(kept)})
    else:
        say(f"Restored {file}." + ("" if kept is None else f" What was there is kept as {kept}."))
    return 0


# `mcp-reflect export`.


def run_export(arguments: list[str]) -> int:
    """Write every lesson as a line of JSON, as import reads it."""
    words = parser("export", "Lessons as JSONL, as `import` reads them, on stdout unless a file is named.")
    words.add_argument("file", nargs="?", help="the file to write, private to you")
    words.add_argument("--all-projects", action="store_true", help="not this project's alone")
    given = words.parse_args(arguments)

    async def work(engine: Engine) -> int:
        own = engine.scopes.own
        lines = engine.bank.transfer.export(own.tenant, None if given.all_projects else own.project)
        return await _write(given.file, lines)

    count = with_engine(work)
    if given.file:
        say_json({"lessons": count, "file": given.file}) if given.json else say(f"{count} lessons in {given.file}.")
    return 0


async def _write(name: str | None, lines: AsyncIterator[dict[str, Any]]) -> int:
    if name is None:
        return await _each(sys.stdout, lines)
    try:
        with replacing(Path(name)) as file:
            return await _each(file, lines)
    except OSError as error:
        raise InputError(
            "file", f"{name} cannot be written: {error.strerror}", "Name a file in a folder that exists."
        ) from None


async def _each(file: TextIO, lines: AsyncIterator[dict[str, Any]]) -> int:
    count = 0
    async for line in lines:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")
        count += 1
    return count


# `mcp-reflect import FILE`.


_SAID_SECONDS: Final = 1.0  # between two lines about how far a long import is


def run_import(arguments: list[str]) -> int:
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
