"""Why a search came back empty, and the strategies for it, the best first.

Weights are an order of plausibility, not measured rates: what the catalog proves weighs .8 and more, what the form of
the query suggests .2 to .7. What strategies brought in this bank moves the choice afterwards.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from mcp_reflect.models.search import EmptyCause, Payoff, Query, SearchRequest, Strategy
from mcp_reflect.replan.attempts import is_empty
from mcp_reflect.replan.catalog import Catalog, breadth
from mcp_reflect.replan.forms import has_form, terms
from mcp_reflect.replan.moves import misspelled_values
from mcp_reflect.replan.syntax import Tool, read_operators, tool_of
from mcp_reflect.replan.wordings import ranked_suggestions
from mcp_reflect.replan.words import content, fold, is_quoted, unquoted

_HIGH_THRESHOLD: Final = 0.5  # similarity scores of good hits lie between .3 and .6 with common embeddings
_READ_WORDS: Final = 12  # the plan asks for no more either
_MANY_WORDS: Final = 4  # a search that asks for all of four words finds nothing for most questions
_PRIOR: Final = 4.0  # observed plans that weigh as much as our own expectation; below it, luck decides too much
_FAILED: Final = 0.5  # weight of a strategy that just failed in this search


class Finding(NamedTuple):
    """One explanation of one empty table. `weight` is in 0..1, `detail` is for developers."""

    table: str
    kind: EmptyCause
    strategy: Strategy
    weight: float
    detail: str


def diagnose(request: SearchRequest, places: Catalog) -> tuple[Finding, ...]:
    """Return all findings for the empty tables, the heaviest first; ties keep the order of the queries."""
    findings = [
        Finding(query.table, *finding)
        for query in request.queries
        if is_empty(request, query.table)
        for source in (
            _wrong_words(query, request, places),
            _wrong_place(query, request, places),
            _conditions(query, places),
        )
        for finding in source
    ]
    return tuple(sorted(dict.fromkeys(findings), key=lambda finding: (-finding.weight, finding.table)))


def choose(
    findings: Sequence[Finding], payoffs: Sequence[Payoff], failed: Strategy | None = None
) -> tuple[Strategy, ...]:
    """Return all strategies, the best first; `failed` is the one that was tried last."""
    kind = findings[0].kind if findings else EmptyCause.NOTHING_THERE

    def value(strategy: Strategy) -> float:
        """The heaviest finding, times what the strategy brought: 1 without experience."""
        weight = max((finding.weight for finding in findings if finding.strategy is strategy), default=0.05)
        same = [payoff for payoff in payoffs if (payoff.kind, payoff.strategy) == (kind, strategy)]
        used, paid = sum(payoff.used for payoff in same), sum(payoff.paid for payoff in same)
        return weight * 2 * (paid + _PRIOR / 2) / (used + _PRIOR) * (_FAILED if strategy is failed else 1.0)

    return tuple(sorted(Strategy, key=lambda strategy: (-value(strategy), strategy)))


_Found = tuple[EmptyCause, Strategy, float, str]


def _wrong_words(query: Query, request: SearchRequest, places: Catalog) -> Iterator[_Found]:
    """Does the search tool know other words, and does the data write or use these words otherwise?"""
    offered = ranked_suggestions(request.suggestions, query.query_text, request.user_message)[:3]
    if offered:  # in recorded searches, taking them is what worked
        yield EmptyCause.UNKNOWN_WORDS, Strategy.REWRITE, 0.9, f"the search tool suggests: {'; '.join(offered)}"
    tool, text, known = tool_of(query), query.query_text, places.words_of(query.table)
    reading = read_operators(text)
    words = content(reading.plain)[:_READ_WORDS]
    if tool in {Tool.SQL, Tool.COMMAND, Tool.PATTERN}:
        yield EmptyCause.EXACT_PHRASE, Strategy.REWRITE, 0.92, f"a {tool} search compares exact characters"
    else:
        if reading.has_operators and reading.plain != unquoted(text):
            yield EmptyCause.OPERATOR, Strategy.REWRITE, 0.9, "it holds operators that the tool may read otherwise"
        if formed := [term for term in terms(reading.plain) if has_form(term) and not known.knows(fold(term))]:
            detail = f"{', '.join(formed[:3])} may be written otherwise"
            yield EmptyCause.WRITTEN_FORM, Strategy.REWRITE, 0.9, detail
    unknown = [(word, known.mended(word)) for word in words if word not in known.words] if known.words else []
    for word, mended in unknown:
        if mended.words:
            detail = f"the data has {' '.join(mended.words)} for {word}"
            yield mended.kind or EmptyCause.UNKNOWN_WORDS, Strategy.REWRITE, 0.85, detail
        else:
            yield EmptyCause.UNKNOWN_WORDS, Strategy.REWRITE, 0.5, f"{word} is not in the data"


def _wrong_place(query: Query, request: SearchRequest, places: Catalog) -> Iterator[_Found]:
    """Is it the right table and mode?"""
    entry = places.entry(query.table)
    if entry is None:
        near = places.nearest(query.table)
        detail = f"there is no table {query.table}" + (f"; nearest: {near.table}" if near else "")
        yield EmptyCause.WRONG_TABLE, Strategy.PIVOT, 1.0, detail
        return
    if query.search_mode and query.search_mode not in entry.search_modes:
        modes = ", ".join(entry.search_modes) or "none"
        detail = f"{query.table} has no mode {query.search_mode} (it has: {modes})"
        yield EmptyCause.WRONG_MODE, Strategy.PIVOT, 0.9, detail
    if query.table == query.tool:
        return
    if places.described and not places.is_described(query.table):
        yield EmptyCause.WRONG_TABLE, Strategy.PIVOT, 0.5, f"{query.table} is not in the catalog"
    elif places.described:
        need = f"{request.user_message} {query.query_text}"
        here = places.fit(entry, need)
        best, table = max((places.fit(other, need), other.table) for other in places.described)
        if best > here:
            detail = f"{table} fits the need better ({best:.1f} to {here:.1f})"
            yield EmptyCause.WRONG_TABLE, Strategy.PIVOT, min(0.95, 0.45 + 0.2 * (best - here)), detail


def _conditions(query: Query, places: Catalog) -> Iterator[_Found]:
    """Does it ask for too much at once?"""
    entry = places.entry(query.table)
    wrong = misspelled_values(query, entry) if entry else {}
    for name, value in wrong.items():
        detail = f"{name} has no value {query.filters[name]}; nearest: {value}"
        yield EmptyCause.SPELLING, Strategy.REWRITE, 0.9, detail
    if query.filters and not wrong:
        weight = min(0.8, 0.45 + 0.15 * len(query.filters))
        detail = f"{len(query.filters)} filters must all hold"
        yield EmptyCause.TOO_MANY_CONDITIONS, Strategy.RELAX, weight, detail
    if query.score_threshold:
        weight = 0.75 if query.score_threshold > _HIGH_THRESHOLD else 0.25
        yield EmptyCause.THRESHOLD, Strategy.RELAX, weight, f"threshold {query.score_threshold:g}"
    if is_quoted(query.query_text) or (query.search_mode and breadth(query.search_mode) == 0):
        yield EmptyCause.EXACT_PHRASE, Strategy.REWRITE, 0.7, "it asks for the exact wording"
    count = len(content(query.query_text))
    if count > 1:
        weight = 0.6 if count >= _MANY_WORDS else 0.2 + 0.1 * count
        yield EmptyCause.TOO_MANY_CONDITIONS, Strategy.REWRITE, weight, f"{count} words may all have to match"
