"""Read what hosts and models recorded of a run in a form of their own: its events, and what its tools printed."""

import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from mcp_reflect.errors import InputError
from mcp_reflect.evidence.file_edits import edits_in
from mcp_reflect.evidence.outputs import WRITTEN
from mcp_reflect.limits import Limits
from mcp_reflect.models.critique import ToolResult
from mcp_reflect.schemas.value_checks import check_values
from mcp_reflect.sessions.call_reader import records_in
from mcp_reflect.sessions.own_calls import is_own_tool
from mcp_reflect.sessions.run_builder import EMPTY_ANSWER, RunBuilder
from mcp_reflect.sessions.tools import command_of, file_of
from mcp_reflect.sessions.transcripts import read_records, read_transcript
from mcp_reflect.whole_files import open_regular

_EVENT_NAMES: Final = ("events", "messages", "transcript", "trace", "history")
_FOREIGN_NAMES: Final = ("role", "sessionId", "payload")
"""Fields of a model's message, or of a line of a host's session."""


def with_own_events(arguments: Mapping[str, Any], limits: Limits) -> Mapping[str, Any]:
    """Return the arguments of reflect, with messages of OpenAI or Anthropic, or lines of a session, as our events.

    {"messages": [{"role": "assistant", "tool_calls": …}]} -> {"events": [{"tool": …}]}; anything else stays as it is.
    """
    name = _first_with_value(arguments, _EVENT_NAMES)
    text = _session_text(name, arguments.get(name), limits)
    if text is None:
        return arguments
    try:
        runs = [run for _, run in read_transcript(text).runs]
    except InputError:
        return arguments
    events: list[Any] = []
    for run in runs:
        if run.get("run_id"):
            events += run.get("events", ())
    if not events:
        return arguments
    other_arguments = {key: value for key, value in arguments.items() if key != name}
    return {**other_arguments, "events": events}


def _first_with_value(arguments: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """Return the first of these names that an argument has with a value, empty for none."""
    for name in names:
        if arguments.get(name):
            return name
    return ""


def _session_text(name: str, events: object, limits: Limits) -> str | None:
    """Return what may be a session, one record a line; None for our own events and for anything else."""
    if isinstance(events, str):
        return events
    if not isinstance(events, list | tuple):
        return None
    items = cast("list[Any]", events)
    if not any(_is_foreign(item) for item in items):
        return None
    check_values({name: items}, limits)  # what is too deep or too large has no JSON text
    lines = [
        item.strip() if isinstance(item, str) else json.dumps(item, default=str) for item in items
    ]
    return "\n".join(lines)


def _is_foreign(item: Any) -> bool:
    """Return whether an item is a message of a model, or a line of a session, and no event of ours."""
    if isinstance(item, str):
        return item.lstrip().startswith("{") and any(f'"{name}"' in item for name in _FOREIGN_NAMES)
    return isinstance(item, Mapping) and any(name in item for name in _FOREIGN_NAMES)


_MOST_BYTES: Final = 2_000_000  # from the end of a transcript
_MOST_RESULTS: Final = 400  # the latest, which critique reads
_MOST_NAME: Final = 200  # characters
_MOST_WRITTEN: Final = 100  # lines of an edit
_SUBJECTS: Final = ("url", "query", "pattern")
"""Arguments that say what a call is about which has no command and no file."""


@dataclass(frozen=True, slots=True)
class NamedCall:
    """A call, as its output is named by it."""

    name: (
        str  # "pytest -q", "src/app.py" or "WebFetch https://…"; empty for a call of our own tools
    )
    written: tuple[str, ...]  # the lines that it writes into a file


def read_outputs(path: Path) -> tuple[ToolResult, ...]:
    """Return the latest outputs in a transcript, the last one last; none where it cannot be read."""
    try:
        data = _tail_of(path)
    except OSError:
        return ()
    run = RunBuilder()
    read_records(run, records_in(data))
    calls: dict[object, NamedCall] = {}
    results = deque[ToolResult](maxlen=_MOST_RESULTS)
    for event in run.events:
        metadata = event.get("metadata", {})
        call_id = metadata.get("tool_call_id")
        if event["type"] == "tool_call":
            calls[call_id] = call_of(event["tool"], event["arguments"])
            continue
        call = calls.get(call_id)
        if event["type"] != "tool_response" or call is None or not call.name:
            continue
        printed = "" if event["content"] == EMPTY_ANSWER else event["content"]
        content = with_written(printed, call, failed=bool(event.get("error")))
        results.append(
            ToolResult(tool=call.name, content=content, exit_code=metadata.get("exit_code"))
        )
    return tuple(results)


def _tail_of(path: Path) -> bytes:
    """Return the end of a file, from the first line that is whole."""
    with open_regular(path) as file:
        start = max(0, file.seek(0, 2) - _MOST_BYTES)
        file.seek(start)
        data = file.read(_MOST_BYTES)
    return data[data.find(b"\n") + 1 :] if start else data


def call_of(tool: str, arguments: Any) -> NamedCall:
    """Return a call by its command, its file, or its tool with what it is about; one of our own tools has no name."""
    if is_own_tool(tool, arguments):
        return NamedCall("", ())
    name = command_of(arguments) or file_of(arguments)
    if not isinstance(arguments, Mapping):
        return NamedCall((name or tool)[:_MOST_NAME], ())
    sent = cast("Mapping[str, Any]", arguments)
    if name is None:
        subjects = [sent[key] for key in _SUBJECTS if isinstance(sent.get(key), str)]
        name = " ".join([tool, *subjects[:1]]).strip()
    lines: list[str] = []
    for edit in edits_in(sent):
        lines += (edit.new or "").splitlines()
        if len(lines) >= _MOST_WRITTEN:
            break
    return NamedCall(name[:_MOST_NAME], tuple(lines[:_MOST_WRITTEN]))


def with_written(content: str, call: NamedCall, *, failed: bool) -> str:
    """Return an output, with the lines that its call wrote into a file below it, if it does not show them itself."""
    lines = [line.strip() for line in call.written if line.strip()]
    if failed or not lines or lines[0] in content:
        return content
    return "\n".join((content, *(f"{WRITTEN}{line}" for line in lines)))
