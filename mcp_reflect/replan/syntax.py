"""How the caller's tool reads a query: the kind of tool, the operators in a text, SQL statements and command lines."""

import re
import shlex
from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

from mcp_reflect.models.search import CatalogEntry, Query
from mcp_reflect.replan.forms import loose_pattern, sql_pattern, terms, variants
from mcp_reflect.replan.words import CAMEL, tokens


class Tool(StrEnum):
    """A kind of search tool. What is not known to be another kind is TEXT: keywords over some index."""

    TEXT = "text"
    PATTERN = "pattern"
    COMMAND = "command"
    SQL = "sql"
    VECTOR = "vector"
    WEB = "web"


_NAMES: Final = {
    name: tool
    for tool, names in {
        Tool.PATTERN: "grep rg ripgrep egrep regex regexp ag ack code",
        Tool.VECTOR: "vector semantic embedding embeddings dense knn similarity",
        Tool.WEB: "web google bing duckduckgo brave tavily internet",
    }.items()
    for name in names.split()
}
_SELECT: Final = re.compile(r"\s*(?:select|with)\b.+\bfrom\b", re.IGNORECASE | re.DOTALL)
_COMMAND: Final = re.compile(r"\s*(?:git\s+grep|e?grep|fgrep|rg|ag|ack)\s+\S")


def tool_of(query: Query) -> Tool:
    """Return the kind of tool that a query was written for, by its text, its mode and the names of tool and table."""
    if _SELECT.match(query.query_text):
        return Tool.SQL
    if _COMMAND.match(query.query_text):
        return Tool.COMMAND
    named = tokens(CAMEL.sub(" ", f"{query.search_mode} {query.tool} {query.table}"))
    return next(
        (_NAMES[word] for word in named if word in _NAMES), Tool.WEB if "site:" in query.query_text else Tool.TEXT
    )


# Operators


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


class Reading(NamedTuple):
    """A text with its operators read.

    `plain` are the words that are asked for, without operators, exclusions and scopes. `groups` are the alternatives
    of an OR, else the terms of an AND. `scopes` stay as they were written: `site:example.org`.
    """

    plain: str
    groups: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    has_operators: bool = False


@lru_cache(maxsize=256)
def read_operators(text: str) -> Reading:
    """Read the operators of a text: quotes, OR, AND, NOT, a minus, NEAR, `field:value` and `site:`."""
    scopes: list[str] = []

    def value_of(match: re.Match[str]) -> str:
        if match[1].lower() in _SCOPES:
            scopes.append(match[0].strip())
            return " "
        return f" {match[2] or ''} "

    line = " ".join(text.split())
    if text.isupper():
        return Reading(line)
    bare = _EXCLUDED.sub(" ", _FIELD.sub(value_of, _NEAR.sub(r" \1 ", text)))
    groups = [_unmarked(group) for group in (_OR if _OR.search(bare) else _AND).split(bare)]
    plain = _unmarked(_AND.sub(" ", _OR.sub(" ", bare)))
    return Reading(plain, tuple(filter(None, groups)) if len(groups) > 1 else (), tuple(scopes), plain != line)


def has_regex(text: str) -> bool:
    """True if a text holds signs of regular expressions."""
    return bool(_REGEX.search(text))


def literals(pattern: str) -> tuple[str, ...]:
    """Return the literal parts of a regular expression, the longest first."""
    parts = re.split(r"\\[dswbDSWB][+*?]?|\[[^\]]*\][+*?]?|\.[*+?]|[(){}+?|^$*]|\\", pattern)
    return tuple(sorted({part.strip() for part in parts if len(part.strip()) > 2}, key=lambda part: -len(part)))


def _unmarked(text: str) -> str:
    return " ".join(_MARKS.sub(" ", text).split())


# SQL: nothing is checked, and what is not understood stays as it is.


_SAMPLE: Final = 20  # rows of a table that are looked at where no condition is known to hold
_FROM: Final = re.compile(r"\bFROM\s+([\w.\"`]+)", re.IGNORECASE)
_WHERE: Final = re.compile(r"\bWHERE\b(.*?)(?=\bGROUP\s+BY\b|\bORDER\s+BY\b|\bLIMIT\b|;|$)", re.IGNORECASE | re.DOTALL)
_TEXT: Final = re.compile(
    r"(?:(?:LOWER|UPPER|TRIM)\()?(?<![\w.\"`])(?!NOT\b)([\w.\"`]+)\)?\s*(?:==?|\b(?:I?LIKE|GLOB|REGEXP|MATCH|IS)\b|~\*?)\s*'((?:[^']|'')*)'",
    re.IGNORECASE,
)
_SQL_AND: Final = re.compile(r"\s+AND\s+(?![^()]*\))", re.IGNORECASE)
_LONG_NUMBER: Final = 7  # digits: parcels, accounts and telephones, which are stored with and without separators


