"""How the caller's tool reads a query: the kind of tool, operators, identifiers, patterns and statements."""

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from mcp_reflect.models.search import Query
from mcp_reflect.patterns import CAMEL
from mcp_reflect.replan.words import terms, tokens, weight


class Tool(StrEnum):
    """A kind of search tool. What is not known to be another kind is TEXT: keywords over some index."""

    TEXT = "text"
    PATTERN = "pattern"
    COMMAND = "command"
    SQL = "sql"
    WEB = "web"


LITERAL: Final = frozenset({Tool.PATTERN, Tool.COMMAND, Tool.SQL})
"""Tools that compare letter by letter."""

_NAMES: Final = {
    Tool.PATTERN: set("grep rg ripgrep egrep regex regexp ag ack code".split()),
    Tool.WEB: set("web google bing duckduckgo brave tavily internet".split()),
}
_SELECT: Final = re.compile(r"\s*(?:select|with)\b.+\bfrom\b", re.IGNORECASE | re.DOTALL)
_COMMAND: Final = re.compile(r"(?<!\s)\s*(git\s+grep|[ef]?grep|rg|ag|ack)\s+(?=\S)")
_SCOPE: Final = re.compile(r"(?<!\S)(?:site|file|path|repo|lang|language|ext|filetype):\S+")
_EXCLUDED: Final = re.compile(r"(?<!\S)(?:NOT\s+|-(?=[\w\"])(?!\d)|!(?=\w))(?:\"[^\"]*\"|\S+)")
_MARKS: Final = re.compile(
    r"\b(?:AND|OR|NEAR(?:/\d+)?)\b|(?<![\w/:])[A-Za-z_]\w*(?::(?=[\w\"(])|\s+:\s)|,\s*\d+\)|[()*~^&|]|\+(?=\w)|\s\+\s"
)
_SEPARATORS: Final = re.compile(r"[-_./:\\]+|(?<=\d) (?=\d)")
_ACRONYM: Final = re.compile(r"[A-Z]{2,}s|[A-Z][a-z]*[A-Z]")  # LLMs, GmbH
_PATTERN_SIGN: Final = re.compile(
    r"\\[dswbDSWB][+*?]?|\[[^\]]{0,200}\][+*?]?|\.[*+?]|[(){}+?|^$*]|\\"
)
_LOOSE: Final = "[-_. /]*"
_RARE: Final = 290  # weight of a word that may be looked for alone
_TABLE: Final = re.compile(r"\bFROM\s+([\w.\"`]+)", re.IGNORECASE)
_DATED: Final = re.compile(
    r"(?<![\w.\"`])[\w.\"`]+\s*(?:\bBETWEEN\s*'\d{4}-[^']*'\s*AND|[<>]=?)\s*'\d{4}-[^']*'",
    re.IGNORECASE,
)
_CONDITION: Final = re.compile(
    r"(?<![\w.\"`])([\w.\"`]+)\)?\s*(?:=|\b(?:I?LIKE|GLOB)\b)\s*'((?:[^']|'')*)'", re.IGNORECASE
)


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
    return (
        command
        if re.search(r"\s-[a-zA-Z]*i|--ignore-case", command)
        else _COMMAND.sub(r"\1 -i ", command, count=1)
    )


def scopes(text: str) -> list[str]:
    """Return the parts of a text that say where to look, as they are written: `site:a.org`."""
    return _SCOPE.findall(text)


def without_operators(text: str) -> str:
    """Return the words that are asked for, without scopes, marks and what is excluded. Quoted parts stay."""
    line = " ".join(text.split())
    return (
        line
        if text.isupper()
        else " ".join(_MARKS.sub(" ", _EXCLUDED.sub(" ", _SCOPE.sub(" ", line))).split())
    )


def parts(term: str) -> tuple[str, ...]:
    """Return the words of `calculateShippingCost`, `pay-out` or `CONN_MAX_AGE`, as they are written."""
    words = _SEPARATORS.sub(" ", term).split()
    return tuple(
        part
        for word in words
        for part in ((word,) if _ACRONYM.fullmatch(word) else CAMEL.sub(" ", word).split())
    )


