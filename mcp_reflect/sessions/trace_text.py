"""A run as text for the prompt of a model: its events, and its error."""

from typing import Final

from mcp_reflect.models.run import Event, RunError, Trace
from mcp_reflect.sessions.text import json_text

_LENGTH_OF_NOTE: Final = 40  # characters of the note about what was cut, at most
LEAST: Final = 400
"""The smallest limit of a trace's text, in characters."""


def trace_text(trace: Trace, limit_chars: int) -> str:
    """The events of a trace, one paragraph each, in at most `limit_chars` characters (at least 400).

    Where the whole is too long, an event longer than a quarter of the limit loses the middle of its text, and so does
    the whole: how a run began and how it ended say most about it.
    """
    limit = max(limit_chars, LEAST)
    note = ""
    if trace.cut:
        events_cut = trace.cut["events"]
        characters_cut = trace.cut["characters"]
        note = f"[{events_cut} events and {characters_cut} characters were cut earlier]\n"
    events = [_event_text(event) for event in trace.events]
    size = sum(map(len, events)) + len(events)
    if size > limit - len(note):
        events = [shortened(text, limit // 4) for text in events]
    return shortened(note + "\n".join(events), limit)


def error_text(error: RunError, limit_chars: int) -> str:
    """The error of a run with its category and context."""
    lines: list[str] = []
    category = error.word if error.category is None else error.category.value
    if category:
        lines.append(f"category: {category}")
    if error.message:
        lines.append(error.message)
    if error.context is not None:
        lines.append(f"context: {json_text(error.context)}")
    return shortened("\n".join(lines), limit_chars)


def _event_text(event: Event) -> str:
    """`[e3] 12:04:31 tool_call search {"q": "x"} (exit_code: 1): content | error: what failed`."""
    words = [f"[{event.id}]"]
    if event.timestamp is not None:
        words.append(str(event.timestamp))
    words.append(event.type.value)
    if event.tool:
        words.append(event.tool)
    if event.arguments is not None:
        words.append(json_text(event.arguments) or "(arguments nested too deep to show)")
    if event.metadata:
        values = ", ".join(f"{name}: {json_text(value)}" for name, value in event.metadata.items())
        words.append(f"({values})")
    text = " ".join(filter(None, words))
    if event.content:
        text += f": {event.content}"
    if event.error:
        text += f" | error: {event.error}"
    return text


def shortened(text: str, limit: int) -> str:
    """The text, or its first two thirds and last third with a note of how many characters are missing between."""
    if len(text) <= limit:
        return text
    shown_length = max(limit - _LENGTH_OF_NOTE, 0)
    head_length = shown_length * 2 // 3
    tail_start = len(text) - (shown_length - head_length)
    note = f"[… {len(text) - shown_length:,} characters cut …]"
    return f"{text[:head_length]} {note} {text[tail_start:]}"
