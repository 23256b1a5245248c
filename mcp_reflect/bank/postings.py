"""The first look: which rows share the telling terms of a question, within a budget of postings.

Common words must not cost: terms are read from the rarest on until the budget is spent. Of what is left,
SQLite intersects the lists itself and hands over only what they have in common.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Final

from mcp_reflect.bank.features import posting
from mcp_reflect.bank.sqlite.database import Reading

# Postings read whole: a tenth of a scope's rows, within these bounds; each costs some 250 ns.
LEAST_BUDGET: Final = 3_000
MOST_BUDGET: Final = 6_000
COMMON_TERMS: Final = 3  # of the terms beyond the budget, the rarest so many are intersected with those read
SCANNED: Final = 60_000  # postings that SQLite may go over for that: some 100 ns each
PAIRED_TERMS: Final = 3  # where what was read tells too little, so many common terms are taken in pairs
ENOUGH: Final = 0.5  # part of the question's weight that the terms read should have


def gather(
    reading: Reading,
    number: int,
    weights: Mapping[str, float],
    found: Mapping[str, int],
    size: int,
    within: Sequence[Sequence[str]] = (),
) -> dict[int, float]:
    """Rows of a scope with the summed weight of the terms that they are known to share.

    `found` is how many of the scope's `size` rows hold each term; `within` are groups of marks, of each
    of which a row must have one.
    """
    budget = max(LEAST_BUDGET, min(size // 10, MOST_BUDGET))
    terms = sorted((term for term in weights if found.get(term)), key=lambda term: (found[term], term))
    must = [any_of(number, marks) for marks in within]
    rows: dict[int, float] = {}
    read: list[str] = []
    for term in terms:
        if found[term] > budget:
            break
        budget -= found[term]
        read.append(term)
        _add(rows, reading, [any_of(number, [term]), *must], weights[term], -1)
    common = terms[len(read) :]
    _intersect(rows, reading, number, read, common, weights, found, must)
    if sum(weights[term] for term in read) < ENOUGH * sum(weights[term] for term in terms):
        _pair(rows, reading, number, common[:PAIRED_TERMS], weights, must)
    if not rows and common:
        newest = {"match": _all([any_of(number, common[:1]), *must]), "limit": LEAST_BUDGET // 2}
        rows = dict.fromkeys(reading.numbers("index_newest", newest), weights[common[0]])
    return rows


def heaviest(rows: Mapping[int, float], limit: int) -> list[int]:
    """The rows that share most; where it is the same, those with the rarer terms, which were read first."""
    return sorted(rows, key=rows.__getitem__, reverse=True)[:limit]


def _intersect(
    rows: dict[int, float],
    reading: Reading,
    number: int,
    read: Sequence[str],
    common: Sequence[str],
    weights: Mapping[str, float],
    found: Mapping[str, int],
    must: Sequence[str],
) -> None:
    """Give the rows found so far the weight of the common terms that they hold too."""
    left = SCANNED
    for term in common[:COMMON_TERMS] if read else ():
        left -= found[term]
        if left < 0:
            return
        _add(rows, reading, [any_of(number, [term]), any_of(number, read), *must], weights[term], -1)


def _pair(
    rows: dict[int, float],
    reading: Reading,
    number: int,
    common: Sequence[str],
    weights: Mapping[str, float],
    must: Sequence[str],
) -> None:
    """Rows that hold two common terms and none of the rare ones; one with three counts all three."""
    more: dict[int, float] = {}
    for one, other in combinations(common, 2):
        match = [any_of(number, [one]), any_of(number, [other]), *must]
        _add(more, reading, match, (weights[one] + weights[other]) / 2, LEAST_BUDGET)
    for row, weight in more.items():
        rows.setdefault(row, weight)


def _add(rows: dict[int, float], reading: Reading, match: Sequence[str], weight: float, limit: int) -> None:
    for row in reading.numbers("index_postings", {"match": _all(match), "limit": limit}):
        rows[row] = rows.get(row, 0.0) + weight


def any_of(number: int, terms: Sequence[str]) -> str:
    """An FTS5 expression for any of some terms; they hold letters, digits and `_`, so none is read as syntax."""
    return "(" + " OR ".join(f'"{posting(number, term)}"' for term in terms) + ")"


def _all(expressions: Sequence[str]) -> str:
    return " AND ".join(expressions)
