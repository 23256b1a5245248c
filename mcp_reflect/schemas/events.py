"""Events of a run, in the forms in which agents send them."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, cast

from pydantic import BeforeValidator, Field, JsonValue, ValidationInfo, model_validator

from mcp_reflect.models.run import EventType
from mcp_reflect.schemas.fields import Arguments, Label, as_text, choice
from mcp_reflect.schemas.reading import ReadContext, field_of, parsed

Content = Annotated[str, BeforeValidator(as_text)]

_TYPES: Final = {
    **dict.fromkeys(
        ("call", "tool_use", "function_call", "action", "command", "tool", "invocation", "request"), "tool_call"
    ),
    **dict.fromkeys(
        ("response", "result", "output", "tool_result", "function_call_output", "tool_output", "return"),
        "tool_response",
    ),
    **dict.fromkeys(("error", "exception", "failure", "crash"), "error_event"),
    **dict.fromkeys(("assistant", "llm", "model", "message", "thought", "text", "llm_response"), "llm_call"),
    **dict.fromkeys(("user", "human", "feedback", "user_message", "correction"), "user_feedback"),
    **dict.fromkeys(("system", "info", "log"), "system_event"),
    **dict.fromkeys(("plan", "choice"), "decision"),
    **dict.fromkeys(("note", "observe", "finding"), "observation"),
}
_COMMAND: Final = re.compile(r"^\s*\$ (?P<command>.+)")
_NO_ERROR: Final = (False, "", "none", "None", "null")


class EventArguments(Arguments):
    """One thing that happened in a run. Unknown fields are kept in `metadata`."""

    ALIASES: ClassVar[Mapping[str, str]] = {
        "event_id": "id",
        "event_type": "type",
        "tool_name": "tool",
        "error_message": "error",
    }
    SYNONYMS: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("kind", "role"), "type"),
        **dict.fromkeys(("name", "function", "function_name", "action"), "tool"),
        **dict.fromkeys(("args", "input", "inputs", "params", "parameters", "kwargs", "tool_input"), "arguments"),
        **dict.fromkeys(
            ("output", "result", "response", "stdout", "text", "message", "observation", "data", "tool_output"),
            "content",
        ),
        **dict.fromkeys(("stderr", "exception", "traceback", "failure"), "error"),
        **dict.fromkeys(("call_id", "tool_call_id", "tool_use_id"), "id"),
        **dict.fromkeys(("time", "ts", "created_at"), "timestamp"),
        **dict.fromkeys(("exitcode", "returncode", "return_code", "exit_status"), "exit_code"),
        **dict.fromkeys(("cmd", "shell"), "command"),
    }

    type: Annotated[EventType, choice(EventType, _TYPES)]
    content: Content = ""
    tool: Label | None = None
    arguments: JsonValue = None
    error: Content | None = None
    id: Label | None = None
    timestamp: str | float | None = None
    metadata: dict[str, JsonValue] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _says_something(self) -> "EventArguments":
        if not (self.content.strip() or self.tool or (self.error or "").strip()):
            raise ValueError("it has neither content, tool nor error|Send at least one of them.")
        return self


def as_events(value: Any, info: ValidationInfo) -> Any:
    """Events under our names, each with a type and an id of its own."""
    context = ReadContext.of(info)
    value = parsed(value, context)
    if isinstance(value, dict):
        value = [value]
    if isinstance(value, str):
        value = value.splitlines() if _COMMAND.search(value) else [value]
    if not isinstance(value, list | tuple):
        return value
    events: list[dict[str, Any]] = []
    ids: set[str] = set()
    for place, item in enumerate(cast("list[Any]", value)):
        for event in _event_forms(parsed(item, context), context, events):
            if not any(event.get(name) for name in ("content", "tool", "error")):
                context.ignored.append(f"events[{place}]: it has neither content, tool nor error")
                continue
            _set_own_id(event, ids)
            events.append(event)
    return events


def _set_own_id(event: dict[str, Any], ids: set[str]) -> None:
    """Give a response that has the id of its call an id of its own; `tool_call_id` in the metadata ties them."""
    name = event.get("id")
    if name is None:
        return
    name = str(name)
    if name in ids:
        event["metadata"] = {**event.get("metadata", {}), "tool_call_id": name}
        number = 2
        while f"{name}-{number}" in ids:
            number += 1
        event["id"] = f"{name}-{number}"
    ids.add(str(event["id"]))


def _event_forms(item: Any, context: ReadContext, before: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One or two events from an item: a call that was sent together with its result is two."""
    if item is None:
        return []
    if not isinstance(item, dict):
        text = as_text(item)
        match = _COMMAND.match(str(text))
        if match:
            return [{"type": "tool_call", "tool": "bash", "arguments": {"command": match["command"]}}]
        after_call = bool(before) and before[-1].get("type") == "tool_call"
        return [{"type": "tool_response" if after_call else "observation", "content": text}]
    event = _named_event({str(name): value for name, value in cast("dict[Any, Any]", item).items()}, context)
    kind = event.get("type")
    has_result = bool(event.get("error")) or "exit_code" in event.get("metadata", {}) or bool(event.get("content"))
    if (
        event.get("arguments") is not None
        and has_result
        and (kind is None or (kind == "tool_call" and (event.get("error") or "exit_code" in event.get("metadata", {}))))
    ):
        call = {name: event[name] for name in ("id", "tool", "arguments", "timestamp") if name in event}
        result = {name: event[name] for name in ("tool", "content", "error", "metadata", "timestamp") if name in event}
        return [{"type": "tool_call", **call}, {"type": "tool_response", **result}]
    if kind is None:
        event["type"] = _type_of(event, before)
    return [event]


