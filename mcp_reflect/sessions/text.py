"""Texts of a run as they stand in a sentence: quoted, on one line, and cut to a length."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Final

from mcp_reflect.models.common import Json
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.sessions.word_tables import word_set
from mcp_reflect.text.signature import with_placeholders

# Words that say nothing of what a lesson is about.
COMMON_WORDS: Final = word_set("""
    failed does exist could find too many some requirement satisfies version while must expected got named attempting
    error the and not for with was that this from have has are file line most recent call last code none true first
    false instead again then that works same use run read include more
""")
_SHARED_WORDS: Final = 2  # telling words that two texts about one thing share
QUOTE_LIMIT: Final = 120  # characters of anything quoted in a sentence
NAMED_EVENTS: Final = 6  # event ids named in a sentence; the rest is counted
_MOST_START: Final = 800  # characters of a text whose beginning is quoted
_SENTENCE_END: Final = lazy_compile(r"(?<=[\w)\"']{3})[.;:](?= )")
_HOME_PATH: Final = lazy_compile(
    r"(?<![\w<>.:/])(?:~|/(?!(?:usr|bin|etc|opt|dev|proc|var|lib|sbin)/)[\w.@+-]{1,100})(?:/[\w.@+-]{1,100}){1,30}"
)
"""A path in a folder of a person: not one of the system's own folders, which are the same on each machine."""


def shares_words(one: str, other: str) -> bool:
    """True for two texts about one thing: they share telling words."""
    return len(telling_words(one) & telling_words(other)) >= _SHARED_WORDS


def telling_words(text: str) -> frozenset[str]:
    """Return the words that tell what a text is about: those of four letters and more that are not in every text.

    "Cannot find module 'vitest'" -> {"cannot", "module", "vitest"}
    """
    words = re.findall(r"[\w.-]{4,}", text.lower())
    return frozenset(word.strip("._-") for word in words) - COMMON_WORDS - {"been", "them", "tool"}


def ends(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters as it is, and of a longer one half of the limit from each end.

    The middle is what is left out, since the beginning of an output says what ran, and its end how it ended.
    """
    if len(text) <= limit:
        return text
    return f"{text[: limit // 2]}\n{text[-limit // 2 :]}"


def clip(text: str, limit: int = QUOTE_LIMIT) -> str:
    """The text on one line of at most `limit` characters, cut in its middle so that both ends can be read."""
    if len(text) > 8 * limit:  # spared the work of splitting what is cut anyway
        text = f"{text[: 4 * limit]} {text[-4 * limit :]}"
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    head_length = limit * 2 // 3
    tail_length = limit - head_length - len(" ... ")
    return f"{line[:head_length].rstrip()} ... {line[-tail_length:].lstrip()}"


def quote(value: Json, limit: int = QUOTE_LIMIT) -> str:
    """A value as it can stand in a sentence: text in quotation marks, anything else as JSON."""
    if isinstance(value, str):
        text = clip(value, limit)
        if '"' in text and "'" not in text:
            return f"'{text}'"
        return f'"{text}"'
    return clip(json_text(value) or "(deeply nested)", limit)


def quoted_start(text: str) -> str:
    """Return the first sentences of a text in quotation marks, on one line: at most a quarter of `_MOST_START` characters."""
    return quote(sentence(text[:_MOST_START], _MOST_START // 4), _MOST_START // 2)


def sentence(text: str, limit: int) -> str:
    """The text on one line of at most `limit` characters, without folders of one machine.

    It is cut after its last whole sentence within the limit, else after its last whole word.
    """
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
    """The sentences in order as one text of fewer than `limit` characters; one that is too long for its rest is left out."""
    text = ""
    for item in sentences:
        if len(text) + len(item) < limit:
            text = f"{text} {item}".strip()
    return text


def without_own_values(text: str) -> str:
    """The text with what is different on another day or machine as placeholders: folders, dates, ids, hashes."""
    return without_paths(with_placeholders(text))


def without_paths(text: str) -> str:
    """The text with temporary and home folders replaced by a placeholder."""
    return _HOME_PATH.sub("<path>", text)


def listed_ids(event_ids: Sequence[str]) -> str:
    """`e4, e6, e8`, or the first few and how many more."""
    shown = ", ".join(event_ids[:NAMED_EVENTS])
    rest = len(event_ids) - NAMED_EVENTS
    if rest <= 0:
        return shown
    return f"{shown} and {rest} more"


def times_in_words(count: int) -> str:
    """`twice`, `three times`, `12 times`."""
    words = {
        1: "once",
        2: "twice",
        3: "three times",
        4: "four times",
        5: "five times",
    }
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


def json_text(value: Json) -> str | None:
    """The value as JSON text with sorted names, None where it is nested too deep for that."""
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    except RecursionError:
        return None
