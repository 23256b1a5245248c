"""The plan by rules: diagnose, choose a move, refuse what was tried. Deterministic."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final, TypeAlias, TypeVar

from mcp_reflect.models.search import (
    EmptyCause,
    Payoff,
    Plan,
    Query,
    SearchDiagnosis,
    SearchFinding,
    SearchRequest,
    SearchState,
    Strategy,
)
from mcp_reflect.replan import attempts, catalog
from mcp_reflect.replan.attempts import is_empty
from mcp_reflect.replan.catalog import Catalog
from mcp_reflect.replan.forms import has_form, terms
from mcp_reflect.replan.moves import loosest, mechanical, misspelled_values, pivoted, relaxed, rewritten
from mcp_reflect.replan.syntax import Tool, read_operators, tool_of
from mcp_reflect.replan.wordings import ranked_suggestions
from mcp_reflect.replan.words import ABBREVIATIONS, content, fold, is_quoted, tokens, unquoted

# What to tell the person: one or two friendly sentences without technical terms.


_TECHNICAL: Final = """
    api boolean bm25 catalog catalog config database dataset embedding embeddings endpoint faceted facet facets
    filter filters fts fuzzy id index json keyword keywords lexical limit llm master mode modes null parameter
    parameters pivot query queries regex relax replan retry retries rewrite row rows schema score semantic
    similarity sql sqlite string syntax table tables threshold timeout token tokens tool vector vocabulary
    """
TECHNICAL: Final = frozenset(_TECHNICAL.split())
"""Words that mean something to us and nothing to the person who asked."""

_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_FALLBACK: Final = "Let me broaden my search a little and look again."
_GAVE_UP: Final = (
    "I looked in several ways and found nothing that fits. "
    "Could you tell me a bit more about what you need, or shall I look for something close to it?"
)
_CHEERFUL: Final = "I found something for you; there is no need to look again."


def tell(strategy: Strategy, diagnosis: SearchDiagnosis, new: tuple[Query, ...], failed: frozenset[str]) -> str:
    """The sentence for a plan."""
    elsewhere = next((query.table for query in new if query.table not in failed), None)
    if strategy is Strategy.PIVOT and elsewhere is not None:
        return f"Nothing came up there, so let me look {_place_messages(elsewhere)} instead."
    if strategy is Strategy.REWRITE:
        if diagnosis.kind in {EmptyCause.SPELLING, EmptyCause.JARGON, EmptyCause.UNKNOWN_WORDS}:
            return "Nothing came up for that wording, so let me try the words that are more usual here."
        return "Nothing matched exactly, so let me look for it in broader words."
    return _FALLBACK


def gave_up() -> str:
    return _GAVE_UP


def nothing_to_do() -> str:
    return _CHEERFUL


def is_friendly(message: str, said: str = "") -> bool:
    """One or two sentences, no names with underscores, at most 300 characters, and not a word of ours.

    A word that the person `said` is theirs: who asks for a dark mode may read of a mode.
    """
    text = message.strip()
    sentences = [part for part in _SENTENCE.split(text) if part]
    plain = not (set(tokens(text)) & TECHNICAL - set(tokens(said))) and "_" not in text and "{" not in text
    return 0 < len(text) <= 300 and len(sentences) <= 2 and plain


def _place_messages(table: str) -> str:
    """A table's name as a place in a sentence; names that no person would use become `in another place`."""
    words = tokens(table.replace("_", " ").replace("-", " "))
    natural = 0 < len(words) <= 3 and all(word.isalpha() and len(word) > 2 for word in words)
    if not natural or set(words) & TECHNICAL or fold(words[0]) in {"tbl", "tab", "idx"}:
        return "in another place"
    return f"among the {' '.join(words)}" if words[-1].endswith("s") else f"in the {' '.join(words)} section"


# Why a search came back empty: every explanation that the call supports, weighed.
#
# Weights are our own order of plausibility, not measured rates: what the catalog proves weighs .8 and
# more, what the shape of the query suggests .3 to .7. Learned payoffs move the choice afterwards.


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


# Relax, rewrite or pivot: from the diagnosis, what failed already, and what has paid off in this bank.


EXPLORE: Final = 0.1
"""Share of choices that take the second best, so that a strategy that had bad luck gets another chance."""

_PRIOR: Final = 4.0
"""How many observed plans weigh as much as our own expectation; below it, luck decides too much."""

