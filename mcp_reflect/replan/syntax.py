"""How the caller's tool reads a query: as words, a web search, a pattern, a command line, or an SQL statement."""

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
    r"\b(?:AND|OR|NEAR(?:/\d+)?)\b|(?<![\w/:])[A-Za-z_]\w*(?::(?=[\w\"(])|\s+:\s)|,\s*\d+\)"
    r"|[()*~^&|]|\+(?=\w)|\s\+\s"
)
_SEPARATORS: Final = re.compile(r"[-_./:\\]+|(?<=\d) (?=\d)")
_ACRONYM: Final = re.compile(r"[A-Z]{2,}s|[A-Z][a-z]*[A-Z]")  # LLMs, GmbH
_PATTERN_SIGN: Final = re.compile(
    r"\\[dswbDSWB][+*?]?|\[[^\]]{0,200}\][+*?]?|\.[*+?]|[(){}+?|^$*]|\\"
)
_LOOSE: Final = "[-_. /]*"
_RARE: Final = 290  # weight of a word that may be looked for alone
_SHORTEST_TERM: Final = 3  # letters of a term of a pattern that is looked for
_SHORTEST_CODE: Final = 4  # characters
_LONGEST_COUNT: Final = 6  # digits of a year or a count
_TICKET: Final = re.compile(r"([A-Za-z]{0,10})[-_ #]?(\d+)")
_WORD_OF_VALUE: Final = re.compile(r"\w(?:[^\s%*/+()-]|'')*")
_TABLE: Final = re.compile(r"\bFROM\s+([\w.\"`]+)", re.IGNORECASE)
_DATED: Final = re.compile(
    r"(?<![\w.\"`])[\w.\"`]+\s*(?:\bBETWEEN\s*'\d{4}-[^']*'\s*AND|[<>]=?)\s*'\d{4}-[^']*'",
    re.IGNORECASE,
)
_CONDITION: Final = re.compile(
    r"(?<![\w.\"`])([\w.\"`]+)\)?\s*(?:=|\b(?:I?LIKE|GLOB)\b)\s*'((?:[^']|'')*)'", re.IGNORECASE
)


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


def loose_pattern(words: tuple[str, ...]) -> str:
    """Return a pattern that finds words in capitals or not, with any separators between them.

    `("pay", "out")` gives `[pP][aA][yY][-_. /]*[oO][uU][tT]`: only bracket expressions and `*` are used, so that basic,
    extended and Perl expressions read it alike.
    """
    return _LOOSE.join(_in_any_case(word) for word in words)


def _in_any_case(word: str) -> str:
    """A pattern for a word in capitals or not; other signs than letters and digits stand for themselves."""
    marked = re.sub(r"([^\w ])", r"[\1]", word)
    return re.sub("[a-zA-Z]", lambda letter: f"[{letter[0].lower()}{letter[0].upper()}]", marked)


def pattern_rewrites(text: str, message: str) -> Iterator[str]:
    """Yield patterns for grep in place of a failed one, the likeliest first.

    | the pattern                      | gives                                                                     |
    |----------------------------------|---------------------------------------------------------------------------|
    | has identifiers (`getPayOut`)    | each as it is, then however written, and without its first or last word   |
    | has words alone (`pay out`)      | the words in this order, with anything between them                       |
    | has words as choices (`pay|out`) | each word however written                                                 |
    """
    searched = _terms_of_pattern(text)
    identifiers = sorted(filter(is_identifier, searched), key=len, reverse=True)
    yield from identifiers
    if not identifiers and "|" not in text:
        yield ".*".join(loose_pattern((term.removesuffix("s"),)) for term in searched)
        return
    for term in identifiers or searched:
        words = parts(term.removesuffix("s"))
        yield loose_pattern(words)
        if len(words) > 2:
            yield loose_pattern(words[1:])
        yield loose_pattern(_word_to_search_alone(words, message))
        if len(words) > 2:
            yield loose_pattern(words[:-1])


def _terms_of_pattern(text: str) -> list[str]:
    """Return the terms between the signs of a pattern that are long enough to be looked for.

    There are none in a pattern that an earlier plan made: it begins with a bracket, as `loose_pattern` writes it,
    and is as loose as it can be.
    """
    if text.startswith("["):
        return []
    searched: list[str] = []
    for part in _PATTERN_SIGN.split(text):
        searched += [term for term in terms(part) if len(term) >= _SHORTEST_TERM]
    return searched


def _word_to_search_alone(words: tuple[str, ...], message: str) -> tuple[str, ...]:
    """The last of the words that the person said and that is rare, as a tuple of one; empty if there is none.

    Any other word of an identifier alone would be found everywhere.
    """
    asked = set(tokens(message))
    for word in reversed(words):
        is_asked = word.lower() in asked or f"{word}s".lower() in asked
        if is_asked and weight(word) >= _RARE:
            return (word,)
    return ()


def simple_statements(text: str, message: str) -> Iterator[str]:
    """Yield SQL statements with fewer conditions than the failed one, and at last one for some rows of its table.

    `SELECT id FROM t WHERE name = 'Red Bikes' AND day > '2024-01-01'` gives
    `SELECT * FROM t WHERE LOWER(name) LIKE '%red%bikes%' AND day > '2024-01-01'`, where the person's message has both
    words; then the same without the date; then `SELECT * FROM t LIMIT 20`.
    """
    table_match = _TABLE.search(text)
    if table_match is None:
        return
    for conditions in _simpler_conditions(text, message):
        if conditions:
            yield f"SELECT * FROM {table_match[1]} WHERE {' AND '.join(conditions)}"  # noqa: S608
    yield f"SELECT * FROM {table_match[1]} LIMIT 20"  # noqa: S608


def _simpler_conditions(text: str, message: str) -> list[list[str]]:
    """The conditions of each statement, on the dates and on the words of the first text condition.

    | the statement                              | first            | then         |
    |--------------------------------------------|------------------|--------------|
    | has no text condition                      | the dates        |              |
    | has dates, and words that nobody asked for | the dates        | the words    |
    | any other                                  | words and dates  | the words    |

    Words that the person's message lacks are a guess of the caller, so that the dates are surer.
    """
    dates = [match[0] for match in _DATED.finditer(text)]
    text_condition = _CONDITION.search(text)
    words = _WORD_OF_VALUE.findall(text_condition[2]) if text_condition else []
    if text_condition is None or not words:
        return [dates]
    asked = set(tokens(message))
    words_of_message = [word for word in words if not asked.isdisjoint(tokens(word))]
    loose_condition = _like(text_condition[1], words_of_message or words)
    if dates and not words_of_message:
        return [dates, [loose_condition]]
    return [[loose_condition, *dates], [loose_condition]]


def _like(column: str, words: list[str]) -> str:
    """A condition that finds the words in their order, in any case: `LOWER(name) LIKE '%red%bikes%'`.

    An umlaut or another letter that is not ASCII stands for any letter (`_`), since LOWER of many databases leaves it as
    it is; so does an apostrophe.
    """
    pattern = re.sub(r"[^\x00-\x7f]|''", "_", "%".join(words).lower())
    return f"LOWER({column}) LIKE '%{pattern}%'"
