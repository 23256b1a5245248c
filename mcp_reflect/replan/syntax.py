"""How the caller's tool reads a query: the kind of tool, operators, identifiers, patterns and SQL statements."""

import re
from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

from mcp_reflect.models.search import Query
from mcp_reflect.patterns import CAMEL
from mcp_reflect.replan.words import terms, tokens


class Tool(StrEnum):
    """A kind of search tool. What is not known to be another kind is TEXT: keywords over some index."""

    TEXT = "text"
    PATTERN = "pattern"
    COMMAND = "command"
    SQL = "sql"
    VECTOR = "vector"
    WEB = "web"


LITERAL: Final = frozenset({Tool.PATTERN, Tool.COMMAND, Tool.SQL})
"""Tools that compare letter by letter."""

_NAMES: Final = {
    Tool.PATTERN: set("grep rg ripgrep egrep regex regexp ag ack code".split()),
    Tool.VECTOR: set("vector semantic embedding embeddings dense knn similarity".split()),
    Tool.WEB: set("web google bing duckduckgo brave tavily internet".split()),
}
_SELECT: Final = re.compile(r"\s*(?:select|with)\b.+\bfrom\b", re.IGNORECASE | re.DOTALL)
_COMMAND: Final = re.compile(r"\s*(git\s+grep|[ef]?grep|rg|ag|ack)\s+(?=\S)")


def tool_of(query: Query) -> Tool:
    """Return the kind of tool that a query was written for, by its text, its mode and the names of tool and table."""
    if _SELECT.match(query.query_text):
        return Tool.SQL
    if _COMMAND.match(query.query_text):
        return Tool.COMMAND
    named = tokens(CAMEL.sub(" ", f"{query.search_mode} {query.tool} {query.table}"))
    found = (tool for word in named for tool, names in _NAMES.items() if word in names)
    return next(found, Tool.WEB if "site:" in query.query_text else Tool.TEXT)


def ignoring_case(command: str) -> str:
    """Return a command line of grep or the like with `-i`; other changes are the caller's, who knows the folders."""
    return command if re.search(r"\s-[a-zA-Z]*i|--ignore-case", command) else _COMMAND.sub(r"\1 -i ", command, count=1)


# Operators


_NEAR: Final = re.compile(r"\bNEAR(?:/\d+)?\s*\(([^()]*?)(?:,\s*\d+)?\s*\)")
_FIELD: Final = re.compile(
    r"(?<![\w:/])([A-Za-z_]\w*)(?::(?![:/\s\\])|\s+:\s+|:\s*(?=\"))(\"[^\"]*\"|\([^()]*\)|[^\s()]+)?"
)
_EXCLUDED: Final = re.compile(r"(?:^|(?<=\s))(?:NOT\s+|-(?=[\w\"])(?!\d)|!(?=\w))(\"[^\"]*\"|\S+)")
_MARKS: Final = re.compile(
    r"\s(?:OR|\|\|?|AND|&&|\+)(?=\s)|(?:^|(?<=\s))\+(?=\w)|[()]|(?<=\w)[*~](?:\d\b)?|\^\d+(?:\.\d+)?|(?<!\w)\*(?!\w)"
)
_SCOPES: Final = frozenset(
    "site file path repo lang language ext filetype intitle inurl is in type user org author label".split()
)


class Reading(NamedTuple):
    """A text with its operators read: the words that are asked for, and scopes as they were written (`site:a.org`)."""

    plain: str
    scopes: tuple[str, ...] = ()
    has_operators: bool = False


@lru_cache(maxsize=256)
def read_operators(text: str) -> Reading:
    """Read the operators of a text: OR, AND, NOT, a minus, NEAR, `field:value` and `site:`. Quoted parts stay."""
    scopes: list[str] = []

    def value_of(match: re.Match[str]) -> str:
        if match[1].lower() in _SCOPES:
            scopes.append(match[0].strip())
            return " "
        return f" {match[2] or ''} "

    line = " ".join(text.split())
    if text.isupper():
        return Reading(line)
    plain = _EXCLUDED.sub(" ", _FIELD.sub(value_of, _NEAR.sub(r" \1 ", text)))
    plain = " ".join(_MARKS.sub(" ", plain).split())
    return Reading(plain, tuple(scopes), plain != line)


# Identifiers, and patterns that find a text however it is written


_SEPARATORS: Final = re.compile(r"[-_./:\\]+|(?<=\d) (?=\d)")
_TICKET: Final = re.compile(r"([A-Za-z]{0,10})[-_ #]?0*(\d+)")
_ACRONYM: Final = re.compile(r"[A-Z]{2,}s|[A-Z][a-z]*[A-Z]")  # LLMs, GmbH
_REGEX: Final = re.compile(r"\\[dswbDSWB][+*?]?|\[[^\]]*\][+*?]?|\.[*+?]|[(){}+?|^$*]|\\")
_LOOSE: Final = "[-_. ]*"
_RARE: Final = 7  # letters of a word that is seldom common


def parts(term: str) -> tuple[str, ...]:
    """Return the words of `calculateShippingCost`, `pay-out` or `CONN_MAX_AGE`, as they are written."""
    words = _SEPARATORS.sub(" ", term).split()
    return tuple(
        part for word in words for part in ((word,) if _ACRONYM.fullmatch(word) else CAMEL.sub(" ", word).split())
    )


