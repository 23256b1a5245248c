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
    return text if len(text) <= limit else f"{text[: limit // 2]}\n{text[-limit // 2 :]}"


def clip(text: str, limit: int = QUOTE_LIMIT) -> str:
    """The text on one line, cut in its middle so that both ends can be read."""
    line = " ".join(
        (text if len(text) <= 8 * limit else f"{text[: 4 * limit]} {text[-4 * limit :]}").split()
    )
    if len(line) <= limit:
        return line
    head = limit * 2 // 3
    return f"{line[:head].rstrip()} ... {line[-(limit - head - 5) :].lstrip()}"


def quote(value: Json, limit: int = QUOTE_LIMIT) -> str:
    """A value as it can stand in a sentence: text in quotation marks, anything else as JSON."""
    if isinstance(value, str):
        text = clip(value, limit)
        return f"'{text}'" if '"' in text and "'" not in text else f'"{text}"'
    return clip(_json(value) or "(deeply nested)", limit)


def sentence(text: str, limit: int) -> str:
    """The text on one line without folders of one machine, cut after a whole sentence where it has one."""
    line = without_paths(" ".join(text[: 4 * limit].split()))
    if len(line) <= limit:
        return line
    stops = [match.start() for match in _SENTENCE_END.finditer(line[:limit])]
    return line[: stops[-1]] if stops else line[:limit].rsplit(" ", 1)[0]


def brief(text: str, limit: int) -> str:
    """The text on one line, without its last words where it is too long."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[:limit].rsplit(" ", 1)[0]


def fitting(sentences: Iterable[str], limit: int) -> str:
    """The sentences in order, without those that would make the text longer than `limit` characters."""
    text = ""
    for item in sentences:
        text = f"{text} {item}".strip() if len(text) + len(item) < limit else text
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
    return f"{shown} and {rest} more" if rest > 0 else shown


def times(count: int) -> str:
    """`twice`, `three times`, `12 times`."""
    words = {1: "once", 2: "twice", 3: "three times", 4: "four times", 5: "five times"}
    return words.get(count, f"{count} times")


def call_text(tool: str, arguments: Json, limit: int = QUOTE_LIMIT) -> str:
    """A call as a person would write it: `search "Nick Park"`, `get_user {"id": 5}`."""
    shown: Json = arguments
    if isinstance(arguments, dict):  # the single value of one argument, else all of them
        shown = next(iter(arguments.values())) if len(arguments) == 1 else arguments or None
    return tool if shown is None else f"{tool} {quote(shown, limit)}"


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
    limit, cut = max(limit_chars, LEAST), trace.cut
    before = (
        f"[{cut['events']} events and {cut['characters']} characters were cut earlier]\n"
        if cut
        else ""
    )
    events = [_event_text(event) for event in trace.events]
    if sum(map(len, events)) + len(events) > limit - len(before):
        events = [shortened(text, limit // 4) for text in events]
    return shortened(before + "\n".join(events), limit)


def error_text(error: RunError, limit_chars: int) -> str:
    """The error of a run with its category and context."""
    context = "" if error.context is None else f"context: {_json(error.context)}"
    named = error.category.value if error.category else error.word
    category = f"category: {named}" if named else ""
    return shortened("\n".join(filter(None, (category, error.message, context))), limit_chars)


def _event_text(event: Event) -> str:
    """`[e3] 12:04:31 tool_call search {"q": "x"} (exit_code: 1): content | error: what failed`."""
    arguments = (
        None
        if event.arguments is None
        else _json(event.arguments) or "(arguments nested too deep to show)"
    )
    metadata = ", ".join(f"{name}: {_json(value)}" for name, value in event.metadata.items())
    time = None if event.timestamp is None else str(event.timestamp)
    named = (
        f"[{event.id}]",
        time,
        event.type.value,
        event.tool,
        arguments,
        metadata and f"({metadata})",
    )
    text = " ".join(filter(None, named))
    text += f": {event.content}" if event.content else ""
    return f"{text} | error: {event.error}" if event.error else text


def shortened(text: str, limit: int) -> str:
    """The text, or its first two thirds and last third with a note of how many characters are missing between."""
    if len(text) <= limit:
        return text
    kept = max(limit - 40, 0)
    head = kept * 2 // 3
    return f"{text[:head]} [… {len(text) - kept:,} characters cut …] {text[len(text) - (kept - head) :]}"


def _json(value: Json) -> str | None:
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    except RecursionError:
        return None
