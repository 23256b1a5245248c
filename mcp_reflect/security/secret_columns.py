"""Secrets in the column of a table whose head names them: of Markdown, of CSV, of what a database printed."""

from collections.abc import Iterator, Sequence
from typing import Final

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.security import secret_values as values
from mcp_reflect.security.secret_labels import kind_of_name
from mcp_reflect.security.secret_tables import words_of
from mcp_reflect.security.secret_values import Secret, Span

_MOST_HEADS: Final = 500
_MOST_ROWS: Final = 200
_SHORTEST: Final = 4
_HEAD_CELL: Final = lazy_compile(r"[\w @#*\"'`/()-]{0,40}\Z")
_BETWEEN_CELLS: Final = lazy_compile(r"[|,;\t]")
_MOST_CELLS: Final = 13
_SIGNS: Final = "|\t;,"
_WORD: Final = lazy_compile(r"[\w-]+")
_RULE: Final = lazy_compile(r"[ \t|+:-]{3,400}\r?\n")
_RUNS: Final = ("pass", "pwd", "senha", "contrase", "kennwort")  # one stands in a password's name
_LONGEST_HEAD: Final = 400


def column_secrets(text: str, folded: str, words: str) -> list[Secret]:
    """Return the secrets in a column of a table, beside one that says whose they are."""
    found: list[Secret] = []
    if "\n" not in text:
        return found
    for run in _RUNS:
        if run in words:
            found += _under_heads(text, folded, run)
    return found


def _under_heads(text: str, folded: str, run: str) -> Iterator[Secret]:
    """Yield the secrets under the lines that have a run of letters in a cell."""
    at = folded.find(run)
    for _ in range(_MOST_HEADS):
        if at < 0:
            return
        start = text.rfind("\n", max(0, at - _LONGEST_HEAD), at) + 1
        end = text.find("\n", at, start + _LONGEST_HEAD)
        if end > 0:
            yield from _under_head(text, start, end)
        at = folded.find(run, max(end, at + len(run)))


def _under_head(text: str, start: int, end: int) -> Iterator[Secret]:
    start = _without_words_before(text, start, end)
    line = text[start:end]
    sign = next((sign for sign in _SIGNS if sign in line), "")
    if not sign or not _is_head(line):
        return
    names = [text[slice(*cell)] for cell in _cells_of(text, start, end, sign)]
    kinds = [kind_of_name(name) for name in names]
    if "password" in kinds and any(map(_is_whose, names)):
        for first, last in _cells(text, end + 1, sign, kinds):
            yield (first, last, "password")


def _without_words_before(text: str, start: int, end: int) -> int:
    """Return where the head of a table begins behind words on its line: `Never do this: | user | password |`."""
    has_bar_below = text.startswith("|", end + 1)
    bar = text.find("|", start, end)
    return bar if has_bar_below and bar > 0 else start


def _is_head(line: str) -> bool:
    """Return whether a line can be the head of a table: two to thirteen short cells of words, none of them missing.

    Cells are split before they are compared: one pattern for the whole line would try each division of its blanks.
    """
    cells = _BETWEEN_CELLS.split(line.strip(" \t|\r"))
    if not 2 <= len(cells) <= _MOST_CELLS or not all(cells):
        return False
    return all(_HEAD_CELL.match(cell.strip(" \t")) for cell in cells)


def _is_whose(name: str) -> bool:
    return any(
        word in words_of("secret_words.txt", "whose") for word in _WORD.findall(name.lower())
    )


def _cells(text: str, at: int, sign: str, kinds: Sequence[str]) -> Iterator[Span]:
    """Yield the cells under the names of passwords, while rows have as many cells as the head."""
    if rule := _RULE.match(text, at):
        at = rule.end()
    for _ in range(_MOST_ROWS):
        end = text.find("\n", at)
        if end < 0:
            end = len(text)
        cells = _cells_of(text, at, end, sign)
        if sign == "|" and len(cells) == len(kinds) + 1:
            del cells[-1]  # words behind the table
        if len(cells) != len(kinds):
            return
        for kind, (start, stop) in zip(kinds, cells, strict=True):
            if kind == "password" and _is_given(text[start:stop]):
                yield start, stop
        at = end + 1


def _cells_of(text: str, at: int, end: int, sign: str) -> list[Span]:
    """Return where the cells of a row stand, without their blanks, quotes and marks."""
    cells: list[Span] = []
    row = text[at:end].rstrip()
    if sign == "|":
        indent = len(row) - len(row.lstrip(" \t").removeprefix("|"))
        row, at = row[indent:].removesuffix("|"), at + indent
    for cell in row.split(sign):
        inner = cell.strip(" \t*`\"'")
        start = at + cell.find(inner)
        cells.append((start, start + len(inner)))
        at += len(cell) + 1
    return cells


def _is_given(value: str) -> bool:
    if len(value) < _SHORTEST or len(value) > 200:
        return False
    if " " in value:
        return values.is_phrase(value, may_have_glue=False)
    if values.is_own_word(value) or values.is_dotted_word(value):
        return True
    return value.isdigit() and len(value) > _SHORTEST
