"""A trace as text for a prompt: in full where it fits, cut from the middle where not.

The rule: where the whole is too long, an event longer than a quarter of the limit first loses the middle of its own
text; then events are taken from the start and the end in turn, as long as they fit, and a line says how many
between them were left out. How a run began and how it ended say most about it.
"""

import json

from mcp_reflect.models.common import Json
from mcp_reflect.models.run import Event, Trace

LEAST = 400
"""The smallest limit that is honoured, in characters."""
_NOTE_ROOM = 100


def trace_text(trace: Trace, limit_chars: int) -> str:
    """The events of a trace, one paragraph each, in at most `limit_chars` characters (at least 400)."""
    limit = max(limit_chars, LEAST)
    shown = [event_text(event) for event in trace.events]
    before = (
        f"[{trace.cut.events} events and {trace.cut.characters} characters were cut earlier]\n" if trace.cut else ""
    )
    whole = before + "\n".join(shown)
    if len(whole) <= limit:
        return whole
    room = limit - len(before) - _NOTE_ROOM
    shown = [shortened(text, max(room // 4, 80)) for text in shown]
    head, tail = _kept([len(text) + 1 for text in shown], room)
    lost = len(shown) - head - tail
    if lost == 0:
        return before + "\n".join(shown)
    characters = sum(len(text) for text in shown[head : head + lost])
    note = f"[{lost} of {len(shown)} events in the middle left out, {characters:,} characters]"
    return before + "\n".join([*shown[:head], note, *shown[len(shown) - tail :]])


def _kept(sizes: list[int], room: int) -> tuple[int, int]:
    """How many events fit from the start and from the end, taken in turn, the end first."""
    head = tail = 0
    while head + tail < len(sizes):
        last = tail <= head
        size = sizes[len(sizes) - 1 - tail] if last else sizes[head]
        if size > room:
            break
        room -= size
        head, tail = (head, tail + 1) if last else (head + 1, tail)
    return head, tail


def event_text(event: Event) -> str:
    """`[e3] tool_call search {"q": "x"}: content | error: what failed`."""
    parts = [f"[{event.id}] {event.type.value}"]
    if event.tool:
        parts.append(event.tool)
    if event.arguments is not None:
        parts.append(_written(event.arguments))
    text = " ".join(parts)
    if event.content:
        text += f": {event.content}"
    return f"{text} | error: {event.error}" if event.error else text


def _written(arguments: Json) -> str:
    try:
        return json.dumps(arguments, ensure_ascii=False)
    except RecursionError:
        return "(arguments nested too deep to show)"


def shortened(text: str, limit: int) -> str:
    """The text, or its first two thirds and last third with a note of how many characters are missing between."""
    if len(text) <= limit:
        return text
    room = max(limit - 40, 0)
    head = room * 2 // 3
    note = f" [… {len(text) - room:,} characters cut …] "
    return text[:head] + note + text[len(text) - (room - head) :]