def _named_event(item: dict[str, Any], context: ReadContext) -> dict[str, Any]:
    """An event under our names. Unknown fields, and the exit code, go to `metadata`."""
    event: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    for name, value in item.items():
        own = EventArguments.SYNONYMS.get(name.lower()) or field_of(EventArguments, name) or name
        if value is None:
            continue
        if own in EventArguments.model_fields and own not in event:
            event[own] = value
        else:
            metadata[own if own in ("exit_code", "command") else name] = value
    given = event.pop("metadata", {})
    metadata = {**(given if isinstance(given, dict) else {"metadata": given}), **metadata}
    _read_call(event, metadata, context)
    if event.get("error") is True:  # {"error": true, "content": "..."}
        event["error"] = event.get("content") or "error"
    elif event.get("error") in _NO_ERROR:
        del event["error"]
    kind = _kind_of(event.pop("type", None), metadata)
    if kind is not None:
        event["type"] = kind
    if not isinstance(event.get("timestamp", ""), str | int | float):
        metadata["timestamp"] = event.pop("timestamp")
    return {**event, "metadata": metadata} if metadata else event


def _read_call(event: dict[str, Any], metadata: dict[str, Any], context: ReadContext) -> None:
    """The tool and its arguments from a command line, a function object or JSON text; the exit code as a number."""
    if "command" in metadata and "arguments" not in event:
        event.setdefault("tool", "bash")
        event["arguments"] = {"command": metadata.pop("command")}
    if isinstance(event.get("tool"), dict):  # {"function": {"name": ..., "arguments": ...}}
        function = cast("dict[str, Any]", event["tool"])
        event["tool"] = function.get("name")
        event.setdefault("arguments", function.get("arguments"))
    if "arguments" in event:
        event["arguments"] = parsed(event["arguments"], context)
    code = str(metadata.get("exit_code", "")).strip()
    if code.lstrip("-").isdigit() and len(code) < 10:
        metadata["exit_code"] = int(code)


def _kind_of(value: Any, metadata: dict[str, Any]) -> str | None:
    """The event type that a word means; an unknown word is kept in the metadata."""
    word = str(value).strip().lower().replace(" ", "_").replace("-", "_") if value is not None else ""
    kind = word if word in {*EventType} else _TYPES.get(word)
    if word and kind is None:
        metadata["type"] = value
    return kind


def _type_of(event: dict[str, Any], before: list[dict[str, Any]]) -> str:
    """The type of an event by its fields and the event before it."""
    if event.get("arguments") is not None:
        return "tool_call"
    after_call = bool(before) and before[-1].get("type") == "tool_call"
    if event.get("error") or event.get("metadata", {}).get("exit_code") is not None:
        return "tool_response" if event.get("tool") or after_call else "error_event"
    if event.get("content"):
        return "tool_response" if event.get("tool") or after_call else "observation"
    return "tool_call"
