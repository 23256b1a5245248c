"""Secrets that stand in a call as one of its arguments: `setPassword("…")`, `getConnection(url, "ada", "…")`.

The table says which argument of which call is one. Only a text in quotes is cut: a variable's name is no secret.
"""

from collections.abc import Callable
from functools import cache
from itertools import islice
from typing import Final, NamedTuple

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security import secret_values as values
from mcp_reflect.security.secret_tables import rows_of
from mcp_reflect.security.secret_values import Secret, Span

_MOST: Final = 2_000  # calls of a text that are looked up
_SHORTEST: Final = 4


class CallRow(NamedTuple):
    """A row of the table: the kind of the secret, the check of its value, the number of its argument from 1 on."""

    kind: str
    check: str
    argument: int


_CALL: Final = lazy_compile(
    r"(?<![\w.>-])(?P<name>\.?(?:[\w$]{1,40}(?:\.|->|::|\?\.|\(\)\.)){0,6}[A-Za-z_]\w{1,40})!?\([ \t\r\n]{0,40}"
)
_ARGUMENT: Final = lazy_compile(
    r"(?:\w{1,40}[ \t]?[=:](?![=:])[ \t]?)?(?:(?P<prefix>[brfuNL@]{0,2})(?P<quote>[\"'`])"
    r"(?P<text>(?:[^\"'`\\\n]|\\[^\n]|(?!(?P=quote))[\"'`]){0,400})(?P=quote)"
    r"|(?P<other>(?:[^\"'`,()\n]|\([^\"'`()\n]{0,80}\)|\([ \t]?\"[^\"\n]{0,80}\"[ \t]?\)){1,200}))"
)
_NEXT: Final = lazy_compile(r"(?:\.\w{1,30}\(\))?[ \t\r\n]{0,40}(?P<sign>[,)])[ \t\r\n]{0,40}")


def called_secrets(text: str, words: str) -> list[Secret]:
    """Return the secrets in the arguments of calls; `words` has each run of letters of the text once."""
    found: list[Secret] = []
    if "(" not in text or not _last_words() & set(words.split()):
        return found
    for call in islice(_CALL.finditer(text), _MOST):
        row = _row_of(call["name"])
        if row is None:
            continue
        span = _argument(text, call.end(), row.argument)
        if span and _fits(text[slice(*span)], row):
            found.append((*span, row.kind))
    return found


@cache
def _rows() -> dict[str, CallRow]:
    rows: dict[str, CallRow] = {}
    for kind, check, argument, names in rows_of("secret_calls.txt"):
        row = CallRow(kind, check, int(argument))
        rows.update(dict.fromkeys(names.split(), row))
    return rows


@cache
def _last_words() -> frozenset[str]:
    """Return a run of letters of each name, one of which a text with such a call has."""
    return frozenset(max(_LETTERS.findall(name), key=len) for name in _rows())


_LETTERS: Final = lazy_compile("[a-z]+")
_JOINTS: Final = lazy_compile(r"->|::|\?\.|\(\)\.")


def _row_of(name: str) -> CallRow | None:
    """Return the row of a call: of its last two names, or of the last one; a name with a dot is that of a method."""
    parts = _JOINTS.sub(".", name.lower()).split(".")
    rows = _rows()
    row = rows.get(".".join(parts[-2:])) or rows.get(parts[-1])
    if row is None and len(parts) > 1:
        return rows.get(f".{parts[-1]}")
    return row


def _argument(text: str, at: int, number: int) -> Span | None:
    """Return where the text of an argument stands; None for one that is no text."""
    for place in range(1, number + 1):
        argument = _ARGUMENT.match(text, at)
        if argument is None:
            return None
        following = _NEXT.match(text, argument.end())
        if following is None:
            return None
        if place == number and argument["quote"]:
            return argument.span("text")
        if place == number or following["sign"] != ",":
            return None
        at = following.end()
    return None


def _is_typed(value: str) -> bool:
    """True for one word that somebody chose, or a phrase, and no name of a field or remark of a test."""
    if " " in value:
        return values.is_phrase(value, may_have_glue=False)
    return values.is_own_word(value) or (value.isdigit() and len(value) > _SHORTEST)


_CHECKS: Final[dict[str, Callable[[str], bool]]] = {
    "word": _is_typed,
    "drawn": values.drawn,
    "random": values.random,
}


def _fits(value: str, row: CallRow) -> bool:
    return len(value) >= _SHORTEST and _CHECKS[row.check](value)
