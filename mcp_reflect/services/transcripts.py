"""Transcripts and messages of hosts: the events of a run, and what the tools of a session printed."""

import json
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

from mcp_reflect.config import Limits
from mcp_reflect.errors import InputError
from mcp_reflect.models.critique import ToolResult
from mcp_reflect.schemas.value_checks import check_values
from mcp_reflect.sessions.tools import command_of, file_of, is_own_tool
from mcp_reflect.sessions.transcripts import (
    NO_ANSWER,
    RunBuilder,
    read_records,
    read_transcript,
    records_in,
)
from mcp_reflect.whole_files import open_regular

_EVENT_NAMES: Final = ("events", "messages", "transcript", "trace", "history")
_FOREIGN_NAMES: Final = (
    "role",
    "sessionId",
    "payload",
)  # of a model's message or a line of a host's session


def with_own_events(arguments: Mapping[str, Any], limits: Limits) -> Mapping[str, Any]:
    """Return arguments of reflect with messages of OpenAI or Anthropic and lines of a session read as events."""
    name = next((name for name in _EVENT_NAMES if arguments.get(name)), "")
    events = arguments.get(name)
    if isinstance(events, list | tuple):
        items = cast("list[Any]", events)
        if not any(map(_is_foreign, items)):
            return arguments
        check_values({name: items}, limits)  # what is too deep or too large has no JSON text
        events = "\n".join(
            item.strip() if isinstance(item, str) else json.dumps(item, default=str)
            for item in items
        )
    if not isinstance(events, str):
        return arguments
    try:
        runs = [run for _, run in read_transcript(events).runs]
    except InputError:
        return arguments
    own = [event for run in runs for event in run.get("events", ()) if run.get("run_id")]
    return (
        {**{key: value for key, value in arguments.items() if key != name}, "events": own}
        if own
        else arguments
    )


def _is_foreign(item: Any) -> bool:
    if isinstance(item, str):
        return item.lstrip().startswith("{") and any(f'"{name}"' in item for name in _FOREIGN_NAMES)
    return isinstance(item, Mapping) and any(name in item for name in _FOREIGN_NAMES)


_MOST_BYTES: Final = 2_000_000  # from the end of a transcript
_MOST_RESULTS: Final = 50


def read_outputs(path: Path) -> tuple[ToolResult, ...]:
    """Return the latest outputs in a transcript, the last one last; none where it cannot be read."""
    try:
        with open_regular(path) as file:
            start = max(0, file.seek(0, 2) - _MOST_BYTES)
            file.seek(start)
            data = file.read(_MOST_BYTES)
    except OSError:
        return ()
    run, names = RunBuilder(), dict[object, str]()
    read_records(run, records_in(data[data.find(b"\n") + 1 :] if start else data))
    found = deque[ToolResult](maxlen=_MOST_RESULTS)
    for event in run.events:
        facts = event.get("metadata", {})
        call_id = facts.get("tool_call_id")
        if event["type"] == "tool_call":
            tool, arguments = event["tool"], event["arguments"]
            named = command_of(arguments) or file_of(arguments) or tool
            names[call_id] = "" if is_own_tool(tool, arguments) else named[:200]
        elif (
            event["type"] == "tool_response"
            and names.get(call_id)
            and event["content"].strip() not in ("", NO_ANSWER)
        ):
            found.append(
                ToolResult(
                    tool=names[call_id], content=event["content"], exit_code=facts.get("exit_code")
                )
            )
    return tuple(found)
