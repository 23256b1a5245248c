"""Texts of a run: quoted, shortened, and rendered for a prompt; and patterns over words."""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from mcp_reflect.models.common import Json
from mcp_reflect.models.run import Event, RunError, Trace
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.text.signature import steady


def pattern(text: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """The lines joined without their indents. A space at the edge of a line is lost; none needs one there."""
    return lazy_compile("".join(line.strip() for line in text.splitlines()), flags)


def pattern_table(name: str, flags: re.RegexFlag = re.NOFLAG) -> dict[str, re.Pattern[str]]:
    """Return the pattern of each paragraph of a file in this folder by the first line; the other lines are joined."""
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    paragraphs = (paragraph.partition("\n") for paragraph in text.split("\n\n"))
    return {head: pattern(lines, flags) for head, _, lines in paragraphs}


def word_set(text: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(text.split())


# Words that say nothing of what a lesson is about.
COMMON_WORDS: Final = word_set("""
    failed does exist could find too many some requirement satisfies version while must expected got named attempting
    error the and not for with was that this from have has are file line most recent call last code none true first
    false instead again then that works same use run read include more
""")
_SHARED: Final = 2  # telling words that two texts about one thing share


def shares_words(one: str, other: str) -> bool:
    """True for two texts about one thing: they share telling words."""
    return len(telling_words(one) & telling_words(other)) >= _SHARED


def telling_words(text: str) -> frozenset[str]:
    """The words of four letters and more that tell what a text is about."""
    words = re.findall(r"[\w.-]{4,}", text.lower())
    return frozenset(word.strip("._-") for word in words) - COMMON_WORDS - {"been", "them", "tool"}


QUOTE_LIMIT = 120  # characters of anything quoted in a sentence
NAMED_EVENTS = 6  # event ids named in a sentence; the rest is counted


def ends(text: str, limit: int) -> str:
    """The text, or half of `limit` characters from each of its ends."""
    if len(text) <= limit:
        return text
    return f"{text[: limit // 2]}\n{text[-limit // 2 :]}"


def clip(text: str, limit: int = QUOTE_LIMIT) -> str:
    """The text on one line, cut in its middle so that both ends can be read."""
    if len(text) > 8 * limit:  # spared the work of splitting what is cut anyway
        text = f"{text[: 4 * limit]} {text[-4 * limit :]}"
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    head = limit * 2 // 3
    tail = limit - head - len(" ... ")
    return f"{line[:head].rstrip()} ... {line[-tail:].lstrip()}"


def quote(value: Json, limit: int = QUOTE_LIMIT) -> str:
    """A value as it can stand in a sentence: text in quotation marks, anything else as JSON."""
    if isinstance(value, str):
        text = clip(value, limit)
        if '"' in text and "'" not in text:
            return f"'{text}'"
        return f'"{text}"'
    return clip(_json(value) or "(deeply nested)", limit)


def quoted_start(text: str) -> str:
    """The first sentence or so of a text, in quotes."""
    return quote(sentence(text[:_MOST_START], _MOST_START // 4), _MOST_START // 2)


_MOST_START: Final = 800  # characters of a text whose beginning is quoted


def sentence(text: str, limit: int) -> str:
    """The text on one line without folders of one machine, cut after a whole sentence where it has one."""
    line = without_paths(" ".join(text[: 4 * limit].split()))
    if len(line) <= limit:
        return line
    stops = [match.start() for match in _SENTENCE_END.finditer(line[:limit])]
    if stops:
        return line[: stops[-1]]
    return _whole_words(line, limit)


def brief(text: str, limit: int) -> str:
    """The text on one line, without its last words where it is too long."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    return _whole_words(line, limit)


def _whole_words(line: str, limit: int) -> str:
    """The beginning of a line, without the word that the limit cuts."""
    return line[:limit].rsplit(" ", 1)[0]


def fitting(sentences: Iterable[str], limit: int) -> str:
    """The sentences in order, without those that would make the text longer than `limit` characters."""
    text = ""
    for item in sentences:
        if len(text) + len(item) < limit:
            text = f"{text} {item}".strip()
    return text


def without_own_values(text: str) -> str:
    """The text with temporary and home folders, dates, ids and hashes replaced by placeholders."""
    return without_paths(steady(text))


def without_paths(text: str) -> str:
    """The text with temporary and home folders replaced by a placeholder."""
    return _HOME_PATH.sub("<path>", text)


def names(event_ids: Sequence[str]) -> str:
    """`e4, e6, e8`, or the first few and how many more."""
    shown = ", ".join(event_ids[:NAMED_EVENTS])
    rest = len(event_ids) - NAMED_EVENTS
    if rest <= 0:
        return shown
    return f"{shown} and {rest} more"


def times(count: int) -> str:
    """`twice`, `three times`, `12 times`."""
    words = {1: "once", 2: "twice", 3: "three times", 4: "four times", 5: "five times"}
    return words.get(count, f"{count} times")


def call_text(tool: str, arguments: Json, limit: int = QUOTE_LIMIT) -> str:
    """A call as a person would write it: `search "Nick Park"`, `get_user {"id": 5}`."""
    shown: Json = arguments
    if isinstance(arguments, dict):
        if not arguments:
            return tool
        if len(arguments) == 1:
            [shown] = arguments.values()
    if shown is None:
        return tool
    return f"{tool} {quote(shown, limit)}"


def unique(items: Iterable[str]) -> tuple[str, ...]:
    """The items in order, each once."""
    return tuple(dict.fromkeys(items))


_SENTENCE_END = lazy_compile(r"(?<=[\w)\"']{3})[.;:](?= )")
_HOME_PATH = lazy_compile(
    r"(?<![\w<>.:/])(?:~|/(?!(?:usr|bin|etc|opt|dev|proc|var|lib|sbin)/)[\w.@+-]{1,100})(?:/[\w.@+-]{1,100}){1,30}"
)


# A trace as text for a prompt.

LEAST: Final = 400
"""The smallest limit of a trace's text, in characters."""


def trace_text(trace: Trace, limit_chars: int) -> str:
    """The events of a trace, one paragraph each, in at most `limit_chars` characters (at least 400).

    Where the whole is too long, an event longer than a quarter of the limit loses the middle of its text, and so does
    the whole: how a run began and how it ended say most about it.
    """
    limit = max(limit_chars, LEAST)
    before = ""
    if trace.cut:
        events_cut, characters_cut = trace.cut["events"], trace.cut["characters"]
        before = f"[{events_cut} events and {characters_cut} characters were cut earlier]\n"
    events = [_event_text(event) for event in trace.events]
    if sum(map(len, events)) + len(events) > limit - len(before):
        events = [shortened(text, limit // 4) for text in events]
    return shortened(before + "\n".join(events), limit)


def error_text(error: RunError, limit_chars: int) -> str:
    """The error of a run with its category and context."""
    lines: list[str] = []
    named = error.category.value if error.category else error.word
    if named:
        lines.append(f"category: {named}")
    if error.message:
        lines.append(error.message)
    if error.context is not None:
        lines.append(f"context: {_json(error.context)}")
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
        words.append(_json(event.arguments) or "(arguments nested too deep to show)")
    if event.metadata:
        values = ", ".join(f"{name}: {_json(value)}" for name, value in event.metadata.items())
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
    kept = max(limit - 40, 0)
    head = kept * 2 // 3
    tail_start = len(text) - (kept - head)
    note = f"[… {len(text) - kept:,} characters cut …]"
    return f"{text[:head]} {note} {text[tail_start:]}"


def _json(value: Json) -> str | None:
    """The value as JSON text with sorted names, None where it is nested too deep for that."""
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    except RecursionError:
        return None
