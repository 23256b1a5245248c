"""Small words for texts: quoting what was seen, bounded, and naming events."""

import json
from collections.abc import Iterable, Sequence

from mcp_reflect.models.common import Json

QUOTE_LIMIT = 120  # characters of anything quoted in a sentence
NAMED_EVENTS = 6  # event ids named in a sentence; the rest is counted


def clip(text: str, limit: int = QUOTE_LIMIT) -> str:
    """The text on one line, cut in its middle so that both ends can be read."""
    line = " ".join(text[: 8 * limit].split()) if len(text) <= 8 * limit else _ends(text, 4 * limit)
    if len(line) <= limit:
        return line
    head = limit * 2 // 3
    return f"{line[:head].rstrip()} ... {line[-(limit - head - 5) :].lstrip()}"


def quote(value: Json, limit: int = QUOTE_LIMIT) -> str:
    """A value as it can stand in a sentence: text in quotation marks, anything else as JSON."""
    if isinstance(value, str):
        text = clip(value, limit)
        return f"'{text}'" if '"' in text and "'" not in text else f'"{text}"'
    try:
        return clip(json.dumps(value, ensure_ascii=False, sort_keys=True), limit)
    except RecursionError:  # arguments nested too deep to write; the door bounds them, a library caller may not
        return "(deeply nested)"


def names(event_ids: Sequence[str]) -> str:
    """`e4, e6, e8`, or the first few and how many more."""
    shown = ", ".join(event_ids[:NAMED_EVENTS])
    rest = len(event_ids) - NAMED_EVENTS
    return f"{shown} and {rest} more" if rest > 0 else shown


def times(count: int) -> str:
    """`twice`, `three times`, `12 times`."""
    words = {1: "once", 2: "twice", 3: "three times", 4: "four times", 5: "five times"}
    return words.get(count, f"{count} times")


def call_text(tool: str, arguments: Json, limit: int = QUOTE_LIMIT) -> str:
    """A call as a person would write it: `search "Nick Park"`, `get_user {"id": 5}`."""
    shown = subject_only(arguments)
    return tool if shown is None else f"{tool} {quote(shown, limit)}"


def subject_only(arguments: Json) -> Json:
    """The single value of a call with one argument, else all of them; null for none."""
    if isinstance(arguments, dict):
        if len(arguments) == 1:
            return next(iter(arguments.values()))
        return arguments or None
    return arguments


def unique(items: Iterable[str]) -> tuple[str, ...]:
    """The items in order, each once."""
    return tuple(dict.fromkeys(items))


def _ends(text: str, size: int) -> str:
    return " ".join(text[:size].split()) + " " + " ".join(text[-size:].split())
