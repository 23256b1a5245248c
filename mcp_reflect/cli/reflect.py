"""Reflect on the runs of a file: `mcp-reflect reflect`."""

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
from mcp_reflect.cli.running import with_engine
from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.models.common import plain
from mcp_reflect.models.reflection import Reflection
from mcp_reflect.security.redact import clean_text
from mcp_reflect.services.engine import Engine
from mcp_reflect.sessions.session_folders import folder_in
from mcp_reflect.sessions.transcripts import Transcript, read_transcript

_HEAD_CHARS: Final = 400_000  # of a transcript, in which it names the session's folder
_OUTCOMES: Final = ("success", "failure", "partial", "timeout", "error")


def add_reflect_arguments(parser: CliParser) -> None:
    """Add the options of `mcp-reflect reflect`."""
    about = "a file, or a folder of .json and .jsonl files; - reads stdin"
    parser.add_argument("files", nargs="+", metavar="FILE", help=about)
    about = "how it ended, if the file does not say"
    parser.add_argument("--outcome", choices=_OUTCOMES, default="partial", help=about)
    parser.add_argument("--session", help="the session's id, if hooks watched it")
    about = "the folder it worked in, if the file does not say (default: this directory)"
    parser.add_argument("--folder", help=about)


def run_reflect(options: Namespace) -> None:
    """Reflect on each run of some files, each for the project of the folder in which its session ran.

    The file is a session of an agent program, a list of messages (OpenAI, Anthropic, LangChain), or the arguments of
    the reflect tool (task, outcome, events, …) as JSON or one per line. Runs that were reflected on before are skipped.
    """
    settings = Settings.from_env()
    names: list[str] = []
    for file_or_folder in options.files:
        names += _files(file_or_folder)
    for name in names:
        text = read_text(name, settings)
        transcript = read_transcript(text, options.outcome, options.session)
        for fault in transcript.faults:
            sys.stderr.write(f"mcp-reflect: {fault}; skipped.\n")
        if transcript.runs:
            _reflect_on_runs(transcript, _settings_for(text, settings, options), options)
        elif len(names) == 1:
            raise InputError(
                "file", "it has no tool call", "Give a transcript in which an agent called a tool."
            )


def _files(name: str) -> list[str]:
    """Return the file of a name, or the .json and .jsonl files below it, if it is a folder; `-` is stdin."""
    if name == "-" or not Path(name).is_dir():
        return [name]
    files = sorted(Path(name).rglob("*.json*"))
    return [str(file) for file in files if file.suffix in (".json", ".jsonl")]


def _settings_for(text: str, settings: Settings, options: Namespace) -> Settings:
    """Return the settings for the folder in which a session ran; without one, of this directory."""
    folder = folder_in(text[:_HEAD_CHARS].encode(errors="replace")) or options.folder
    if not folder:
        return replace(settings, folder=None)
    return replace(settings, folder=Path(folder))


def _reflect_on_runs(transcript: Transcript, settings: Settings, options: Namespace) -> None:
    """Reflect on each run of a session, unless another process does that right now."""

    async def work(engine: Engine) -> None:
        """Reflect on the runs one after another: a later one may be about the same failure."""
        with _only_process_for(engine, options.session) as is_only_one:
            if not is_only_one:
                return
            for run_position, arguments in transcript.runs:
                await _reflect_on(engine, run_position, arguments, options)

    with_engine(work, settings)


@contextmanager
def _only_process_for(engine: Engine, session: str | None) -> Generator[bool]:
    """Yield whether this is the only process that reflects on the session, and keep others from it in the block.

    It is taken for the only one where no session is named, and on Windows, which has no such locks.
    """
    if session is None or sys.platform == "win32":
        yield True
        return
    import fcntl  # noqa: PLC0415 - not on Windows

    path = engine.bank.path.with_name(f"{engine.bank.path.name}.reflecting")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Each session locks a byte of its own in one file.
    byte_of_session = zlib.crc32(session.encode())
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte_of_session)
        except OSError:
            yield False
        else:
            yield True


async def _reflect_on(
    engine: Engine, run_position: str, arguments: dict[str, Any], options: Namespace
) -> None:
    """Reflect on a run and print the reflection, unless the bank has one of that run already.

    `run_position` says in which line of a file the run stands ("line 3, "): errors name its arguments with it.
    """
    known_id = await _known_reflection(engine, clean_text(str(arguments.get("run_id", ""))))
    if known_id is not None:
        record = {"reflection_id": known_id, "known": True}
        write_result(options, record, f"Known already: {known_id}.\n")
        return
    try:
        reflection = await engine.reflect(**arguments)
    except InputError as error:
        raise InputError(f"{run_position}{error.field}", error.fault, error.fix) from None
    write_result(options, plain(reflection), _reflection_text(reflection))


async def _known_reflection(engine: Engine, run_id: str) -> str | None:
    """Return the id of the reflection on a run, if there is one.

    An id with a `#`, "rollout-7#3f2a…", names a session and has a hash of the run, so that the same id is the same run.
    An id that somebody gave may be that of another run, so that nothing is skipped for it.
    """
    if "#" not in run_id:
        return None
    return await engine.bank.reflections.of_run(engine.scopes.own, run_id)


def _reflection_text(reflection: Reflection) -> str:
    """Return a reflection as lines: its text, strategy, lessons, and by whom it is."""
    lines = [reflection.reflection]
    if reflection.strategy:
        lines.append(f"Next time: {reflection.strategy}")
    lines += [f"Lesson {lesson.id}: {lesson.status}." for lesson in reflection.lessons]
    category = reflection.error_category or "no category"
    lines.append(f"Reflection {reflection.reflection_id} by {reflection.thinker}, {category}.\n")
    return "\n".join(line for line in lines if line)
