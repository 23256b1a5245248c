"""Why a search came back empty: every explanation that the call supports, with its weight.

Weights are an order of plausibility, not measured rates: what the catalog proves weighs .8 and more, what the form of
the query suggests .2 to .7. What strategies brought in this bank moves the choice afterwards.
"""

from collections.abc import Iterator

from mcp_reflect.models.search import EmptyCause, Query, SearchDiagnosis, SearchFinding, SearchRequest, Strategy
from mcp_reflect.replan import catalog
from mcp_reflect.replan.attempts import is_empty
from mcp_reflect.replan.catalog import Catalog
from mcp_reflect.replan.forms import has_form, terms
from mcp_reflect.replan.moves import misspelled_values
from mcp_reflect.replan.syntax import Tool, read_operators, tool_of
from mcp_reflect.replan.wordings import ranked_suggestions
from mcp_reflect.replan.words import ABBREVIATIONS, content, fold, is_quoted, unquoted

_HIGH_THRESHOLD = 0.5  # similarity scores of good hits lie between .3 and .6 with common embeddings
_READ_DIAGNOSE = 12  # words looked up; the plan asks for no more either
_FEW_WORDS = 2
_MANY_WORDS = 4  # a search that asks for all of four words finds nothing for most questions


def diagnose(request: SearchRequest, places: Catalog) -> SearchDiagnosis:
    """All findings for the empty tables, the heaviest first; ties keep the order of the queries."""
    findings = [
        finding
        for query in request.queries
        if is_empty(request, query.table)
        for finding in (
            *_suggested(query, request),
            *_written(query, places),
            *_place_diagnose(query, request, places),
            *_conditions(query, places),
            *_words(query, places),
        )
    ]
    return SearchDiagnosis(findings=tuple(sorted(set(findings), key=lambda finding: (-finding.weight, finding.table))))


def _suggested(query: Query, request: SearchRequest) -> Iterator[SearchFinding]:
    """Does the search tool itself know other words? In recorded searches, taking them is what worked."""
    offered = ranked_suggestions(request.suggestions, query.query_text, request.user_message)[:3]
    if offered:
        yield SearchFinding(
            kind=EmptyCause.UNKNOWN_WORDS,
            table=query.table,
            strategy=Strategy.REWRITE,
            weight=0.9,
            detail=f"the search tool suggests: {'; '.join(offered)}",
        )


def _written(query: Query, places: Catalog) -> Iterator[SearchFinding]:
    """Does the tool compare exact characters, or the text hold a term or an operator that can be written otherwise?"""

    def found(kind: EmptyCause, weight: float, detail: str) -> SearchFinding:
        return SearchFinding(kind=kind, table=query.table, strategy=Strategy.REWRITE, weight=weight, detail=detail)

    tool, text = tool_of(query), query.query_text
    reading = read_operators(text)
    known = places.words_of(query.table)
    if tool in {Tool.SQL, Tool.COMMAND, Tool.PATTERN}:
        yield found(EmptyCause.EXACT_PHRASE, 0.92, f"a {tool} search compares exact characters")
        return
    if reading.has_operators and reading.plain != unquoted(text):
        yield found(EmptyCause.OPERATOR, 0.9, "it holds operators that the tool may read otherwise")
    formed = [term for term in terms(reading.plain) if has_form(term) and not known.knows(fold(term))]
    if formed:
        yield found(EmptyCause.WRITTEN_FORM, 0.9, f"{', '.join(formed[:3])} may be written otherwise")