def is_identifier(term: str) -> bool:
    """Return True for a name of code, a path, a ticket, a version or a long number."""
    is_code = (
        len(term) > 3
        and term[-1].isdigit()
        and (term.startswith("0") or not term.isdigit() or len(term) > 6)
    )
    return " " not in term and (len(parts(term)) > 1 or is_code)


def variants(term: str) -> tuple[str, ...]:
    """Return other ways to write an identifier, the likeliest first. Numbers keep their digits."""
    words = [word.lower() for word in parts(term)]
    joined, spaced, snake = (sign.join(words) for sign in ("", " ", "_"))
    forms = [joined, spaced, snake] if "-" in term else [snake, spaced, " ".join(words[1:])]
    if ticket := re.fullmatch(r"([A-Za-z]{0,10})[-_ #]?(\d+)", term):
        prefix, number = ticket[1], ticket[2].lstrip("0") or "0"
        forms = [prefix + sign + number for sign in (" ", "-", "") if prefix] + [number]
    return tuple(dict.fromkeys(form for form in forms if form and form not in (term, term.lower())))


def loose_pattern(words: tuple[str, ...]) -> str:
    """Return a pattern that finds words in capitals or not, with any separators between them.

    Only bracket expressions and `*` are used, so basic, extended and Perl expressions read it alike.
    """
    marked = (re.sub(r"([^\w ])", r"[\1]", word) for word in words)
    return _LOOSE.join(
        re.sub("[a-zA-Z]", lambda sign: f"[{sign[0].lower()}{sign[0].upper()}]", word)
        for word in marked
    )


def pattern_rewrites(text: str, message: str) -> Iterator[str]:
    """Yield patterns for grep: identifiers as they are and however written, else all words; then a part of them."""
    # A pattern of an earlier plan begins with a bracket, and is loose already.
    every = [
        term
        for part in _PATTERN_SIGN.split(text)
        for term in terms(part)
        if len(term) > 2 and text[0] != "["
    ]
    named = sorted(filter(is_identifier, every), key=len, reverse=True)
    yield from named
    if not named and "|" not in text:
        yield ".*".join(loose_pattern((term.removesuffix("s"),)) for term in every)
        return
    for term in named or every:
        words, asked = parts(term.removesuffix("s")), tokens(message)
        said = (word for word in words if {word.lower(), f"{word}s".lower()} & {*asked})
        alone = tuple(word for word in said if weight(word) >= _RARE)[-1:]
        shorter = [words[1:], alone, words[:-1]] if len(words) > 2 else [alone]
        yield from map(loose_pattern, [words, *shorter])


def simple_statements(text: str, message: str) -> Iterator[str]:
    """Yield statements for the dates and what the `message` says of the first text, in any case, and for some rows.

    A letter that is not ASCII is any letter, since LOWER of many databases does not know it; so is an apostrophe.
    """
    table, condition = _TABLE.search(text), _CONDITION.search(text)
    words = re.findall(r"\w(?:[^\s%*/+()-]|'')*", condition[2]) if condition else []
    said = [word for word in words if not set(tokens(message)).isdisjoint(tokens(word))]
    dates = [match[0] for match in _DATED.finditer(text)]
    where = [dates]
    if condition and words:
        pattern = re.sub(r"[^\x00-\x7f]|''", "_", "%".join(said or words).lower())
        loose = f"LOWER({condition[1]}) LIKE '%{pattern}%'"
        where = [[loose, *dates], [loose]] if said or not dates else [dates, [loose]]
    if table:
        yield from (
            f"SELECT * FROM {table[1]} WHERE {' AND '.join(some)}"  # noqa: S608
            for some in where
            if some
        )
        yield f"SELECT * FROM {table[1]} LIMIT 20"  # noqa: S608
