"""Transcripts and messages of hosts: the events of a run, and what the tools of a session printed."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

from mcp_reflect.config import Limits
from mcp_reflect.errors import InputError
from mcp_reflect.models.critique import ToolResult
from mcp_reflect.runs.transcripts import read_transcript
from mcp_reflect.schemas.fields import check_values

_EVENT_NAMES: Final = ("events", "messages", "transcript", "trace", "history")
_FOREIGN_NAMES: Final = ("role", "sessionId", "payload")  # of a model's message or a line of a host's session


def with_own_events(arguments: Mapping[str, Any], limits: Limits) -> Mapping[str, Any]:
    """Return arguments of reflect with messages of OpenAI or Anthropic and lines of a session read as events."""
    name = next((name for name in _EVENT_NAMES if arguments.get(name)), "")
    events = arguments.get(name)
    if isinstance(events, list | tuple):
        items = cast("list[Any]", events)
        if not any(map(_is_foreign, items)):
            return arguments
        check_values({name: items}, limits)  # what is too deep or too large has no JSON text
        events = "\n".join(item.strip() if isinstance(item, str) else json.dumps(item, default=str) for item in items)
    if not isinstance(events, str):
        return arguments
    try:
        runs = [run for _, run in read_transcript(events).runs]
    except InputError:
        return arguments
    own = [event for run in runs for event in run.get("events", ()) if run.get("run_id")]
    return {**{key: value for key, value in arguments.items() if key != name}, "events": own} if own else arguments


def _is_foreign(item: Any) -> bool:
    if isinstance(item, str):
        return item.lstrip().startswith("{") and any(f'"{name}"' in item for name in _FOREIGN_NAMES)
    return isinstance(item, Mapping) and any(name in item for name in _FOREIGN_NAMES)


_MOST_BYTES: Final = 2_000_000  # from the end of a transcript
_MOST_RESULTS: Final = 50
_COMMANDS: Final = ("command", "cmd", "file_path", "path", "pattern", "query")
_OWN: Final = "mcp-reflect"


def read_outputs(path: Path) -> tuple[ToolResult, ...]:
    """Return the latest outputs in a transcript, the last one last; none where it cannot be read."""
    try:
        with path.open("rb") as file:
            start = max(0, file.seek(0, 2) - _MOST_BYTES)
            file.seek(start)
            text = file.read(_MOST_BYTES).decode("utf-8", "replace")
        runs = read_transcript(text[text.find("\n") + 1 :] if start else text).runs
    except (OSError, InputError):
        return ()
    found: list[ToolResult] = []
    for _, run in runs:
        calls: dict[Any, Mapping[str, Any]] = {}
        for event in run.get("events", ()):
            metadata: dict[str, Any] = event.get("metadata") or {}
            call_id = metadata.get("tool_call_id")
            if event["type"] == "tool_call":
                calls[call_id] = event
            elif event["type"] == "tool_response":
                call = calls.get(call_id, {})
                tool = str(call.get("tool") or event.get("tool") or "")
                content = str(event.get("error") or event.get("content") or "")
                if content.strip() and _OWN not in tool.replace("_", "-"):
                    command = _command(call.get("arguments"))
                    found.append(
                        ToolResult(tool=(command or tool)[:200], content=content, exit_code=event.get("exit_code"))
                    )
    return tuple(found[-_MOST_RESULTS:])


def _command(arguments: Any) -> str:
    """Return what a call ran or read."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            return arguments
    if not isinstance(arguments, dict):
        return ""
    sent = cast("dict[str, Any]", arguments)
    return next((str(sent[name]) for name in _COMMANDS if sent.get(name)), "")
