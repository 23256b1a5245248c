"""Reflect on the runs of a file: `mcp-reflect reflect FILE`."""

import sys
from argparse import Namespace
from typing import Final

from mcp_reflect.analysis.transcripts import Found, read_transcript
from mcp_reflect.cli.commands import CliParser
from mcp_reflect.cli.engine import with_engine
from mcp_reflect.cli.files import read_text
from mcp_reflect.cli.output import write_result
from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.models.common import plain
from mcp_reflect.security.redact import clean_text
from mcp_reflect.services.engine import Engine

_OUTCOMES: Final = ("success", "failure", "partial", "timeout", "error")


def add_reflect_arguments(parser: CliParser) -> None:
    parser.add_argument("file", help="the file; - reads stdin")
    parser.add_argument(
        "--outcome", choices=_OUTCOMES, default="partial", help="how it ended, if the file does not say"
    )
    parser.add_argument("--session", help="the session's id, if hooks watched it")


def run_reflect(options: Namespace) -> int:
    """Reflect on each run of a file.

    The file is a session of Claude Code or Codex, a list of messages (OpenAI, Anthropic, LangChain), OpenTelemetry
    spans, or the arguments of the reflect tool (task, outcome, events, …) as JSON or one per line. Runs
    that were reflected on before are skipped.
    """
    transcript = read_transcript(read_text(options.file, Settings.from_env()), options.outcome, options.session)
    for fault in transcript.bad:
        sys.stderr.write(f"mcp-reflect: {fault}; skipped.\n")
    if not transcript.runs:
        raise InputError("file", "there is no call in it", "Give a transcript in which an agent called a tool.")
    with_engine(lambda engine: _reflect(engine, transcript, options))
    return 0


async def _reflect(engine: Engine, transcript: Found, options: Namespace) -> None:
    for place, arguments in transcript.runs:
        run_id, reflections = clean_text(str(arguments.get("run_id", ""))), engine.bank.reflections
        known_id = await reflections.of_run(engine.scopes.own, run_id) if "#" in run_id else None
        if known_id is not None:
            write_result(options, {"reflection_id": known_id, "known": True}, f"Known already: {known_id}.\n")
            continue
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
