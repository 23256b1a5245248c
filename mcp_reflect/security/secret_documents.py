"""Secrets that a whole document tells: the data of a Kubernetes Secret, and the columns of a statement of SQL."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security import secret_values as values
from mcp_reflect.security.secret_labels import kind_of_name
from mcp_reflect.security.secret_values import Secret

_MOST: Final = 100  # documents, statements or rows of one
_LONGEST_DOCUMENT: Final = 20_000  # characters on each side of the line that says its kind

_KIND: Final = lazy_compile(r"(?<![\w-])kind:[ \t]{1,4}[\"']?Secret[\"']?[ \t\r]*$", re.MULTILINE)
_JSON_KIND: Final = lazy_compile(r"\"kind\"[ \t]{0,3}:[ \t]{0,3}\"Secret\"")
_DATA: Final = lazy_compile(
    r"^(?P<indent>[ \t]{0,20})(?P<name>data|stringData):[ \t\r]{0,4}\n"
    r"(?P<lines>(?:(?P=indent)[ \t]{1,20}[^\n]{1,8000}(?:\n|\Z)){1,200})",
    re.MULTILINE,
)
_JSON_DATA: Final = lazy_compile(
    r"\"(?P<name>data|stringData)\"\s{0,8}:\s{0,8}\{(?P<lines>[^{}]{1,20000})\}"
)
_FIELD: Final = lazy_compile(
    r"^[ \t,]{0,40}[\"']?[\w.-]{1,80}[\"']?[ \t]?:[ \t]{1,8}(?P<quote>[\"']?)(?P<value>[^\s\"'|>][^\n\"']{3,8000}?)(?P=quote)"
    r"(?=[ \t\r,]{0,8}$)",
    re.MULTILINE,
)
_JSON_FIELD: Final = lazy_compile(
    r"\"[\w.-]{1,80}\"\s{0,8}:\s{0,8}\"(?P<value>[^\"\\\n]{4,8000})\""
)
_ENCODED: Final = lazy_compile(r"[A-Za-z0-9+/]{4,8000}={0,2}")


def documented_secrets(text: str, words: str) -> list[Secret]:
    """Return the secrets that the kind of a document tells; `words` has each run of letters of the text once."""
    found: list[Secret] = []
    if "kind" in words and "Secret" in text:
        found += _kubernetes_data(text)
    if "insert" in words and "values" in words:
        found += _inserted_values(text)
    return found


def _kubernetes_data(text: str) -> Iterator[Secret]:
    """Yield the values of a Secret: all of them are secret, whatever their names say."""
    for kind in islice(_KIND.finditer(text), _MOST):
        start = text.rfind("\n---", max(0, kind.start() - _LONGEST_DOCUMENT), kind.start())
        end = text.find("\n---", kind.end(), kind.end() + _LONGEST_DOCUMENT)
        first = max(start, kind.start() - _LONGEST_DOCUMENT, 0)
        last = kind.end() + _LONGEST_DOCUMENT if end < 0 else end
        yield from _fields_of(text, _DATA.finditer(text, first, last), _FIELD)
    for kind in islice(_JSON_KIND.finditer(text), _MOST):
        first = max(0, kind.start() - _LONGEST_DOCUMENT)
        blocks = _JSON_DATA.finditer(text, first, kind.end() + _LONGEST_DOCUMENT)
        yield from _fields_of(text, islice(blocks, 1), _JSON_FIELD)


def _fields_of(
    text: str, blocks: Iterator[re.Match[str]], form: re.Pattern[str]
) -> Iterator[Secret]:
    for block in blocks:
        for field in islice(form.finditer(text, *block.span("lines")), _MOST):
            value = field["value"]
            is_encoded = _ENCODED.fullmatch(value) and len(value) % 4 == 0
            if block["name"] == "data" and not is_encoded:
                continue
            if not values.is_placeholder(value):
                yield (*field.span("value"), "secret")


_INSERT: Final = lazy_compile(
    r"(?i)insert\s{1,4}into\s{1,4}[\w.\"`\[\]]{1,80}\s{0,4}\((?P<columns>[^()]{1,500})\)\s{0,8}values\s{0,8}"
)
_ROW: Final = lazy_compile(
    r"\((?P<items>(?:[^()'\n]|'(?:[^'\n]|''){0,500}'){1,2000})\)(?:\s{0,8},\s{0,8})?"
)
_ITEM: Final = lazy_compile(
    r"\s{0,8}(?:'(?P<value>(?:[^'\n]|''){0,500})'|[^,']{0,200})\s{0,8}(?:,|\Z)"
)


def _inserted_values(text: str) -> Iterator[Secret]:
    """Yield the values that an INSERT puts into a secret's column."""
    for statement in islice(_INSERT.finditer(text), _MOST):
        columns = [
            kind_of_name(column.strip(' \t\r\n"`[]')) for column in statement["columns"].split(",")
        ]
        if "password" not in columns and "key" not in columns:
            continue
        at = statement.end()
        for _ in range(_MOST):
            row = _ROW.match(text, at)
            if row is None:
                break
            at = row.end()
            yield from _of_columns(text, row, columns)


def _of_columns(text: str, row: re.Match[str], columns: list[str]) -> Iterator[Secret]:
    at, end = row.span("items")
    for column in columns:
        item = _ITEM.match(text, at, end)
        if item is None:
            return
        at = item.end()
        value = item["value"] or ""
        if column == "password" and len(value) >= 4 and values.is_own_word(value.replace(" ", "-")):
            yield (*item.span("value"), "password")
        elif column == "key" and values.random(value):
            yield (*item.span("value"), "secret")
