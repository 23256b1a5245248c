"""How the caller's tool reads a query: its kind, the operators in its text, and the identifiers of code."""

import re
from enum import StrEnum
from typing import Final

from mcp_reflect.models.search import Query
from mcp_reflect.patterns import CAMEL
from mcp_reflect.replan.words import tokens


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
    r"\b(?:AND|OR|NEAR(?:/\d+)?)\b|(?<![\w/:])[A-Za-z_]\w*(?::(?=[\w\"(])|\s+:\s)|,\s*\d+\)"
    r"|[()*~^&|]|\+(?=\w)|\s\+\s"
)
_SEPARATORS: Final = re.compile(r"[-_./:\\]+|(?<=\d) (?=\d)")
_ACRONYM: Final = re.compile(r"[A-Z]{2,}s|[A-Z][a-z]*[A-Z]")  # LLMs, GmbH
_SHORTEST_CODE: Final = 4  # characters
_LONGEST_COUNT: Final = 6  # digits of a year or a count
_TICKET: Final = re.compile(r"([A-Za-z]{0,10})[-_ #]?(\d+)")


def tool_of(query: Query) -> Tool:
    """Return the kind of tool that a query was written for; the first row that fits decides.

    | the query                                               | kind          |
    |---------------------------------------------------------|---------------|
    | its text is a SELECT                                    | SQL           |
    | its text begins with grep, rg or the like               | COMMAND       |
    | its mode, tool or table is named for one (`code`, `web`) | PATTERN, WEB |
    | its text has `site:`                                    | WEB           |
    | any other                                               | TEXT          |
    """
    if _SELECT.match(query.query_text):
        return Tool.SQL
    if _COMMAND.match(query.query_text):
        return Tool.COMMAND
    named = tokens(CAMEL.sub(" ", f"{query.search_mode} {query.tool} {query.table}"))
    for word in named:
        for tool, names in _NAMES.items():
            if word in names:
                return tool
    if "site:" in query.query_text:
        return Tool.WEB
    return Tool.TEXT


def ignoring_case(command: str) -> str:
    """Return a command line of grep or the like with `-i`; other changes are the caller's, who knows the folders."""
    if re.search(r"\s-[a-zA-Z]*i|--ignore-case", command):
        return command
    return _COMMAND.sub(r"\1 -i ", command, count=1)


def scopes(text: str) -> list[str]:
    """Return the parts of a text that say where to look, as they are written: `site:a.org`."""
    return _SCOPE.findall(text)


def without_operators(text: str) -> str:
    """Return the words that a search asks for, without the operators of its tool.

    Those are scopes (`site:a.org`), marks (`AND`, `*`, a field's name before a colon) and what is excluded
    (`-word`). Quoted parts stay. In a text all in capitals, an `AND` may be a word as well: it stays as it is.
    """
    line = " ".join(text.split())
    if text.isupper():
        return line
    for pattern in (_SCOPE, _EXCLUDED, _MARKS):
        line = pattern.sub(" ", line)
    return " ".join(line.split())


def parts(term: str) -> tuple[str, ...]:
    """Return the words of `calculateShippingCost`, `pay-out` or `CONN_MAX_AGE`, as they are written."""
    words: list[str] = []
    for word in _SEPARATORS.sub(" ", term).split():
        if _ACRONYM.fullmatch(word):
            words.append(word)
        else:
            words += CAMEL.sub(" ", word).split()
    return tuple(words)


def is_identifier(term: str) -> bool:
    """Return True for a name of code, a path, a ticket, a version or a long number."""
    if " " in term:
        return False
    return len(parts(term)) > 1 or _is_code(term)


def _is_code(term: str) -> bool:
    """True for a name with a number at its end (`GPT4`), and for a number too long for a year or a count (`4007001`)."""
    if len(term) < _SHORTEST_CODE or not term[-1].isdigit():
        return False
    return not term.isdigit() or term.startswith("0") or len(term) > _LONGEST_COUNT


def variants(term: str) -> tuple[str, ...]:
    """Return other ways to write an identifier, the likeliest first.

    `payOut` gives `pay_out`, `pay out`, `out`, and `ABC-012` gives `ABC 12`, `ABC-12`, `ABC12`, `12`.
    """
    ticket = _TICKET.fullmatch(term)
    forms = _forms_of_ticket(ticket) if ticket else _forms_of_name(term)
    others = (form for form in forms if form and form not in (term, term.lower()))
    return tuple(dict.fromkeys(others))


def _forms_of_ticket(ticket: re.Match[str]) -> list[str]:
    """A ticket with other separators before its number, and the number alone: `ABC 12`, `ABC-12`, `ABC12`, `12`."""
    prefix = ticket[1]
    number = ticket[2].lstrip("0") or "0"
    if not prefix:
        return [number]
    return [f"{prefix} {number}", f"{prefix}-{number}", f"{prefix}{number}", number]


def _forms_of_name(term: str) -> list[str]:
    """A name with other separators between its words, the likeliest first.

    `pay-out` gives `payout`, `pay out`, `pay_out`: a name with hyphens is seldom one of code. `payOut` gives `pay_out`,
    `pay out`, and `out` alone.
    """
    words = [word.lower() for word in parts(term)]
    snake_case = "_".join(words)
    if "-" in term:
        return ["".join(words), " ".join(words), snake_case]
    return [snake_case, " ".join(words), " ".join(words[1:])]