_FAILED: Final = 0.5
"""A strategy that just failed in this search counts half."""


def choose(diagnosis: SearchDiagnosis, state: SearchState, last: Plan | None = None) -> tuple[Strategy, ...]:
    """All three strategies, the best first. The same search and retry always give the same order."""
    weights = {strategy: _weight(strategy, diagnosis) for strategy in Strategy}
    values = {
        strategy: weights[strategy]
        * _learned(diagnosis.kind, strategy, state.payoffs)
        * (_FAILED if last is not None and last.strategy is strategy else 1.0)
        for strategy in Strategy
    }
    order = sorted(Strategy, key=lambda strategy: (-values[strategy], strategy))
    if _chance(state) < EXPLORE and values[order[1]] > 0 and _is_learned(diagnosis.kind, state.payoffs):
        order[0], order[1] = order[1], order[0]
    return tuple(order)


def _weight(strategy: Strategy, diagnosis: SearchDiagnosis) -> float:
    """The heaviest finding for a strategy in 0..1; the others add a tenth, so that two hints beat one."""
    found = sorted((finding.weight for finding in diagnosis.findings if finding.strategy is strategy), reverse=True)
    return min(1.0, found[0] + 0.1 * sum(found[1:3])) if found else 0.05


def _learned(kind: EmptyCause, strategy: Strategy, payoffs: tuple[Payoff, ...]) -> float:
    """1 without experience; up to 2 where a strategy always paid off for this kind, towards 0 where it never did."""
    used = sum(payoff.used for payoff in payoffs if (payoff.kind, payoff.strategy) == (kind, strategy))
    paid = sum(payoff.paid for payoff in payoffs if (payoff.kind, payoff.strategy) == (kind, strategy))
    return 2.0 * (min(paid, used) + _PRIOR / 2) / (max(used, 0) + _PRIOR)


def _is_learned(kind: EmptyCause, payoffs: tuple[Payoff, ...]) -> bool:
    return any(payoff.kind is kind and payoff.used > 0 for payoff in payoffs)


def _chance(state: SearchState) -> float:
    """A number in 0..1 that belongs to this search and retry."""
    digest = hashlib.sha256(f"{state.search_id}/{state.retry_count}".encode()).digest()
    return int.from_bytes(digest[:6]) / 2**48


# New queries for empty tables: the moves give candidates, those that were tried or cannot be run fall out.


MOST_QUERIES: Final = 3
"""New queries for an empty table: a person waits for them all."""

_MOST_IN_ALL: Final = 30  # where more tables are empty than that allows, each has fewer, and at least one

_FEW_TABLES: Final = 3
_READ_CANDIDATES = 24  # candidates looked at for a table and strategy; the moves list the best first
_T = TypeVar("_T")

Move: TypeAlias = tuple[Strategy, Query]


