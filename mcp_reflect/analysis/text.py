"""Texts of a run: quoted, shortened, and rendered for a prompt; and patterns over words."""

import json
import re
from collections.abc import Iterable, Sequence

from mcp_reflect.models.common import Json
from mcp_reflect.models.run import Event, Trace
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.signature import steady

# Long patterns written over several lines, so that they can be read.


def pattern(text: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """The lines joined without their indents. A space at the edge of a line is lost; none needs one there."""
    return lazy_compile("".join(line.strip() for line in text.splitlines()), flags)


def word_set(text: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(text.split())


# Small words for texts: quoting what was seen, bounded, and naming events.


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


def sentence(text: str, limit: int) -> str:
    """The text on one line without one task's own values, cut after a whole sentence where it has one."""
    line = without_own_values(" ".join(text[: 4 * limit].split()))
    if len(line) <= limit:
        return line
    ends = [match.start() for match in _SENTENCE_END.finditer(line[:limit])]
    return line[: ends[-1]] if ends else line[:limit].rsplit(" ", 1)[0]


def without_own_values(text: str) -> str:
    """The text with temporary and home folders, dates, ids and hashes replaced by placeholders."""
    return _HOME_PATH.sub("<path>", steady(text))


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


_SENTENCE_END = lazy_compile(r"(?<=[\w)\"']{3})[.;:](?= )")
_HOME_PATH = lazy_compile(
    r"(?<![\w<>.])(?:~|/(?!(?:usr|bin|etc|opt|dev|proc|var|lib|sbin)/)[\w.@+-]{1,100})(?:/[\w.@+-]{1,100}){1,30}"
)


# A trace as text for a prompt: in full where it fits, cut from the middle where not.
#
# The rule: where the whole is too long, an event longer than a quarter of the limit first loses the middle of its own
# text; then events are taken from the start and the end in turn, as long as they fit, and a line says how many
# between them were left out. How a run began and how it ended say most about it.


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
