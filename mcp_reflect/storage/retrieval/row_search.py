"""The rows of the index that share terms with a question: FTS5 finds them, the rarest terms first."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, combinations
from typing import Final

from mcp_reflect.models.common import GLOBAL, Scope
from mcp_reflect.storage.repository import Reading
from mcp_reflect.storage.retrieval.index import scope_number, scoped_terms

BUDGET: Final = 400
"""Postings that are read for a question in one scope: those of its rarest terms."""

_COMMON_TERMS: Final = 4
"""Terms beyond the budget, the rarest of them, that are combined in pairs."""


class TermCounts:
    """The size of a scope with its global lessons, and how many rows hold a term."""

    def __init__(self, reading: Reading, scope: Scope) -> None:
        """Read the sizes; `look_up` reads the counts of terms."""
        self.reading = reading
        scopes = [scope_number(scope), scope_number(Scope(scope.tenant, GLOBAL))]
        sizes = [row for row in reading.rows("index_sizes", {"scopes": scopes}) if row["rows"]]
        self.numbers: list[int] = [row["scope"] for row in sizes]
        self.size: int = sum(row["rows"] for row in sizes)
        self.average = 0.0
        if self.size:
            self.average = sum(row["length"] for row in sizes) / self.size
        self.by_scope: dict[int, dict[str, int]] = {number: {} for number in self.numbers}

    def look_up(self, terms: Sequence[str]) -> dict[str, int]:
        """Return how many rows hold each of these terms, in the scope and among the global lessons."""
        total = dict.fromkeys(terms, 0)
        counts = self.reading.rows("index_terms", {"scopes": self.numbers, "terms": terms})
        for scope, term, rows in counts:
            self.by_scope[scope][term] = rows
            total[term] += rows
        return total

    def newest(self, scope: int, groups: Iterable[Iterable[str]], most: int) -> list[int]:
        """Return the newest rows of a scope that hold a term of each group."""
        match = self.reading.matching([scoped_terms(scope, group) for group in groups])
        rows = self.reading.rows("index_search", {"match": match, "limit": most})
        return [row["row"] for row in rows]


def find_rows(
    counts: TermCounts,
    weights: Mapping[str, float],
    limit: int,
    groups: Sequence[Sequence[str]] = (),
) -> list[int]:
    """Return at most `limit` rows that share most of the weight of these terms, the heaviest and newest first.

    A row must have a term of each of the `groups`, such as the mark of a wanted kind. The terms must have been looked
    up in `counts`. The rarest are read first, as far as BUDGET goes. Common ones are read only where the rare ones find
    too few rows, and then in pairs before each alone: a common term alone finds the newest rows of a bank, whatever
    they are about.
    """
    shared: dict[int, float] = {}
    for scope, rows_of_term in counts.by_scope.items():
        known = weights.keys() & rows_of_term.keys()
        rarest_first = sorted(known, key=lambda term: (rows_of_term[term], term))
        affordable = _affordable([rows_of_term[term] for term in rarest_first])
        for term in rarest_first[:affordable]:
            for row in counts.newest(scope, ((term,), *groups), BUDGET):
                shared[row] = shared.get(row, 0.0) + weights[term]
        if len(shared) >= limit:
            continue
        common = rarest_first[affordable:][:_COMMON_TERMS]
        for terms in chain(combinations(common, 2), combinations(common, 1)):
            weight = sum(weights[term] for term in terms)
            each_of_them = [(term,) for term in terms]
            for row in counts.newest(scope, (*each_of_them, *groups), limit):
                shared[row] = max(shared.get(row, 0.0), weight)
    return sorted(shared, key=lambda row: (-shared[row], -row))[:limit]


def _affordable(rows_of_terms: Sequence[int]) -> int:
    """Return how many of some terms, the rarest first, may be read: their rows together are within the budget.

    Of terms with 5, 100 and 300 rows the first two are, where the budget is 400.
    """
    left = BUDGET
    for place, rows in enumerate(rows_of_terms):
        left -= rows
        if left < 0:
            return place
    return len(rows_of_terms)
