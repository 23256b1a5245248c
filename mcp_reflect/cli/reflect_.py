"""`mcp-reflect reflect FILE`."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from mcp_reflect.cli.running import parser, say, say_json, with_engine
from mcp_reflect.engine import Engine
from mcp_reflect.errors import InputError
from mcp_reflect.records.reflection import Reflection
from mcp_reflect.results import plain


def run(arguments: list[str]) -> int:
    """Reflect on each run of a file."""
    words = parser(
        "reflect",
        "Reflect on a run: a JSON file with the arguments of the reflect tool (task, outcome, events, …), "
        "or a JSONL file with one such object a line.",
    )
    words.add_argument("file", help="the file; - reads stdin")
    given = words.parse_args(arguments)
    runs = list(runs_in(given.file))

    async def work(engine: Engine) -> None:
        for place, sent in runs:
            try:
                found = await engine.reflect(**sent)
            except InputError as error:
                raise InputError(f"{place}{error.field}", error.fault, error.fix) from None
            if given.json:
                say_json(plain(found))
            else:
                show(found)

    with_engine(work)
    return 0


def runs_in(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The runs of a file, each with where it stands (`line 3, `); InputError for what is no JSON object."""
    text = read_text(name)
    try:
        whole = json.loads(text)
    except ValueError:
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                yield f"line {number}, ", json_object(line, f"line {number}")
        return
    except RecursionError:
        raise InputError("file", "it is nested too deep", "Send flatter JSON.") from None
    many = isinstance(whole, list)
    for number, item in enumerate(cast("list[Any]", whole) if many else [whole], start=1):
        if not isinstance(item, dict):
            raise InputError(f"item {number}", "it is not a JSON object", "Give task, outcome and events.")
        yield (f"item {number}, " if many else ""), cast("dict[str, Any]", item)


def read_text(name: str) -> str:
    """The text of a file, or of stdin for `-`; InputError where it cannot be read."""
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError("file", f"{name} cannot be read: {error.strerror}", "Give the path of a file.") from None
    except UnicodeDecodeError as error:
        raise InputError("file", f"{name} is not UTF-8 at byte {error.start}", "Save it as UTF-8.") from None


def json_object(line: str, place: str) -> dict[str, Any]:
    """A line as a JSON object; InputError that names the line."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(place, f"it is not JSON: {str(error)[:80]}", "Give one JSON object a line.") from None
    if not isinstance(value, dict):
        raise InputError(place, "it is not a JSON object", "Give one JSON object a line.")
    return cast("dict[str, Any]", value)


def show(found: Reflection) -> None:
    """A reflection for a person."""
    say(found.reflection)
    if found.strategy:
        say(f"Next time: {found.strategy}")
    for lesson in found.lessons:
        say(f"Lesson {lesson.id}: {lesson.status}.")
    say(f"Reflection {found.reflection_id} by {found.thinker}, {found.error_category or 'no category'}.\n")
