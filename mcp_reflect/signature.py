"""The signature of a failing call: what it shares with the same mistake made again on another day.

It is made of the normalised call (tool and canonical arguments) and the fingerprint of the error.
What differs from day to day is replaced by a placeholder: ids, dates, temporary paths, ports, hashes,
and in errors every path and number too.
"""

import hashlib
import json
import re
from collections.abc import Callable

from mcp_reflect.models.common import Json
from mcp_reflect.patterns import lazy_compile

CALL_LIMIT = 2_000  # characters of a normalised call; a longer one ends in a hash of the whole
ERROR_LIMIT = 200  # characters of a fingerprint: the line that names an error is shorter, nearly always
MAX_DEPTH = 40  # levels of nested arguments that are looked at; deeper ones count as their text

_QUOTES = "\"'`“”‘’«»"
_STRAIGHT = str.maketrans("“”«»‘’`'", '""""""""')

# Tried in this order, since a uuid holds hashes and a date holds numbers. Every repetition is bounded,
# so that each pattern takes linear time.
_VOLATILE: tuple[tuple[re.Pattern[str], str], ...] = (
    (lazy_compile(r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"), "<uuid>"),
    (lazy_compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?"), "<date>"),
    (lazy_compile(r"\b\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?\b"), "<time>"),
    (
        lazy_compile(r"(?<![\w.])(?:/private)?(?:/var/folders|/var/tmp|/tmp)(?:/[\w.+@-]{1,128}){0,32}(?![\w-])"),
        "<tmp>",
    ),
    (lazy_compile(r"\b[A-Z]:\\(?:[\w.~ -]{1,64}\\){0,16}Temp\\[\w.\\-]{1,256}"), "<tmp>"),
    (lazy_compile(r"(?<=[\w\].]):\d{2,5}(?=[/\s,;)\"']|$)"), ":<port>"),
    (lazy_compile(r"\b0x[0-9a-fA-F]{2,16}\b"), "<hex>"),
    (lazy_compile(r"\b(?=[a-f]{0,40}\d)(?=\d{0,40}[a-f])[0-9a-f]{7,64}\b"), "<hash>"),
    (lazy_compile(r"\b\d{1,12}(?:\.\d{1,9})?\s?(?:ms|us|µs|ns|s|sec|secs|seconds|minutes)\b"), "<duration>"),
)
_PATH = lazy_compile(r"(?:\b[A-Za-z]:)?(?<![\w/\\])(?:[\w.~@+-]{0,64}[/\\]){1,40}[\w.@+-]{0,128}")
_NUMBER = lazy_compile(r"(?<![<\w])[-+]?\d[\d.,]{0,30}|\d{1,40}")
_SPACE = lazy_compile(r"\s+")


def steady(text: str) -> str:
    """The text with what differs from run to run (ids, dates, times, temporary paths, ports, hashes) replaced."""
    for pattern, placeholder in _VOLATILE:
        text = pattern.sub(placeholder, text)
    return text


def plain(text: str) -> str:
    """The text with single spaces and without quotation marks around it."""
    return _SPACE.sub(" ", text).strip().strip(_QUOTES).strip()


def normalised_call(tool: str, arguments: Json) -> str:
    """One line for a call: `search({"query":"nick park"})`, the same for calls that differ only in dress."""
    return bounded(_line(tool, arguments, _plain_and_steady))


def unquoted(tool: str, arguments: Json) -> str:
    """One line for a call, the same for calls that differ in white space, order of keys and outer quotes alone."""
    return bounded(_line(tool, arguments, plain))


def dressed_call(tool: str, arguments: Json) -> str:
    """One line for a call, the same for calls that differ in white space, order of keys and kind of quotes alone."""
    return bounded(_line(tool, arguments, _one_kind_of_quotes))


def exact_call(tool: str, arguments: Json) -> str:
    """One line for a call, the same only for the same arguments; key order and outer spaces do not count."""
    return _line(tool, arguments, str.strip)


def fingerprint(error: str) -> str:
    """The error with numbers, paths, ids and times taken out, in lower case, at most ERROR_LIMIT characters."""
    text = steady(_SPACE.sub(" ", error[: 5 * ERROR_LIMIT]).strip())
    text = _PATH.sub("<path>", text)
    return _NUMBER.sub("<n>", text).lower()[:ERROR_LIMIT].rstrip()


def signature(tool: str, call: str, error_fingerprint: str) -> str:
    """16 hex digits over the tool, the normalised call and the fingerprint."""
    joined = "\x1f".join((tool.strip().lower(), call, error_fingerprint))
    return hashlib.sha256(joined.encode("utf-8", "replace")).hexdigest()[:16]


def bounded(line: str, limit: int = CALL_LIMIT) -> str:
    """The line, or its start and a hash of the whole where it is longer than `limit` characters."""
    if len(line) <= limit:
        return line
    digest = hashlib.sha256(line.encode("utf-8", "replace")).hexdigest()[:16]
    return f"{line[: limit - 20]}...#{digest}"


def _line(tool: str, arguments: Json, dress: Callable[[str], str]) -> str:
    return f"{tool.strip().lower()}({_dumps(_canonical(arguments, 0, dress))})"


def _one_kind_of_quotes(text: str) -> str:
    return _SPACE.sub(" ", text.translate(_STRAIGHT)).strip()


def _plain_and_steady(text: str) -> str:
    return steady(plain(text[: 4 * CALL_LIMIT]))


def _canonical(value: Json, depth: int, dress: Callable[[str], str]) -> Json:
    """The value with each string dressed; keys are sorted when it is written."""
    if depth > MAX_DEPTH:
        return "..."
    if isinstance(value, str):
        return dress(value)
    if isinstance(value, dict):
        return {str(key): _canonical(item, depth + 1, dress) for key, item in value.items()}
    if isinstance(value, list):
        return [_canonical(item, depth + 1, dress) for item in value]
    return value


def _dumps(value: Json) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
