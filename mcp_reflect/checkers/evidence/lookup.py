"""Which rows and columns of the results a text speaks of."""

import re
from collections import Counter
from typing import Final, NamedTuple

from mcp_reflect.checkers.evidence.judgements import PLAIN, Evidence
from mcp_reflect.checkers.evidence.rows import SUMMED, Cell, Figure, Row, stem, stems, unit_of, words_of

GENERIC: Final = stems("time way thing part place case other more new number value result run day step return")
COMMON: Final = stems(
    "test file line error warning issue problem package item second minute commit step byte row user order"
)
"""Nouns of many texts: they label a number only together with a word of its line beside it, as in "files changed"."""
NONE: Final = frozenset[str]()
_LISTED: Final = 7
"""A line with fewer words is an entry of a list, named by its first and last word."""
_IN_PARTS: Final = re.compile(r"(?<![\w/])\.{0,2}/([\w./-]*\w)|([A-Za-z][\w-]*[._/-][\w./-]*\w)")
_TOKEN: Final = re.compile(r"[^\W\d_][\w./@-]*[^\W_]|[^\W\d_]")


class Fact(NamedTuple):
    """A cell with a number, and its row."""

    figure: Figure
    cell: Cell
    row: Row


def facts(evidence: Evidence) -> list[Fact]:
    """Return the numbers of all rows, true and false apart."""
    return [fact for row in evidence.rows for fact in facts_of(row)]


def facts_of(row: Row) -> list[Fact]:
    return [Fact(cell.figure, cell, row) for cell in row.cells if cell.figure and cell.figure.kind != "flag"]


def is_entry(row: Row) -> bool:
    """False for a line that names no thing, as the sum of a listing does not."""
    return not row.free or bool(_IN_PARTS.search(row.line)) or any(len(word) > 1 for word in row.words - PLAIN)


def columns(evidence: Evidence) -> list[list[Fact]]:
    """Return the numbers that differ in several rows: of one label, or of one place in lines alike.

    Rows that sum up are left out, and lines that nothing names.
    """
    found: dict[object, list[Fact]] = {}
    for row in evidence.rows:
        if not row.words & SUMMED and is_entry(row):
            for place, fact in enumerate(facts_of(row)):
                label = (
                    (row.table, place) if row.free else (row.table, fact.cell.label, fact.cell.noun, fact.figure.kind)
                )
                found.setdefault(label, []).append(fact)
    return [column for column in found.values() if len({fact.figure.value for fact in column}) > 1]


def keys(evidence: Evidence) -> list[tuple[Row, frozenset[str], frozenset[str]]]:
    """Return each row of a table of several with the words that name it, first the sure ones, then all.

    They stand in a column without numbers (or the first one) in which no value stands twice.
    """
    tables: dict[object, list[Row]] = {}
    forms = Counter(row.table for row in evidence.rows)
    for row in evidence.rows:  # lines of a form of their own are compared with each other
        tables.setdefault("lines" if row.free and forms[row.table] == 1 else row.table, []).append(row)
    found: list[tuple[Row, frozenset[str], frozenset[str]]] = []
    for table in tables.values():
        values = Counter((cell.label, cell.text) for row in table for cell in row.cells)
        twice = {label for (label, _), count in values.items() if count > 1}
        names = [_names(row, twice) for row in table]
        seen = Counter(name for _, every in names for name in every)
        once = {name for name, count in seen.items() if count == 1}
        pairs = zip(table, names, strict=True) if len(table) > 1 else ()
        alike = forms[table[0].table] > 1
        found += [(row, sure & once if alike else NONE, every & once) for row, (sure, every) in pairs if every & once]
    return found


def _names(row: Row, twice: set[frozenset[str]]) -> tuple[frozenset[str], frozenset[str]]:
    if not row.free:
        cells = [
            c
            for c in row.cells
            if c.label not in twice and (c.figure is None or (c is row.cells[0] and c.text.isdecimal()))
        ]
        names = words_of(" ".join(cell.text for cell in cells)) - COMMON - GENERIC
        return names, names
    # A line without columns is named by names in parts, such as a path; an entry of a list also by its ends.
    parts = parts_of(row.line)
    tokens = _TOKEN.findall(row.line)
    sure = frozenset(stem(part) for part in parts)
    ends = {tokens[0], tokens[-1]} if tokens and len(tokens) < _LISTED else set[str]()
    entries = stems(" ".join(end for end in ends if not unit_of(end)[0])) - PLAIN - COMMON - GENERIC
    return sure, sure | stems(" ".join(parts)) | entries


def parts_of(text: str) -> list[str]:
    """Return the names in parts in a text, such as paths and names with an underscore."""
    return [path or name for path, name in _IN_PARTS.findall(text)]


def named(text: str, evidence: Evidence, *, sure: bool = True) -> list[Row]:
    """Return the rows that a text names by a word that only they have in their table."""
    words = words_of(text)
    return [row for row, *names in evidence.once(keys) if names[not sure] & words]