def possible_moves(
    request: SearchRequest, state: SearchState, places: Catalog, order: tuple[Strategy, ...], failed: tuple[Query, ...]
) -> tuple[Move, ...]:
    """Up to three for each empty table, each with the strategy that it comes from.

    On the first try the chosen strategy has them all, and the others fill what it leaves; later the
    strategies take turns, since one idea has failed already, and start from what was asked at first.
    """
    new: tuple[Move, ...] = ()
    tables = dict.fromkeys(query.table for query in failed)
    most = max(1, min(MOST_QUERIES, _MOST_IN_ALL // max(1, len(tables))))
    for table in tables:
        starts = _starts(table, failed, state)
        sources = {strategy: _fresh(strategy, starts, request, state, places) for strategy in order}
        if state.retry_count == 0:
            candidates = chain(*sources.values())
        else:
            # Where one table of many was the wrong one, the right one is among many: they have two turns.
            turns = 2 if len(places.described) > _FEW_TABLES else 1
            candidates = _taking_turns(
                [source for key, source in sources.items() for _ in range(turns if key is Strategy.PIVOT else 1)]
            )
        new += _different(candidates, state, new, most)
    return new


def ladder(request: SearchRequest, state: SearchState, places: Catalog, failed: tuple[Query, ...]) -> tuple[Query, ...]:
    """One relaxed query for each failed one, as far as the ladder goes."""
    new: tuple[Query, ...] = ()
    for query in failed:
        steps = _steps(query, places, state.retry_count, request.user_message)
        fresh = (step for step in steps if _can_run(step, places) and attempts.refusal(step, state, new) is None)
        new += tuple(islice(fresh, 1))
    return new


def _starts(table: str, failed: tuple[Query, ...], state: SearchState) -> tuple[list[Query], list[Query]]:
    """The queries to start from: on a later try the original ones, with bounds as wide as they have become."""
    now = [query for query in failed if query.table == table]
    originals = [query for query in state.original_queries if query.table == table and query not in now]
    return ([loosest(query, now) for query in originals], now) if state.retry_count else ([], now)


def _fresh(
    strategy: Strategy,
    starts: tuple[list[Query], list[Query]],
    request: SearchRequest,
    state: SearchState,
    places: Catalog,
) -> Iterator[Move]:
    """The strategy's candidates that can be run and were not tried; the queries of one group take turns."""
    candidates = chain(
        *(_taking_turns([_moved(strategy, query, request, state, places) for query in group]) for group in starts)
    )
    for query in islice(candidates, _READ_CANDIDATES):
        if _can_run(query, places) and not attempts.is_hopeless(query, state):
            yield strategy, query


def _moved(
    strategy: Strategy, query: Query, request: SearchRequest, state: SearchState, places: Catalog
) -> Iterator[Query]:
    entry, retry = places.entry(query.table), state.retry_count
    match strategy:
        case Strategy.RELAX:
            return relaxed(query, entry, request.user_message, retry)
        case Strategy.REWRITE:
            return rewritten(query, places, request.user_message, request.suggestions, retry)
        case Strategy.PIVOT:
            searched = frozenset(tried.query.table for tried in state.tried)
            return pivoted(query, places, request.user_message, searched, retry)


def _different(
    candidates: Iterator[Move], state: SearchState, planned: tuple[Move, ...], most: int
) -> tuple[Move, ...]:
    """The first `most` that differ from each other and from what is planned already."""
    new: tuple[Move, ...] = ()
    for strategy, query in candidates:
        if not attempts.is_hopeless(query, state, [other for _, other in planned + new]):
            new += ((strategy, query),)
        if len(new) == most:
            break
    return new


def _can_run(query: Query, places: Catalog) -> bool:
    """Whether the table and mode exist and the query asks for something."""
    entry = places.entry(query.table)
    if entry is None or query.search_mode not in (entry.search_modes or ("",)):
        return False
    return bool(query.query_text.strip() or query.filters)


def _steps(query: Query, places: Catalog, retry: int, message: str) -> Iterator[Query]:
    entry = places.entry(query.table) or places.nearest(query.table)
    base = catalog.in_table(query, entry) if entry else query
    yield mechanical(base, entry, retry)
    yield mechanical(base, entry, retry + 1)
    yield from relaxed(query, entry, message, retry)


def _taking_turns(sources: list[Iterator[_T]]) -> Iterator[_T]:
    """One from each in turn, until all have given what they have."""
    while sources:
        alive: list[Iterator[_T]] = []
        for source in sources:
            for item in islice(source, 1):
                yield item
                alive.append(source)
        sources = alive


# The mechanical plan: diagnose, choose, move, refuse what was tried. Deterministic, and always there.


@dataclass(frozen=True, slots=True)
class _Case:
    """One failed search with all that is known of it."""

    request: SearchRequest
    state: SearchState
    places: Catalog
    failed: tuple[Query, ...]
    kept: tuple[Query, ...]
    diagnosis: SearchDiagnosis

    is_first: bool

    @property
    def is_over(self) -> bool:
        """The first call helps as long as its count is not above the maximum: callers count from 0 or from 1."""
        count, most = self.state.retry_count, self.request.max_retries
        return count > most if self.is_first else count >= most


def plan(request: SearchRequest, state: SearchState) -> Plan:
    """What to search next. Every new query names a table and mode that exist and was never tried here."""
    case = _case(request, state)
    is_late_success = state.pending is not None and state.pending.give_up and any((request.results or {}).values())
    if is_late_success or (request.queries and not case.failed):
        return _nothing_to_do(case)
    order = choose(case.diagnosis, case.state, state.pending)
    moves = () if case.is_over else possible_moves(request, case.state, case.places, order, case.failed)
    if not moves:
        return _give_up(case, state.pending.strategy if state.pending else order[0])
    return _plan(case, moves[0][0], tuple(query for _, query in moves))


def relax_only(request: SearchRequest, state: SearchState) -> Plan:
    """The ladder alone: each empty query once, with lower threshold, higher limit, later the widest mode."""
    case = _case(request, state)
    if request.queries and not case.failed:
        return _nothing_to_do(case)
    new = () if case.is_over else ladder(request, case.state, case.places, case.failed)
    return _plan(case, Strategy.RELAX, new) if new else _give_up(case, Strategy.RELAX)


def explain(diagnosis: SearchDiagnosis, strategy: Strategy, new: tuple[Query, ...]) -> str:
    """The reasoning in one paragraph, for developers."""
    also = [f"{finding.kind}: {finding.detail}" for finding in diagnosis.findings[1:4]]
    queries = attempts.describe_all(new)
    more = f" Also: {'; '.join(also)}." if also else ""
    return f"Likeliest cause: {_cause(diagnosis)}.{more} Strategy: {strategy}. Next: {queries}."


def _case(request: SearchRequest, state: SearchState) -> _Case:
    places = catalog.of(request)
    failed = tuple(query for query in request.queries if attempts.is_empty(request, query.table))
    return _Case(
        request=request,
        state=attempts.observe(state, request),
        places=places,
        failed=failed,
        kept=tuple(query for query in request.queries if query not in failed),
        diagnosis=diagnose(request, places),
        is_first=not state.tried,
    )


def _plan(case: _Case, strategy: Strategy, new: tuple[Query, ...]) -> Plan:
    empty = frozenset(query.table for query in case.failed)
    return Plan(
        strategy=strategy,
        reasoning=explain(case.diagnosis, strategy, new),
        user_message=tell(strategy, case.diagnosis, new, empty),
        new_queries=new,
        kept=case.kept,
        retry_count=case.state.retry_count + 1,
        notes=_corrections(case),
        diagnosis=case.diagnosis,
    )


def _corrections(case: _Case) -> tuple[str, ...]:
    """What the failed queries named and the caller's catalog does not have."""
    notes: dict[str, None] = {}
    for query in case.failed if case.places.described else ():
        entry, near = case.places.entry(query.table), case.places.nearest(query.table)
        if entry is None:
            instead = f"corrected to {near.table}" if near else "left: it is not in the catalog"
            notes[f"table {query.table} {instead}"] = None
        elif query.search_mode and query.search_mode not in entry.search_modes:
            mode = catalog.in_table(query, entry).search_mode or "none"
            notes[f"mode {query.search_mode} of {query.table} corrected to {mode}"] = None
    return tuple(notes)


def _give_up(case: _Case, strategy: Strategy) -> Plan:
    """The end of a search: what was tried for developers, what to ask for the person."""
    tried = attempts.describe_all([entry.query for entry in case.state.tried])
    why = "no retries are left" if case.is_over else "nothing new is left to try"
    settle = "; ".join(_next_looks(case))
    return Plan(
        strategy=strategy,
        reasoning=f"Giving up: {why}. Tried: {tried}. What would settle it: {settle}.",
        user_message=gave_up(),
        new_queries=(),
        kept=case.kept,
        give_up=True,
        retry_count=case.state.retry_count + 1,
        diagnosis=case.diagnosis,
    )


def _next_looks(case: _Case) -> tuple[str, ...]:
    """What a look at the data would show that words cannot: its tables, its fields, some rows."""
    tables = dict.fromkeys(query.table for query in case.failed)
    unknown = [table for table in tables if not case.places.is_described(table)]
    fields = [entry.table for entry in case.places.described if entry.table in tables and not entry.fields]
    return (
        *(("a list of the tables, sent as the catalog",) if unknown else ()),
        *((f"the fields of {', '.join(fields[:3])} and their values",) if fields else ()),
        f"a sample of rows of {', '.join(list(tables)[:3])} without any condition",
    )


def _nothing_to_do(case: _Case) -> Plan:
    return Plan(
        strategy=Strategy.RELAX,
        reasoning="The search returned something; there is nothing to plan.",
        user_message=nothing_to_do(),
        new_queries=(),
        kept=case.kept,
        retry_count=case.state.retry_count + 1,
    )


def _cause(diagnosis: SearchDiagnosis) -> str:
    if not diagnosis.findings:
        return f"{diagnosis.kind}: the call shows no other reason"
    first = diagnosis.findings[0]
    return f"{first.kind} in {first.table}: {first.detail}"