def is_identifier(term: str) -> bool:
    """Return True for a name of code, a path, a ticket, a version or a long number."""
    is_code = len(term) > 3 and term[-1].isdigit() and (term.startswith("0") or not term.isdigit() or len(term) > 6)
    return " " not in term and (len(parts(term)) > 1 or is_code)


def variants(term: str) -> tuple[str, ...]:
    """Return other ways to write an identifier, the likeliest first. Numbers keep their digits."""
    words = [word.lower() for word in parts(term)]
    joined, spaced, snake = (sign.join(words) for sign in ("", " ", "_"))
    camel = words[0] + "".join(map(str.capitalize, words[1:])) if words else ""
    forms = [joined, spaced, snake] if "-" in term else [snake, spaced, camel, " ".join(words[1:])]
    if ticket := _TICKET.fullmatch(term):
        prefix, number = ticket.groups()
        forms = [prefix + sign + number for sign in (" ", "-", "") if prefix] + [number]
    return tuple(dict.fromkeys(form for form in forms if form and form not in (term, term.lower())))


def loose_pattern(words: tuple[str, ...]) -> str:
    """Return a pattern that finds words capitalized or not, with any separators between them.

    Only bracket expressions and `*` are used, so basic, extended and Perl expressions read it alike.
    """
    written = [word.lower() if word.isupper() else word for word in words]
    escaped = (re.sub(r"([^\w ])", r"[\1]", word[1:]) for word in written)
    firsts = (f"[{word[0].lower()}{word[0].upper()}]" if word[0].isalpha() else word[0] for word in written)
    return _LOOSE.join(map(str.__add__, firsts, escaped))


def pattern_rewrites(text: str) -> Iterator[str]:
    """Yield patterns for grep: the identifier alone, however it is written, then a longer part of it."""
    if _LOOSE in text:  # a pattern of an earlier plan is loose already
        return
    literal = [part.strip() for part in _REGEX.split(read_operators(text).plain) if len(part.strip()) > 2]
    for part in sorted(literal, key=len, reverse=True):
        for term in [term for term in terms(part) if is_identifier(term)] or [part]:
            words, last = parts(term), parts(re.split(r"[/.:]+", term.strip("/"), maxsplit=1)[-1])
            yield term if is_identifier(term) else ""
            yield from map(loose_pattern, (words, last))
            if len(words) > 2:
                yield from map(loose_pattern, (words[1:], words[:-1]))
            elif words and len(words[-1]) >= _RARE:
                yield loose_pattern(words[-1:])


# SQL: nothing is checked, and what is not understood stays as it is.


_SAMPLE: Final = 20  # values that are looked at where no condition is known to hold
_FROM: Final = re.compile(r"\bFROM\s+([\w.\"`]+)", re.IGNORECASE)
_WHERE: Final = re.compile(r"\bWHERE\b(.*?)(?=\bGROUP\s+BY\b|\bORDER\s+BY\b|\bLIMIT\b|;|$)", re.IGNORECASE | re.DOTALL)
_TEXT: Final = re.compile(
    r"(?:(?:LOWER|UPPER|TRIM)\()?(?<![\w.\"`])(?!NOT\b)([\w.\"`]+)\)?\s*(?:==?|\b(?:I?LIKE|GLOB|REGEXP|MATCH|IS)\b|~\*?)\s*'((?:[^']|'')*)'",
    re.IGNORECASE,
)
_TWO: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})


def sql_rewrites(text: str) -> Iterator[str]:
    """Compare in any case and for a part of the value; then by one condition and its most telling word; then look."""
    where, table = _WHERE.search(text), _FROM.search(text)
    column = _TEXT.search(where[1]) if where else None
    if where and table and column:
        before, after = text[: where.start(1)], text[where.end(1) :]
        yield f"{before}{_TEXT.sub(lambda match: _like(match[1], match[2]), where[1])}{after}"
        word = max(column[2].split(), key=lambda word: (not word.isdigit(), len(word)), default="")
        yield f"{before} {_like(column[1], word)} {after}".strip()
        yield f"SELECT DISTINCT {column[1]} FROM {table[1]} LIMIT {_SAMPLE}"  # noqa: S608 - the caller runs it
    elif table:
        yield f"SELECT * FROM {table[1]} LIMIT {_SAMPLE}"  # noqa: S608 - the caller runs it


def _like(column: str, value: str) -> str:
    """A condition that holds in any case, also where LOWER knows ASCII letters alone, as that of SQLite."""
    words = re.findall(r"[^\W_](?:[^\s%*_/+()-]|'')*", value)
    pattern = f"%{'%'.join(words)}%"
    if value.isascii() or any(letter.isascii() and letter.isalpha() for letter in value):
        lower = pattern.lower()  # an umlaut may be stored as one letter or as two
        column, patterns = f"LOWER({column})", [re.sub(r"[^\x00-\x7f]", "_", lower), lower.translate(_TWO)]
    else:
        patterns = [pattern, pattern.title(), pattern.upper()]
    forms = [f"{column} LIKE '{form}'" for form in dict.fromkeys(patterns)]
    return forms[0] if len(forms) == 1 else f"({' OR '.join(forms)})"
