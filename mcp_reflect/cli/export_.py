"""`mcp-reflect export`."""

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, TextIO

from mcp_reflect.cli.running import parser, say, say_json, with_engine
from mcp_reflect.cli.writing import replacing
from mcp_reflect.engine import Engine
from mcp_reflect.errors import InputError


def run(arguments: list[str]) -> int:
    """Write every lesson as a line of JSON, as import reads it."""
    words = parser("export", "Lessons as JSONL, as `import` reads them, on stdout unless a file is named.")
    words.add_argument("file", nargs="?", help="the file to write, private to you")
    words.add_argument("--all-projects", action="store_true", help="not this project's alone")
    given = words.parse_args(arguments)

    async def work(engine: Engine) -> int:
        own = engine.scopes.own
        lines = engine.bank.exported(own.tenant, None if given.all_projects else own.project)
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
