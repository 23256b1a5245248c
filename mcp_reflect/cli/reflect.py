"""Reflect on the runs of a file: `mcp-reflect reflect FILE`."""

import os
import sys
import zlib
from argparse import Namespace
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from mcp_reflect.cli.commands import CliParser
from mcp_reflect.cli.files import read_text
from mcp_reflect.cli.output import write_result
from mcp_reflect.cli.place import with_engine
from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.models.common import json_of, plain
from mcp_reflect.runs.transcripts import Transcript, read_transcript
from mcp_reflect.security.redact import clean_text
from mcp_reflect.services.engine import Engine

_LINES_OF_A_HEAD: Final = 50  # of a transcript; one of them names the session's folder
_OUTCOMES: Final = ("success", "failure", "partial", "timeout", "error")


def add_reflect_arguments(parser: CliParser) -> None:
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="a file, or a folder of .json and .jsonl files; - reads stdin"
    )
    parser.add_argument(
        "--outcome", choices=_OUTCOMES, default="partial", help="how it ended, if the file does not say"
    )
    parser.add_argument("--session", help="the session's id, if hooks watched it")


def run_reflect(options: Namespace) -> None:
    """Reflect on each run of some files, each for the project of the folder in which its session ran.

    The file is a session of an agent program, a list of messages (OpenAI, Anthropic, LangChain), or the arguments of
    the reflect tool (task, outcome, events, …) as JSON or one per line. Runs that were reflected on before are skipped.
    """
    settings = Settings.from_env()
    names = [name for given in options.files for name in _files(given)]
    for name in names:
        text = read_text(name, settings)
        transcript = read_transcript(text, options.outcome, options.session)
        for fault in transcript.bad:
            sys.stderr.write(f"mcp-reflect: {fault}; skipped.\n")
        if transcript.runs:
            own = replace(settings, folder=_session_folder(text))
            with_engine(lambda engine, runs=transcript: _reflect(engine, runs, options), own)
        elif len(names) == 1:
            raise InputError("file", "it has no tool call", "Give a transcript in which an agent called a tool.")


def _files(name: str) -> list[str]:
    folder = Path(name)
    if name == "-" or not folder.is_dir():
        return [name]
    return [str(file) for file in sorted(folder.rglob("*.json*")) if file.suffix in (".json", ".jsonl")]


def _session_folder(text: str) -> Path | None:
    """Return the folder in which the session of a transcript ran, as its host wrote it down; None if it did not."""
    for line in text.split("\n", _LINES_OF_A_HEAD)[:_LINES_OF_A_HEAD]:
        record = json_of(line)
        for values in (record, record.get("payload") if isinstance(record, dict) else None):
            folder = values.get("cwd") if isinstance(values, dict) else None
            if isinstance(folder, str) and Path(folder).is_absolute():
                return Path(folder)
    return None


@contextmanager
def _alone(engine: Engine, session: str | None) -> Generator[bool]:
    """Yield whether no other process reflects on the session; none does until the block ends. Windows cannot tell."""
    if session is None or sys.platform == "win32":
        yield True
        return
    import fcntl  # noqa: PLC0415 - not on Windows

    path = engine.bank.path.with_name(f"{engine.bank.path.name}.reflecting")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, zlib.crc32(session.encode()))  # a byte for a session
        except OSError:
            yield False
        else:
            yield True


async def _reflect(engine: Engine, transcript: Transcript, options: Namespace) -> None:
    with _alone(engine, options.session) as alone:
        for place, arguments in transcript.runs if alone else ():
            await _reflect_on(engine, place, arguments, options)


async def _reflect_on(engine: Engine, place: str, arguments: dict[str, Any], options: Namespace) -> None:
    run_id, reflections = clean_text(str(arguments.get("run_id", ""))), engine.bank.reflections
    known_id = await reflections.of_run(engine.scopes.own, run_id) if "#" in run_id else None
    if known_id is not None:
        write_result(options, {"reflection_id": known_id, "known": True}, f"Known already: {known_id}.\n")
        return
    try:
        reflection = await engine.reflect(**arguments)
    except InputError as error:
        raise InputError(f"{place}{error.field}", error.fault, error.fix) from None
    category = reflection.error_category or "no category"
    lines = [
        reflection.reflection,
        f"Next time: {reflection.strategy}" if reflection.strategy else "",
        *(f"Lesson {lesson.id}: {lesson.status}." for lesson in reflection.lessons),
        f"Reflection {reflection.reflection_id} by {reflection.thinker}, {category}.\n",
    ]
    write_result(options, plain(reflection), "\n".join(filter(None, lines)))
