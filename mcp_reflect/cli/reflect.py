"""`mcp-reflect reflect FILE`."""

import json
import sys
from pathlib import Path
from typing import Any, Final, cast

from mcp_reflect.analysis.transcripts import Found, read_transcript
from mcp_reflect.cli.common import parser, say, say_json, with_engine
from mcp_reflect.clock import Clock
from mcp_reflect.config import Limits, Settings
from mcp_reflect.errors import InputError
from mcp_reflect.models.reflection import Reflection
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.results import plain

_OUTCOMES: Final = ("success", "failure", "partial", "timeout", "error")
_PROGRESS_SECONDS: Final = 1.0  # what takes longer says how far it is, as often


def run(arguments: list[str]) -> int:
    """Reflect on each run of a file."""
    words = parser(
        "reflect",
        "Reflect on a run: a session file of Claude Code or Codex, a list of messages (OpenAI, Anthropic, LangChain), "
        "OpenTelemetry spans, ReAct text, or the arguments of the reflect tool (task, outcome, events, …) as JSON or "
        "one a line. What was reflected on before is passed over.",
    )
    words.add_argument("file", help="the file; - reads stdin")
    words.add_argument(
        "--outcome", choices=_OUTCOMES, default="partial", help="how it ended, where the file cannot say"
    )
    words.add_argument("--session", help="the session's id, where hooks watched it")
    given = words.parse_args(arguments)
    found = read_transcript(read_text(given.file, Settings.from_env()), given.outcome, given.session)
    for line in found.bad:
        sys.stderr.write(f"mcp-reflect: {line}; passed over.\n")
    if not found.runs:
        raise InputError("file", "there is no call in it", "Give a transcript in which an agent called a tool.")
    with_engine(lambda engine: _reflect(engine, found, as_json=given.json))
    return 0


async def _reflect(engine: Engine, found: Found, *, as_json: bool) -> None:
    clock = Clock()
    told = clock.now()
    for number, (place, sent) in enumerate(found.runs, start=1):
        if clock.now() - told > _PROGRESS_SECONDS:
            told = clock.now()
            sys.stderr.write(f"mcp-reflect: run {number} of {len(found.runs)}\n")
        known = await engine.reflected(sent["run_id"]) if "#" in str(sent.get("run_id", "")) else None
        if known is not None:
            say_json({"reflection_id": known, "known": True}) if as_json else say(f"Known already: {known}.\n")
            continue
        try:
            result = await engine.reflect(**sent)
        except InputError as error:
            raise InputError(f"{place}{error.field}", error.fault, error.fix) from None
        if as_json:
            say_json(plain(result))
        else:
            show(result)


def read_text(name: str, limits: Limits) -> str:
    """The text of a file, or of stdin for `-`; InputError where it cannot be read or is too large."""
    try:
        if name == "-":
            text = sys.stdin.read(limits.max_file_bytes + 1)
            limits.refuse_more("max_file_bytes", "file", len(text), "characters or more")
            return text
        limits.refuse_more("max_file_bytes", "file", Path(name).stat().st_size, "bytes")
        with Path(name).open("rb") as file:
            read = file.read(limits.max_file_bytes + 1)  # what is no file tells no size, and may have no end
        limits.refuse_more("max_file_bytes", "file", len(read), "bytes or more")
        return read.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
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
