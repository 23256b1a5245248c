"""The signature of a failing call, equal for the same mistake on another day.

It is made of the normalized call (tool and arguments) and the fingerprint of the error, with placeholders for ids,
dates, temporary paths, ports and hashes, and in errors for every path and number.
"""

import hashlib
import json
import re
from collections.abc import Callable
from functools import lru_cache

from mcp_reflect.models.common import Json
from mcp_reflect.patterns import lazy_compile

CALL_LIMIT = 2_000  # characters of a normalized call; a longer one ends in a hash of the whole
ERROR_LIMIT = 200
"""Characters of a fingerprint: the line that names an error is shorter, nearly always."""
MAX_DEPTH = 40  # levels of nested arguments that are looked at; deeper ones are not told apart

_QUOTES = "\"'`“”‘’«»"
_STRAIGHT = str.maketrans("“”«»‘’`'", '""""""""')

# Tried in this order, since a uuid holds hashes and a date holds numbers. Every repetition is bounded,
# so that each pattern takes linear time.
_VOLATILE: tuple[tuple[re.Pattern[str], str], ...] = (
    (lazy_compile(r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"), "<uuid>"),
    (
        lazy_compile(
            r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?"
        ),
        "<date>",
    ),
    (lazy_compile(r"\b\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?\b"), "<time>"),
    (
        lazy_compile(
            r"(?<![\w.])(?:/private)?(?:/var/folders|/var/tmp|/tmp)(?:/[\w.+@-]{1,128}){0,32}(?![\w-])"
        ),
        "<tmp>",
    ),
    (lazy_compile(r"\b[A-Z]:\\(?:[\w.~ -]{1,64}\\){0,16}Temp\\[\w.\\-]{1,256}"), "<tmp>"),
    (lazy_compile(r"(?<=[\w\].]):\d{2,5}(?=[/\s,;)\"']|$)"), ":<port>"),
    (lazy_compile(r"\b0x[0-9a-fA-F]{2,16}\b"), "<hex>"),
    (lazy_compile(r"\b(?=[a-f]{0,40}\d)(?=\d{0,40}[a-f])[0-9a-f]{7,64}\b"), "<hash>"),
    (
        lazy_compile(r"\b\d{1,12}(?:\.\d{1,9})?\s?(?:ms|us|µs|ns|s|sec|secs|seconds|minutes)\b"),
        "<duration>",
    ),
)
_PATH = lazy_compile(r"(?:\b[A-Za-z]:)?(?<![\w/\\])(?:[\w.~@+-]{0,64}[/\\]){1,40}[\w.@+-]{0,128}")
_NUMBER = lazy_compile(r"(?<![<\w])[-+]?\d[\d.,]{0,30}|\d{1,40}")
_SPACE = lazy_compile(r"\s+")


@lru_cache(maxsize=512)  # a failure's text is asked for several times
def with_placeholders(text: str) -> str:
    """Return the text with placeholders for what differs between runs: ids, dates, times, temporary paths, ports.

    "2026-01-02 took 3.1 s on localhost:8080" -> "<date> took <duration> on localhost:<port>"
    """
    for pattern, placeholder in _VOLATILE:
        text = pattern.sub(placeholder, text)
    return text


def without_outer_quotes(text: str) -> str:
    """Return the text with single spaces and without quotation marks around it: `"nick  park"` -> `nick park`."""
    return _SPACE.sub(" ", text).strip().strip(_QUOTES).strip()


def normalized_call(tool: str, arguments: Json) -> str:
    """Return one line, like `search({"query":"nick park"})`, the same for calls that differ in ids and dates."""
    return bounded(_line(tool, arguments, _normalized_text))


def _normalized_text(text: str) -> str:
    """Return a text as `normalized_call` has it, without what differs between runs; only what a line may show is read."""
    return with_placeholders(without_outer_quotes(text[: 4 * CALL_LIMIT]))


def call_without_quotes(tool: str, arguments: Json) -> str:
    """Return one line, the same for calls that differ only in white space, order of keys and outer quotes."""
    return bounded(_line(tool, arguments, without_outer_quotes))


def call_with_quotes(tool: str, arguments: Json) -> str:
    """Return one line, the same for calls that differ only in white space, order of keys and kind of quotes."""
    return bounded(_line(tool, arguments, _with_one_kind_of_quotes))


def _with_one_kind_of_quotes(text: str) -> str:
    """Return the text with single spaces, and with one kind of quotes for all."""
    return _SPACE.sub(" ", text.translate(_STRAIGHT)).strip()


def exact_call(tool: str, arguments: Json) -> str:
    """Return one line, the same only for the same arguments in any order of keys."""
    return _line(tool, arguments, str.strip)


def fingerprint(error: str) -> str:
    """Return the error without numbers, paths, ids and times, in lower case, at most ERROR_LIMIT characters.

    "src/App.py:12: Cannot read 3 rows" -> "<path>:<n>: cannot read <n> rows"
    """
    text = _PATH.sub("<path>", with_placeholders(_SPACE.sub(" ", error[: 5 * ERROR_LIMIT]).strip()))
    return _NUMBER.sub("<n>", text).lower()[:ERROR_LIMIT].rstrip()


def signature(tool: str, call: str, error_fingerprint: str) -> str:
    """Return 16 hex digits over the tool, the normalized call and the fingerprint."""
    return digest("\x1f".join((tool.strip().lower(), call, error_fingerprint)))


def bounded(line: str, limit: int = CALL_LIMIT) -> str:
    """Return the line, or its start and a hash of the whole where it is longer: "search({"query":"a… ...#9c31f0…"."""
    if len(line) <= limit:
        return line
    return f"{line[: limit - 20]}...#{digest(line)}"


def digest(text: str, digits: int = 16) -> str:
    """Return the first hex digits of the SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:digits]


def is_drawn(text: str, share: float) -> bool:
    """Return whether a text is among the `share` (0..1) of all texts that is is_drawn: the same ones in every process.

    By it sessions are chosen for the control group.
    """
    return int(digest(text), 16) < share * 2**64


def _line(tool: str, arguments: Json, normalize: Callable[[str], str]) -> str:
    """Return a call as one line, its texts as `normalize` makes them, its keys in order and without blanks."""
    value = _normalized(arguments, 0, normalize)
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return f"{tool.strip().lower()}({text})"


def _normalized(value: Json, depth: int, normalize: Callable[[str], str]) -> Json:
    """Return a value with each of its texts normalized; what lies deeper than MAX_DEPTH is the same for all calls."""
    if depth > MAX_DEPTH:
        return "..."
    if isinstance(value, str):
        return normalize(value)
    if isinstance(value, dict):
        return {str(key): _normalized(item, depth + 1, normalize) for key, item in value.items()}
    if isinstance(value, list):
        return [_normalized(item, depth + 1, normalize) for item in value]
    return value
