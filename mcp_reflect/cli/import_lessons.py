"""Store lessons from lines of JSON: of a file, or with --here of this repository, where they wait for a person.

`mcp-reflect import` is the command; `cli.export_lessons` writes such lines.
"""

import json
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from mcp_reflect.cli.commands import CliParser
from mcp_reflect.cli.files import read_text
from mcp_reflect.cli.output import counted, write_json, write_line, write_result
from mcp_reflect.cli.running import Do, with_engine, with_uses
from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.models.common import json_of, plain
from mcp_reflect.models.lesson import Stored
from mcp_reflect.services.engine import Engine
from mcp_reflect.text.one_line import visible

_MOST_SENT: Final = 1_000_000
"""Characters of lines in one request to a team's service, which accepts 4 MiB: four bytes a character at most."""


class NumberedLine(NamedTuple):
    """The object on a line of a JSONL text, with the number of the line, which errors name."""

    number: int
    value: Any


def add_import_arguments(parser: CliParser) -> None:
    """Add the options of `mcp-reflect import`."""
    parser.add_argument("file", nargs="?", help="the file; - reads stdin")
    about = "this repository's .mcp-reflect/lessons.jsonl: what is new waits for you"
    parser.add_argument("--here", action="store_true", help=about)
    about = "it is your own export: keep ids, dates, trust, history and outcomes"
    parser.add_argument("--own", action="store_true", help=about)


def run_import(options: Namespace) -> None:
    """Read lessons from JSONL: the fields of store_lesson, with an optional external_id and project.

    If a line is bad, the error names it and nothing is stored; a service stores the parts of a long file one by one, and
    keeps those before the bad line. Lessons that the bank has are skipped.
    """
    if options.here:
        _import_here(options)
        return
    if options.file is None:
        raise InputError("file", "it is missing", "Name the file, or give --here.")
    lines = _lines_to_import(read_text(options.file, Settings.from_env()))
    parts = [lines]
    if options.url:
        parts = [*_parts(lines)]

    async def import_parts(do: Do) -> list[Stored]:
        """Store the lines, to a service in parts: one request may only be so long."""
        stored: list[Stored] = []
        for part in parts:
            stored += await do("import", {"lines": part, "own": options.own})
        return stored

    stored = with_uses(options, import_parts)
    if options.json:
        for lesson in stored:
            write_json(plain(lesson))
        return
    counts = Counter(lesson.status for lesson in stored)
    summary = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    write_line(f"{counted(counts.total(), 'lesson')}: {summary or 'none in the file'}.")


def _import_here(options: Namespace) -> None:
    """Let the new lessons of this repository's file wait for a person, and say what came of it."""
    from mcp_reflect.services.shared import SHARED_FILE, import_here, refuse_missing_here  # noqa: PLC0415 - needed here alone

    if options.file or options.url or options.own:
        fix = "Leave the other options out: it reads this repository's file, which anybody may have written."
        raise InputError("--here", "it goes with no file, service or --own", fix)

    async def read_here(engine: Engine) -> None:
        """Store what is new, and say how much of it waits for the person."""
        await refuse_missing_here(engine.context)
        stored, shared = await import_here(engine.context)
        waiting = sum(lesson.status == "quarantined" for lesson in stored)
        trusted = len(stored) - waiting
        summary = f"{SHARED_FILE}: {waiting} wait for you, {shared.known} are known. mcp-reflect lessons review"
        if trusted:
            summary = f"{SHARED_FILE}: {trusted} stored, as a setting says; {waiting} wait."
        lines = [summary, *(f"not read: {fault}" for fault in shared.faults)]
        value = {
            "quarantined": waiting,
            "stored": trusted,
            "known": shared.known,
            "faults": list(shared.faults),
        }
        write_result(options, value, visible("\n".join(lines)))

    with_engine(read_here)


def _lines_to_import(text: str) -> list[NumberedLine]:
    """Return the objects of a JSONL text, each with the number of its line; InputError for another line."""
    lines: list[NumberedLine] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        value = json_of(line)
        if not isinstance(value, dict):
            raise InputError(
                f"line {number}", "it is not a JSON object", "Give one JSON object per line."
            )
        lines.append(NumberedLine(number, value))
    return lines


def _parts(lines: list[NumberedLine]) -> Iterator[list[NumberedLine]]:
    """Yield the lines in parts of at most about _MOST_SENT characters, for a service takes no more at once."""
    part: list[NumberedLine] = []
    size = 0
    for line in lines:
        if part and size > _MOST_SENT:
            yield part
            part = []
            size = 0
        part.append(line)
        size += len(json.dumps(line))
    yield part
