"""How the caller's tool reads a text: which kind of search it is, and the operators in it."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from mcp_reflect.models.search import Query
from mcp_reflect.replan.words import CAMEL, tokens


class Tool(StrEnum):
    """A kind of search tool. What is not known to be another kind is TEXT: keywords over some index."""

    TEXT = "text"
    FULLTEXT = "fulltext"
    LIKE = "like"
    PATTERN = "pattern"
    COMMAND = "command"
    SQL = "sql"
    VECTOR = "vector"
    WEB = "web"


_NAMES: Final[dict[str, Tool]] = {
    **dict.fromkeys(("grep", "rg", "ripgrep", "egrep", "regex", "regexp", "ag", "ack", "code"), Tool.PATTERN),
    **dict.fromkeys(("like", "ilike", "substring", "contains"), Tool.LIKE),
    **dict.fromkeys(("fts", "fts5", "fulltext", "tsquery", "match", "boolean", "lucene"), Tool.FULLTEXT),
    **dict.fromkeys(("vector", "semantic", "embedding", "embeddings", "dense", "knn", "similarity"), Tool.VECTOR),
    **dict.fromkeys(("web", "google", "bing", "duckduckgo", "brave", "tavily", "internet"), Tool.WEB),
}
_SQL: Final = re.compile(r"\s*(?:select|with)\b.+\bfrom\b", re.IGNORECASE | re.DOTALL)
_COMMAND: Final = re.compile(r"\s*(?:git\s+grep|e?grep|fgrep|rg|ag|ack|find|fd|locate)\s+\S")
_NEAR: Final = re.compile(r"\bNEAR(?:/\d+)?\s*\(([^()]*?)(?:,\s*\d+)?\s*\)")
_FIELD: Final = re.compile(
    r"(?<![\w:/])([A-Za-z_]\w*)(?::(?![:/\s\\])|\s+:\s+|:\s*(?=\"))(\"[^\"]*\"|\([^()]*\)|[^\s()]+)?"
)
_EXCLUDED: Final = re.compile(r"(?:^|(?<=\s))(?:NOT\s+|-(?=[\w\"])|!(?=\w))(\"[^\"]*\"|\S+)")
_OR: Final = re.compile(r"\s+(?:OR|\|\|?)\s+")
_AND: Final = re.compile(r"\s+(?:AND|&&|\+)\s+|(?:^|(?<=\s))\+(?=\w)")
_MARKS: Final = re.compile(r"[\"“”„«»()]|(?<=\w)[*~](?:\d\b)?|\^\d+(?:\.\d+)?|(?<!\w)\*(?!\w)")
_SCOPES: Final = frozenset(
    "site file path repo lang language ext filetype intitle inurl is in type user org author label".split()
)
_REGEX: Final = re.compile(r"\\[dswbDSWB]|[\[\](){}+?|^$*]|\.\*|\\\.")


@dataclass(frozen=True, slots=True)
class Reading:
    """A text with its operators read.

    `plain` are the words that are asked for, without operators, exclusions and scopes. `groups` are the alternatives
    of an OR, else the terms of an AND. `scopes` stay as they were written: `site:example.org`.
    """

    plain: str
    groups: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    is_or: bool = False
    has_operators: bool = False


def tool_of(query: Query) -> Tool:
    """Return the kind of tool that a query was written for, by its text, its mode and the names of tool and table."""
    text = query.query_text
    if _SQL.match(text):
        return Tool.SQL
    if _COMMAND.match(text):
        return Tool.COMMAND
    for name in (query.search_mode, query.tool, query.table):
        for word in tokens(CAMEL.sub(" ", name)):
            if word in _NAMES:
                return _NAMES[word]
    if re.search(r"(?:^|\s)site:\w", text):
        return Tool.WEB
    return Tool.FULLTEXT if _NEAR.search(text) or re.search(r"\w\s+:\s+\S", text) else Tool.TEXT


def read_operators(text: str) -> Reading:
    """Read the operators of a text: quotes, OR, AND, NOT, a minus, NEAR, `field:value` and `site:`."""
    scopes: list[str] = []

    def value_of(match: re.Match[str]) -> str:
        name, value = match.group(1), match.group(2) or ""
        if name.lower() in _SCOPES:
            scopes.append(match.group(0).strip())
            return " "
        return f" {value} "

    if text.isupper():
        return Reading(" ".join(text.split()))
    bare = _NEAR.sub(r" \1 ", text)
    bare = _FIELD.sub(value_of, bare)
    bare = _EXCLUDED.sub(" ", bare)
    phrases = tuple(re.findall(r'"([^"]+)"', bare))
    is_or = bool(_OR.search(bare))
    groups = tuple(_words(group) for group in (_OR if is_or else _AND).split(bare))
    groups = tuple(group for group in groups if group) if len(groups) > 1 else ()
    plain = _words(_AND.sub(" ", _OR.sub(" ", bare)))
    return Reading(plain, groups, tuple(scopes), phrases, is_or, has_operators=plain != " ".join(text.split()))


def has_regex(text: str) -> bool:
    """True if a text holds signs of regular expressions."""
    return bool(_REGEX.search(text))


def literals(pattern: str) -> tuple[str, ...]:
    """Return the literal parts of a regular expression, the longest first."""
    parts = re.split(r"\\[dswbDSWB][+*?]?|\[[^\]]*\][+*?]?|\.[*+?]|[(){}+?|^$*]|\\", pattern)
    return tuple(sorted({part.strip() for part in parts if len(part.strip()) > 2}, key=lambda part: -len(part)))


def portable(pattern: str) -> str:
    """Return a regular expression without the classes and signs that basic expressions do not have."""
    for sign, portable_class in ((r"\d", "[0-9]"), (r"\w", "[A-Za-z0-9_]"), (r"\s", "[[:space:]]")):
        pattern = pattern.replace(f"{sign}+", f"{portable_class}{portable_class}*").replace(sign, portable_class)
    return re.sub(r"(?<=\w)\+|\\b", "", pattern).replace(".+", "..*").replace("(?:", "(")


def _words(text: str) -> str:
    return " ".join(_MARKS.sub(" ", text).split())
