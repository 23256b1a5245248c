"""Write lessons as lines of JSON: into a file, or with --here into this repository for whoever works in it.

`mcp-reflect export` is the command; `cli.import_lessons` reads what it writes.
"""

import json
import sys
from argparse import Namespace
from typing import Any, Final

from mcp_reflect.cli.commands import CliParser
from mcp_reflect.cli.files import write_output
from mcp_reflect.cli.output import counted, write_result
from mcp_reflect.cli.running import with_engine, with_uses
from mcp_reflect.errors import InputError
from mcp_reflect.services.engine import Engine
from mcp_reflect.speaker import refuse_agent, speaker_of_process

_EXPORT_MARK: Final = '{"id": "les_'
"""The beginning of every export. A file that begins so is an export, and may be overwritten without --force."""


def add_export_arguments(parser: CliParser) -> None:
    """Add the options of `mcp-reflect export`."""
    parser.add_argument("file", nargs="?", help="the file to write, readable by you alone")
    parser.add_argument(
        "--all-projects", action="store_true", help="the lessons of all projects, not only this one"
    )
    parser.add_argument(
        "--force", action="store_true", help="overwrite a file that is not an export"
    )
    about = "the lessons that you approved, into .mcp-reflect/lessons.jsonl of this repository"
    parser.add_argument("--here", action="store_true", help=about)


def run_export(options: Namespace) -> None:
    """Write lessons as JSONL that `import` reads, to stdout unless a file is named.

    With --here only the words of what a person approved, sorted, one lesson a line: commit the file, and others who work
    in the repository are told of it.
    """
    if options.here:
        _export_here(options)
        return
    lessons: list[Any] = with_uses(
        options, lambda do: do("export", {"all_projects": options.all_projects})
    )
    lines = "".join(json.dumps(lesson, ensure_ascii=False) + "\n" for lesson in lessons)
    if options.file is None:
        sys.stdout.write(lines)
        return
    write_output(options.file, "file", lines, mark=_EXPORT_MARK, force=options.force)
    text = f"{counted(len(lessons), 'lesson')} in {options.file}."
    write_result(options, {"lessons": len(lessons), "file": options.file}, text)


def _export_here(options: Namespace) -> None:
    """Write the approved lessons into this repository's file."""
    from mcp_reflect.services.shared import SHARED_FILE, export_here  # noqa: PLC0415 - needed here alone

    refuse_agent(speaker_of_process(), "--here", "write into a project's files")
    if options.file or options.url or options.all_projects:
        fix = "Leave the other options out: it writes this project's file in its repository."
        raise InputError("--here", "it goes with no file, service or other projects", fix)

    async def write(engine: Engine) -> None:
        count = await export_here(engine.context)
        text = f"{counted(count, 'lesson')} in {SHARED_FILE}. Commit it to share them."
        write_result(options, {"lessons": count, "file": SHARED_FILE}, text)

    with_engine(write)
