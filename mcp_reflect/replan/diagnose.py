"""Why a search came back empty: every explanation that the call supports, weighed.

Weights are our own order of plausibility, not measured rates: what the catalogue proves weighs .8 and
more, what the shape of the query suggests .3 to .7. Learned payoffs move the choice afterwards.
"""

from collections.abc import Iterator

from mcp_reflect.models.search import Diagnosis, Finding, Kind, Query, SearchRequest, Strategy
from mcp_reflect.replan import catalog
from mcp_reflect.replan.catalog import Catalog
from mcp_reflect.replan.ledger import is_empty
from mcp_reflect.replan.lexicon import ABBREVIATIONS
from mcp_reflect.replan.moves import suggested
from mcp_reflect.replan.moves.filters import misspelled_values
from mcp_reflect.replan.vocabulary import vocabulary
from mcp_reflect.replan.words import content, is_quoted

_HIGH_THRESHOLD = 0.5  # similarity scores of good hits lie between .3 and .6 with common embeddings
_READ = 12  # words looked up; the plan asks for no more either
_MANY_WORDS = 4  # a search that asks for all of four words finds nothing for most questions


def diagnose(request: SearchRequest, places: Catalog) -> Diagnosis:
    """All findings for the empty tables, the heaviest first; ties keep the order of the queries."""
    findings = [
        finding
        for query in request.queries
        if is_empty(request, query.table)
        for finding in (
            *_suggested(query, request),
            *_place(query, request, places),
            *_conditions(query, places),
            *_words(query, places),
        )
    ]
    return Diagnosis(findings=tuple(sorted(set(findings), key=lambda finding: (-finding.weight, finding.table))))


def _suggested(query: Query, request: SearchRequest) -> Iterator[Finding]:
    """Does the search tool itself know other words? In recorded searches, taking them is what worked."""
    offered = suggested.ranked(request.suggestions, query.query_text, request.user_message)[:3]
    if offered:
        yield Finding(
            kind=Kind.UNKNOWN_WORDS,
            table=query.table,
            strategy=Strategy.REWRITE,
            weight=0.9,
            detail=f"the search tool suggests: {'; '.join(offered)}",
        )


def _place(query: Query, request: SearchRequest, places: Catalog) -> Iterator[Finding]:
    """Is it the right table and mode?"""

    def found(kind: Kind, weight: float, detail: str) -> Finding:
        return Finding(kind=kind, table=query.table, strategy=Strategy.PIVOT, weight=weight, detail=detail)

    entry = places.entry(query.table)
    if entry is None:
        yield found(Kind.WRONG_TABLE, 1.0, f"there is no table {query.table}")
        return
    if query.search_mode and query.search_mode not in entry.search_modes:
        modes = ", ".join(entry.search_modes) or "none"
        yield found(Kind.WRONG_MODE, 0.9, f"{query.table} has no mode {query.search_mode} (it has: {modes})")
    need = f"{request.user_message} {query.query_text}"
    here = catalog.fit(entry, need)
    others = [(catalog.fit(other, need), other.table) for other in places.entries if other.table != query.table]
    best, table = max(others, default=(0.0, ""))
    if best > here:
        weight = min(0.95, 0.45 + 0.2 * (best - here))
        yield found(Kind.WRONG_TABLE, weight, f"{table} fits the need better ({best:.1f} to {here:.1f})")


def _conditions(query: Query, places: Catalog) -> Iterator[Finding]:
    """Does it ask for too much at once?"""

    def found(kind: Kind, strategy: Strategy, weight: float, detail: str) -> Finding:
        return Finding(kind=kind, table=query.table, strategy=strategy, weight=weight, detail=detail)

    entry = places.entry(query.table)
    wrong = misspelled_values(query, entry) if entry else {}
    for name, value in wrong.items():
        yield found(
            Kind.SPELLING, Strategy.REWRITE, 0.9, f"{name} has no value {query.filters[name]}; nearest: {value}"
        )
    if query.filters and not wrong:
        weight = min(0.8, 0.45 + 0.15 * len(query.filters))
        yield found(Kind.TOO_MANY_CONDITIONS, Strategy.RELAX, weight, f"{len(query.filters)} filters must all hold")
    if query.score_threshold is not None and query.score_threshold > 0:
        high = query.score_threshold > _HIGH_THRESHOLD
        weight = 0.75 if high else 0.25
        yield found(Kind.THRESHOLD, Strategy.RELAX, weight, f"threshold {query.score_threshold:g}")
    exact = query.search_mode != "" and catalog.breadth(query.search_mode) == 0
    if is_quoted(query.query_text) or exact:
        yield found(Kind.EXACT_PHRASE, Strategy.REWRITE, 0.7, "it asks for the exact wording")
    count = len(content(query.query_text))
    if count > 1:
        weight = 0.6 if count >= _MANY_WORDS else 0.2 + 0.1 * count
        yield found(Kind.TOO_MANY_CONDITIONS, Strategy.REWRITE, weight, f"{count} words may all have to match")


def _words(query: Query, places: Catalog) -> Iterator[Finding]:
    """Does the data use these words?"""

    def found(kind: Kind, weight: float, detail: str) -> Finding:
        strategy = Strategy.RELAX if kind is Kind.NOTHING_THERE else Strategy.REWRITE
        return Finding(kind=kind, table=query.table, strategy=strategy, weight=weight, detail=detail)

    entry = places.entry(query.table)
    known = vocabulary(entry.vocabulary if entry else ())
    words = content(query.query_text)[:_READ]
    if not known.words:
        short = [word for word in words if word in ABBREVIATIONS]
        if short:
            yield found(Kind.JARGON, 0.45, f"short forms: {', '.join(short)}")
        return
    unknown = [(word, known.mended(word)) for word in words if word not in known.words]
    for word, mended in unknown:
        kind = mended.kind or Kind.UNKNOWN_WORDS
        if mended.words:
            yield found(kind, 0.85, f"the data has {' '.join(mended.words)} for {word}")
        else:
            yield found(kind, 0.5, f"{word} is not in the data")
    if words and len(unknown) == len(words) and not any(mended.words for _, mended in unknown):
        yield found(Kind.NOTHING_THERE, 0.55, "none of the words is in the data")