def _place_diagnose(query: Query, request: SearchRequest, places: Catalog) -> Iterator[SearchFinding]:
    """Is it the right table and mode?"""

    def found(kind: EmptyCause, weight: float, detail: str) -> SearchFinding:
        return SearchFinding(kind=kind, table=query.table, strategy=Strategy.PIVOT, weight=weight, detail=detail)

    entry = places.entry(query.table)
    if entry is None:
        yield found(EmptyCause.WRONG_TABLE, 1.0, f"there is no table {query.table}")
        return
    if places.described and not places.is_described(query.table) and query.table != query.tool:
        yield found(EmptyCause.WRONG_TABLE, 0.5, f"{query.table} is not in the catalog")
    if query.search_mode and query.search_mode not in entry.search_modes:
        modes = ", ".join(entry.search_modes) or "none"
        yield found(EmptyCause.WRONG_MODE, 0.9, f"{query.table} has no mode {query.search_mode} (it has: {modes})")
    need = f"{request.user_message} {query.query_text}"
    here = catalog.fit(entry, need)
    others = [(catalog.fit(other, need), other.table) for other in places.described if other.table != query.table]
    best, table = max(others, default=(0.0, ""))
    if places.is_described(query.table) and query.table != query.tool and best > here:
        weight = min(0.95, 0.45 + 0.2 * (best - here))
        yield found(EmptyCause.WRONG_TABLE, weight, f"{table} fits the need better ({best:.1f} to {here:.1f})")


def _conditions(query: Query, places: Catalog) -> Iterator[SearchFinding]:
    """Does it ask for too much at once?"""

    def found(kind: EmptyCause, strategy: Strategy, weight: float, detail: str) -> SearchFinding:
        return SearchFinding(kind=kind, table=query.table, strategy=strategy, weight=weight, detail=detail)

    entry = places.entry(query.table)
    wrong = misspelled_values(query, entry) if entry else {}
    for name, value in wrong.items():
        yield found(
            EmptyCause.SPELLING, Strategy.REWRITE, 0.9, f"{name} has no value {query.filters[name]}; nearest: {value}"
        )
    if query.filters and not wrong:
        weight = min(0.8, 0.45 + 0.15 * len(query.filters))
        yield found(
            EmptyCause.TOO_MANY_CONDITIONS, Strategy.RELAX, weight, f"{len(query.filters)} filters must all hold"
        )
    if query.score_threshold is not None and query.score_threshold > 0:
        high = query.score_threshold > _HIGH_THRESHOLD
        weight = 0.75 if high else 0.25
        yield found(EmptyCause.THRESHOLD, Strategy.RELAX, weight, f"threshold {query.score_threshold:g}")
    exact = query.search_mode != "" and catalog.breadth(query.search_mode) == 0
    if is_quoted(query.query_text) or exact:
        yield found(EmptyCause.EXACT_PHRASE, Strategy.REWRITE, 0.7, "it asks for the exact wording")
    count = len(content(query.query_text))
    if count > 1:
        weight = 0.6 if count >= _MANY_WORDS else 0.2 + 0.1 * count
        yield found(EmptyCause.TOO_MANY_CONDITIONS, Strategy.REWRITE, weight, f"{count} words may all have to match")


def _words(query: Query, places: Catalog) -> Iterator[SearchFinding]:
    """Does the data use these words?"""

    def found(kind: EmptyCause, weight: float, detail: str) -> SearchFinding:
        strategy = Strategy.RELAX if kind is EmptyCause.NOTHING_THERE else Strategy.REWRITE
        return SearchFinding(kind=kind, table=query.table, strategy=strategy, weight=weight, detail=detail)

    known = places.words_of(query.table)
    words = content(read_operators(query.query_text).plain)[:_READ_DIAGNOSE]
    if 0 < len(words) <= _FEW_WORDS:
        yield found(EmptyCause.WRITTEN_FORM, 0.2, "a search of few words finds nothing where one is written otherwise")
    if not known.words:
        short = [word for word in words if word in ABBREVIATIONS]
        if short:
            yield found(EmptyCause.JARGON, 0.45, f"short forms: {', '.join(short)}")
        return
    unknown = [(word, known.mended(word)) for word in words if word not in known.words]
    for word, mended in unknown:
        kind = mended.kind or EmptyCause.UNKNOWN_WORDS
        if mended.words:
            yield found(kind, 0.85, f"the data has {' '.join(mended.words)} for {word}")
        else:
            yield found(kind, 0.5, f"{word} is not in the data")
    if words and len(unknown) == len(words) and not any(mended.words for _, mended in unknown):
        yield found(EmptyCause.NOTHING_THERE, 0.55, "none of the words is in the data")
