"""Runs in the forms in which hosts and models record them: messages of a model, lines of a session's transcript.

`reflect` takes them in place of events of our own, and `critique` reads from a transcript what its tools printed.
"""

import json
import os
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

_ARGUMENTS_WITH_EVENTS: Final = ("events", "messages", "transcript", "trace", "history")
_FOREIGN_FIELDS: Final = ("role", "sessionId", "payload")
"""Fields of a model's message, or of a line of a host's session, which no event of ours has."""

_MAX_TAIL_BYTES: Final = 2_000_000  # from the end of a transcript
_MOST_RESULTS: Final = 400  # the latest, which critique reads
_MAX_NAME_CHARS: Final = 200  # of the name of a call
_MOST_WRITTEN_LINES: Final = 100  # of the edits of a call
_SUBJECT_ARGUMENTS: Final = ("url", "query", "pattern")
"""Arguments that say what a call is about which has no command and no file."""


@dataclass(frozen=True, slots=True)
class NamedCall:
    """A call, as its output is named by it."""

    name: (
        str  # "pytest -q", "src/app.py" or "WebFetch https://…"; empty for a call of our own tools
    )
    written_lines: tuple[str, ...]  # the lines that it writes into a file


def with_own_events(arguments: Mapping[str, Any], limits: Limits) -> Mapping[str, Any]:
    """Return the arguments of reflect, with messages of OpenAI or Anthropic, or lines of a session, as our events.

    {"messages": [{"role": "assistant", "tool_calls": …}]} -> {"events": [{"tool": …}]}

    Anything that is not read so stays as it is, and the schema of the arguments names its fault.
    """
    name = _first_with_value(arguments, _ARGUMENTS_WITH_EVENTS)
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
    """Return the text of what may be a session, one record a line; None for events of our own and for anything else.

    | the argument `name`                            | its text                                      |
    |------------------------------------------------|-----------------------------------------------|
    | a text                                         | as it is                                      |
    | a list with a foreign record (`_is_foreign`)   | the items as lines of JSON                    |
    | a list of our own events, or anything else     | None                                          |

    InputError for a list that is too deep or too large to be written as JSON.
    """
    if isinstance(events, str):
        return events
    if not isinstance(events, list | tuple):
        return None
    items = cast("list[Any]", events)
    if not any(_is_foreign(item) for item in items):
        return None
    check_values({name: items}, limits)
    lines = [
        item.strip() if isinstance(item, str) else json.dumps(item, default=str) for item in items
    ]
    return "\n".join(lines)


def _is_foreign(item: Any) -> bool:
    """Return whether an item is a message of a model, or a line of a session, and no event of ours."""
    if isinstance(item, str):
        is_object = item.lstrip().startswith("{")
        return is_object and any(f'"{field}"' in item for field in _FOREIGN_FIELDS)
    return isinstance(item, Mapping) and any(field in item for field in _FOREIGN_FIELDS)


def read_outputs(path: Path) -> tuple[ToolResult, ...]:
    """Return the latest outputs in a transcript, the last one last; none where it cannot be read.

    Outputs of our own tools are left out: they repeat lessons, and prove nothing about the work.
    """
    try:
        data = _tail_of(path)
    except OSError:
        return ()
    run = RunBuilder()
    read_records(run, records_in(data))
    call_by_id: dict[object, NamedCall] = {}
    results = deque[ToolResult](maxlen=_MOST_RESULTS)
    for event in run.events:
        metadata = event.get("metadata", {})
        call_id = metadata.get("tool_call_id")
        if event["type"] == "tool_call":
            call_by_id[call_id] = named_call(event["tool"], event["arguments"])
            continue
        call = call_by_id.get(call_id)
        if event["type"] != "tool_response" or call is None or not call.name:
            continue
        printed = "" if event["content"] == EMPTY_ANSWER else event["content"]
        content = with_written_lines(printed, call, failed=bool(event.get("error")))
        results.append(
            ToolResult(tool=call.name, content=content, exit_code=metadata.get("exit_code"))
        )
    return tuple(results)


def _tail_of(path: Path) -> bytes:
    """Return the last bytes of a file; where it is longer than these, without the line in which they begin."""
    with open_regular(path) as file:
        size = file.seek(0, os.SEEK_END)
        start = max(0, size - _MAX_TAIL_BYTES)
        file.seek(start)
        data = file.read(_MAX_TAIL_BYTES)
    if start == 0:
        return data
    first_whole_line = data.find(b"\n") + 1
    return data[first_whole_line:]


def named_call(tool: str, arguments: Any) -> NamedCall:
    """Return a call with the name by which its output is known; the first row that fits decides.

    | the call                                | its name                  |
    |-----------------------------------------|---------------------------|
    | is of a tool of ours                    | empty                     |
    | has a command                           | "pytest -q"               |
    | has a file                              | "src/app.py"              |
    | has another argument that names a thing | "WebFetch https://…"      |
    | is any other                            | "TodoWrite"               |
    """
    if is_own_tool(tool, arguments):
        return NamedCall("", ())
    name = command_of(arguments) or file_of(arguments)
    if not isinstance(arguments, Mapping):
        return NamedCall((name or tool)[:_MAX_NAME_CHARS], ())
    sent = cast("Mapping[str, Any]", arguments)
    if name is None:
        subjects = [sent[key] for key in _SUBJECT_ARGUMENTS if isinstance(sent.get(key), str)]
        name = " ".join([tool, *subjects[:1]]).strip()
    return NamedCall(name[:_MAX_NAME_CHARS], tuple(_written_lines(sent)))


def _written_lines(arguments: Mapping[str, Any]) -> list[str]:
    """Return the first lines that the edits of a call write."""
    lines: list[str] = []
    for edit in edits_in(arguments):
        lines += (edit.new or "").splitlines()
        if len(lines) >= _MOST_WRITTEN_LINES:
            break
    return lines[:_MOST_WRITTEN_LINES]


def with_written_lines(content: str, call: NamedCall, *, failed: bool) -> str:
    """Return an output with the lines that its call wrote into a file below it.

    A host's tool often prints no more than "The file was updated", and a critique has to see what was written. A call
    that failed wrote nothing, and an output with the first of the lines shows them itself.
    """
    lines = [line.strip() for line in call.written_lines if line.strip()]
    if failed or not lines or lines[0] in content:
        return content
    return "\n".join((content, *(f"{WRITTEN}{line}" for line in lines)))