def rewrite_sql(text: str, entry: CatalogEntry | None) -> Iterator[str]:
    """Compare loosely (any case, part of the value, any separators), then in other columns."""
    yield _with_where(text, _loosened(text))
    for match in map(_TEXT.search, _conditions(text)) if entry and entry.fields else ():
        if entry and match:
            yield _with_where(text, [f"({_in_any(entry, match[2])})"])


def relax_sql(text: str) -> Iterator[str]:
    """Keep one condition, then look at a sample."""
    loose = _loosened(text)
    if len(loose) > 1:
        yield from (_with_where(text, [condition]) for condition in loose[:2])
    if table := _FROM.search(text):
        yield _sample(table[1].strip('"`'))


def pivot_sql(text: str, entry: CatalogEntry) -> Iterator[str]:
    """Ask another table: in the columns that are known of it, else by a sample of its rows."""
    match = _TEXT.search(" ".join(_conditions(text)))
    if match and entry.fields:
        yield f"SELECT * FROM {entry.table} WHERE {_in_any(entry, match[2])}"  # noqa: S608 - the caller runs it
    yield _sample(entry.table)


def _conditions(text: str) -> list[str]:
    """The conditions of a WHERE that AND joins."""
    where = _WHERE.search(text)
    return [part.strip() for part in _SQL_AND.split(where[1])] if where else []


def _loosened(text: str) -> list[str]:
    return [_TEXT.sub(_loosely, condition) for condition in _conditions(text)]


def _with_where(text: str, conditions: list[str]) -> str:
    return _WHERE.sub(lambda _: f"WHERE {' AND '.join(conditions)} ", text, count=1).strip()


def _sample(table: str) -> str:
    return f"SELECT * FROM {table} LIMIT {_SAMPLE}"  # noqa: S608 - the caller runs it with its own rights


def _in_any(entry: CatalogEntry, value: str) -> str:
    """The condition that one of the columns holds the value."""
    return " OR ".join(_like(name, value) for name in entry.fields)


def _like(column: str, value: str) -> str:
    """A condition that holds in any case also where LOWER knows only ASCII letters, as that of SQLite."""
    pattern = sql_pattern(value)
    cased = (pattern.title(), pattern.upper(), "%" + value.strip("%*").replace("'", "''") + "%")
    # The lower() of bytes knows only ASCII letters too.
    forms = (pattern, *(form.encode().lower().decode() for form in (() if value.isascii() else cased)))
    likes = [f"LOWER({column}) LIKE '{form}'" for form in dict.fromkeys(forms)]
    return likes[0] if len(likes) == 1 else f"({' OR '.join(likes)})"


def _loosely(match: re.Match[str]) -> str:
    """A comparison with a text that holds in any case, for a part of the value and with any separators."""
    column, value = match[1], match[2].replace("''", "'")
    digits = re.sub(r"[\s%*_./-]", "", value)
    if digits.isdigit() and len(digits) >= _LONG_NUMBER:
        return f"REPLACE(REPLACE({column}, ' ', ''), '-', '') LIKE '%{digits}%'"
    loose = _like(column, value)
    return match[0] if match[0] in loose else loose  # a query of the last round stays as it is


# Command lines


def rewrite_command(text: str) -> Iterator[str]:
    """Ignore case, look in every folder, allow other spellings, then look for a shorter pattern."""
    try:
        words = shlex.split(text)
    except ValueError:
        return
    start = 2 if words[:2] == ["git", "grep"] else 1
    options = [word for word in words[start:] if word.startswith("-") and word != "-e"]
    rest = [word for word in words[start:] if not word.startswith("-")]
    if not rest:
        return
    program, pattern, places = words[:start], rest[0], rest[1:]
    kept = [option for option in options if not re.match(r"--(?:include|exclude|glob|type)|-[gtFwx]$", option)]
    no_case = [] if any("i" in option for option in options if not option.startswith("--")) else ["-i"]
    yield _line(program, [*options, *no_case], pattern, places)
    if forms := [form for term in terms(pattern) for form in variants(term)]:
        extended = [] if program[0] in {"rg", "ag", "ack", "egrep"} else ["-E"]
        either = "|".join(map(re.escape, forms[:6])).replace(r"\ ", " ")
        yield _line(program, [*kept, *no_case, *extended], either, places)
    yield _line(program, kept, loose_pattern(pattern), ["."])
    shorter = max((part for term in terms(pattern) for part in re.split(r"\W+|_", term)), key=len, default="")
    if len(shorter) > 2:
        yield _line(program, [*kept, *no_case], shorter, ["."])


def _line(program: list[str], options: list[str], pattern: str, places: list[str]) -> str:
    return " ".join((*program, *options, shlex.quote(pattern), *map(shlex.quote, places)))
