"""Secrets that stand in a call as one of its arguments: `setPassword("…")`, `getConnection(url, "ada", "…")`.

The table says which argument of which call is one. Only a text in quotes is cut: a variable's name is no secret.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
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


_ARGUMENT: Final = lazy_compile(
    r"(?:\w{1,40}[ \t]?[=:](?![=:])[ \t]?)?(?:(?P<prefix>[brfuNL@]{0,2})(?P<quote>[\"'`])"
    r"(?P<text>(?:[^\"'`\\\n]|\\[^\n]|(?!(?P=quote))[\"'`]){0,400})(?P=quote)"
    r"|(?P<other>(?:[^\"'`,()\n]|\([^\"'`()\n]{0,80}\)|\([ \t]?\"[^\"\n]{0,80}\"[ \t]?\)){1,200}))"
)
_NEXT: Final = lazy_compile(r"(?:\.\w{1,30}\(\))?[ \t\r\n]{0,40}(?P<sign>[,)])[ \t\r\n]{0,40}")


def called_secrets(text: str, folded: str, words: str) -> list[Secret]:
    """Return the secrets in the arguments of calls; the arguments are those of `placed_secrets`."""
    found: list[Secret] = []
    if "(" not in text:
        return found
    for run in _calls().keys() & set(words.split()):
        for name, rows in _calls()[run].items():
            found += _in_calls(text, folded, name, rows)
    return found


@cache
def _calls() -> dict[str, dict[str, dict[str, CallRow]]]:
    """Return the rows by the longest run of letters of a call, by its name, and by what stands before its dot.

    A name without a dot has the row of "", one with nothing before its dot that of ".": of any object.
    """
    calls: dict[str, dict[str, dict[str, CallRow]]] = {}
    for kind, check, argument, names in rows_of("secret_calls.txt"):
        for name in names.split():
            owner, dot, last = name.rpartition(".")
            run = max(_LETTERS.findall(last), key=len)
            rows = calls.setdefault(run, {}).setdefault(last, {})
            rows[owner or dot] = CallRow(kind, check, int(argument))
    return calls


_LETTERS: Final = lazy_compile("[a-z]+")
_OWNER: Final = lazy_compile(r"(?P<name>\w{0,40})(?:\(\))?(?:\.|->|::|\?\.)\Z")
_OPENS: Final = lazy_compile(r"!?\([ \t\r\n]{0,40}")


def _in_calls(text: str, folded: str, name: str, rows: Mapping[str, CallRow]) -> Iterator[Secret]:
    """Yield the secrets in each call of a name."""
    at = folded.find(name)
    for _ in range(_MOST):
        if at < 0:
            return
        end = at + len(name)
        opened = _OPENS.match(text, end)
        if opened:
            row = _row_of(folded, at, rows)
            yield from _of_call(text, opened.end(), row)
        at = folded.find(name, end)


def _row_of(folded: str, at: int, rows: Mapping[str, CallRow]) -> CallRow | None:
    """Return the row of the call whose name begins at a place: of its object, of the name alone, of any object."""
    if at and (folded[at - 1].isalnum() or folded[at - 1] in "_$"):
        return None
    owner = _OWNER.search(folded, max(0, at - 45), at)
    if owner is None:
        return rows.get("")
    return rows.get(owner["name"]) or rows.get("") or rows.get(".")


def _of_call(text: str, at: int, row: CallRow | None) -> Iterator[Secret]:
    if row is None:
        return
    span = _argument(text, at, row.argument)
    if span and _fits(text[slice(*span)], row):
        yield (*span, row.kind)


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
