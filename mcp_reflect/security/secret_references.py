"""Secrets that a script puts together of variables: what they hold is as secret as the whole."""

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security import secret_values as values
from mcp_reflect.security.secret_values import Secret, Span
from mcp_reflect.security.text_view import Change, View

_MOST: Final = 200  # references and assignments of a text
_AROUND: Final = 300  # characters on each side of a reference in which its use is read
_ASSIGNED: Final = lazy_compile(
    r"(?:^|[;&|({]|\bexport|\blocal|\benv|\bENV)[ \t]{0,8}(?P<name>[A-Za-z_]\w{0,60})=(?P<quote>[\"']?)"
    r"(?P<value>[^\s\"'`;&|$(){}]{6,400})(?P=quote)(?=[\s;&|)]|\Z)",
    re.MULTILINE,
)
_REFERENCE: Final = lazy_compile(
    r"\$(?:\{(?P<braced>[A-Za-z_]\w{0,60})\}|(?P<bare>[A-Za-z_]\w{0,60}))"
)


def referenced_secrets(text: str, find: Callable[[str], list[Secret]]) -> Iterator[Secret]:
    """Yield what variables hold that a secret is put together of, and the text between their references.

    Each reference is replaced by its value, and `find` reads the text around it.
    """
    if "$" not in text or "=" not in text:
        return
    references = [*islice(_REFERENCE.finditer(text), _MOST)]
    if not any(
        f"{name}=" in text for name in {found["braced"] or found["bare"] for found in references}
    ):
        return
    assigned = {
        found["name"]: found.span("value") for found in islice(_ASSIGNED.finditer(text), _MOST)
    }
    changes: list[Change] = []
    origins: list[Span] = []
    for reference in references:
        origin = assigned.get(reference["braced"] or reference["bare"])
        if origin is not None and values.is_password(text[slice(*origin)]):
            changes.append((*reference.span(), text[slice(*origin)]))
            origins.append(origin)
    for first, last in _neighbors(changes):
        yield from _secrets_in(text, changes[first:last], origins[first:last], find)


def _neighbors(changes: list[Change]) -> Iterator[tuple[int, int]]:
    """Yield the runs of references that stand near each other, as indexes."""
    first = 0
    for number in range(1, len(changes) + 1):
        is_last = number == len(changes)
        if is_last or changes[number][0] - changes[number - 1][1] > _AROUND:
            yield first, number
            first = number


def _secrets_in(
    text: str, changes: list[Change], origins: list[Span], find: Callable[[str], list[Secret]]
) -> Iterator[Secret]:
    start = text.rfind("\n", 0, max(0, changes[0][0] - _AROUND)) + 1
    end = min(len(text), changes[-1][1] + _AROUND)
    moved = [(first - start, last - start, value) for first, last, value in changes]
    view = View(text[start:end], moved)
    for first, last, kind in find(view.text):
        numbers = view.changes_in(first, last)
        if not numbers:
            continue
        for number in numbers:
            yield (*origins[number], kind)
        if view.crosses_a_change(first, last):
            begins, ends = view.span_in_text(first, last)
            yield (begins + start, ends + start, kind)
