"""Which lessons could be meant: the one function that ranking, merging and warnings take their rows from."""

import json
import math
from dataclasses import dataclass
from typing import Any, Final, Protocol, cast

from mcp_reflect.bank.sqlite.rows import Row, lesson_from, scope_values
from mcp_reflect.bank.words import match_any, quoted, telling_terms
from mcp_reflect.records.lesson import Kind, Lesson
from mcp_reflect.records.scope import Scope

# A term is counted no further than this: beyond it, it tells little, and counting costs.
MOST_COUNTED: Final = 2000


class Reader(Protocol):
    """The database, or a transaction of it."""

    async def rows(self, name: str, values: dict[str, Any]) -> list[Row]: ...


@dataclass(frozen=True, slots=True)
class Candidate:
    """A lesson that shares words with the question.

    `fit` is its BM25 score relative to the best candidate's, `share` the part of the question's weight
    (inverse document frequency) that its words cover; both in 0..1. `terms` are the words shared,
    the most telling first.
    """

    lesson: Lesson
    fit: float
    share: float
    terms: tuple[str, ...]


async def candidates(reader: Reader, scope: Scope, text: str, kinds: tuple[Kind, ...], limit: int) -> list[Candidate]:
    """The active lessons of a scope, and global ones, that share telling words with `text`, best first."""
    terms = telling_terms(text)
    if not terms:
        return []
    found = await reader.rows(
        "search_candidates",
        {"match": match_any(terms), "kinds": [kind.value for kind in kinds], "limit": limit, **scope_values(scope)},
    )
    if not found:
        return []
    best = max(-row["bm25"] for row in found)
    weights, held = await _term_weights(reader, scope, terms, [row["row"] for row in found])
    total = sum(weights.values())
    return [
        Candidate(
            lesson=lesson_from(row),
            fit=-row["bm25"] / best if best > 0 else 1.0,
            share=sum(weights[term] for term in held.get(row["row"], ())) / total,
            terms=tuple(sorted(held.get(row["row"], ()), key=lambda term: (-weights[term], term))),
        )
        for row in found
    ]


async def _term_weights(
    reader: Reader, scope: Scope, terms: list[str], rows: list[int]
) -> tuple[dict[str, float], dict[int, list[str]]]:
    """The weight of each term, and which candidate holds which."""
    total = (await reader.rows("lesson_count", scope_values(scope)))[0]["count"]
    told = await reader.rows(
        "search_terms", {"terms": [quoted(term) for term in terms], "rows": rows, "most": MOST_COUNTED}
    )
    weights: dict[str, float] = {}
    held: dict[int, list[str]] = {}
    for row in told:
        term = terms[int(row["term"])]
        # BM25's inverse document frequency in the form that is never negative. A word that the bank does
        # not know weighs as one that a single lesson holds: it tells no more than that.
        weights[term] = math.log(1 + (total + 0.5) / (max(row["found"], 1) + 0.5))
        for candidate in cast("list[int]", json.loads(row["rows"])):
            held.setdefault(candidate, []).append(term)
    return weights, held
