"""Codex's session files (rollouts) and the items of OpenAI's Responses API that they hold."""

from collections.abc import Mapping
from typing import Any

from mcp_reflect.transcripts.events import Gathered, as_record, text_of, unpacked

Record = Mapping[str, Any]
_LINES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_ITEMS = frozenset(
    {
        *("function_call", "function_call_output", "local_shell_call", "local_shell_call_output"),
        *("custom_tool_call", "custom_tool_call_output", "reasoning"),
    }
)


def is_codex_line(record: Record) -> bool:
    """Whether a record is a line of a Codex session."""
    return record.get("type") in _LINES and isinstance(record.get("payload"), dict)


def is_item(record: Record) -> bool:
    """Whether a record is an item of the Responses API."""
    return record.get("type") in _ITEMS or (record.get("type") == "message" and "role" in record)


def add_codex_line(run: Gathered, record: Record) -> None:
    """A line of a Codex session; the display log repeats what the items say and is passed over."""
    payload = as_record(record["payload"])
    if record["type"] == "session_meta" and isinstance(payload.get("id"), str):
        run.session = payload["id"]
    elif record["type"] == "response_item":
        add_item(run, payload)


def add_item(run: Gathered, item: Record) -> None:
    """A message, a call or its output."""
    match item.get("type"):
        case "message":
            text = text_of(item.get("content"))
            if item.get("role") == "user":
                run.asked(text)
            elif item.get("role") == "assistant":
                run.told(text)
        case "function_call":
            run.called(item.get("name"), item.get("arguments"), item.get("call_id"))
        case "custom_tool_call":
            run.called(item.get("name"), item.get("input"), item.get("call_id"))
        case "local_shell_call":
            run.called("shell", {"command": as_record(item.get("action")).get("command")}, item.get("call_id"))
        case "function_call_output" | "custom_tool_call_output" | "local_shell_call_output":
            _add_output(run, item)
        case _:
            pass


def _add_output(run: Gathered, item: Record) -> None:
    """An output: text, or JSON with the text and how the program ended."""
    values = as_record(unpacked(item.get("output")))
    code = as_record(values.get("metadata")).get("exit_code", values.get("exit_code"))
    text = text_of(values.get("output", values.get("content"))) if values else text_of(item.get("output"))
    failed = values.get("success") is False
    run.answered(text, item.get("call_id"), error=text if failed else None, exit_code=code)
