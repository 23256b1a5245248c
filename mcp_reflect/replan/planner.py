"""The plan for a failed search: by rules, or as a model or the host proposes it and rules check it. Deterministic."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice, zip_longest
from typing import Final, TypeAlias

from mcp_reflect.models.search import (
    EmptyCause,
    Proposal,
    Query,
    SearchPlan,
    SearchRequest,
    SearchState,
    Strategy,
    Tried,
)
from mcp_reflect.replan import attempts
from mcp_reflect.replan.catalog import Catalog, catalog_of, in_table
from mcp_reflect.replan.diagnosis import Finding, choose, diagnose
from mcp_reflect.replan.moves import ladder, loosened, pivoted, relaxed, rewritten
from mcp_reflect.replan.words import fold, normalized, tokens

MOST_QUERIES: Final = 3
"""New queries for an empty table: a person waits for them all."""

REPLACED: Final = "replaced by the plan of the rules"
"""The note of a plan in which nothing of a proposal is left."""

_MOST_IN_ALL: Final = 30  # where more tables are empty than that allows, each has fewer, and at least one
_READ_CANDIDATES: Final = 24  # candidates looked at for a table and strategy; the moves list the likeliest first
_Move: TypeAlias = tuple[Strategy, Query]


@dataclass(frozen=True)
class _Case:
    """One failed search with all that is known of it; `earlier` is the state before this call was taken in."""

    request: SearchRequest
    earlier: SearchState

    @cached_property
    def state(self) -> SearchState:
        return attempts.observe(self.earlier, self.request)

    @cached_property
    def places(self) -> Catalog:
        return catalog_of(self.request)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        return diagnose(self.request, self.places)

    @cached_property
    def failed(self) -> tuple[Query, ...]:
        return tuple(query for query in self.request.queries if attempts.is_empty(self.request, query.table))

    @property
    def cause(self) -> EmptyCause:
        return self.findings[0].kind if self.findings else EmptyCause.NOTHING_THERE

    @property
    def is_open(self) -> bool:
        """True if something is empty, and a retry is left."""
        return not self.is_over and not self.is_found

    @property
    def is_over(self) -> bool:
        """True if no retry is left. The first call helps up to the maximum: callers count from 0 or from 1."""
        count, most = self.state.retry_count, self.request.max_retries
        return count >= most if self.earlier.tried else count > most

    @property
    def is_found(self) -> bool:
        """True if nothing came back empty, or a search that was given up found something after all."""
        pending = self.earlier.pending
        late = pending is not None and pending.give_up and any((self.request.results or {}).values())
        return late or (bool(self.request.queries) and not self.failed)

    def plan(self, strategy: Strategy, new: tuple[Query, ...], *, reasoning: str = "") -> SearchPlan:
        """The plan with these queries; without any, the search is given up, or it found something."""
        if self.is_found:
            reasoning, message = "The search returned something; there is nothing to plan.", FOUND
        elif new:
            reasoning, message = reasoning or self._explain(strategy, new), self.message(strategy, new)
        else:
            reasoning, message = self._last_words(), GAVE_UP
        return SearchPlan(
            strategy=strategy,
            reasoning=reasoning,
            user_message=message,
            new_queries=new,
            kept_queries=tuple(query for query in self.request.queries if query not in self.failed),
            give_up=not new and not self.is_found,
            retry_count=self.state.retry_count + 1,
            cause=self.cause,
        )

    def message(self, strategy: Strategy, new: tuple[Query, ...]) -> str:
        """The sentence for the person who waits."""
        elsewhere = next((query.table for query in new if query.table not in {q.table for q in self.failed}), None)
        if strategy is Strategy.PIVOT and elsewhere is not None:
            return f"Nothing came up there, so let me look {place_in_words(elsewhere)} instead."
        if strategy is not Strategy.REWRITE:
            return "Let me broaden my search a little and look again."
        if self.cause in {EmptyCause.SPELLING, EmptyCause.UNKNOWN_WORDS}:
            return "Nothing came up for that wording, so let me try the words that are more usual here."
        return "Nothing matched exactly, so let me look for it in broader words."

    def _explain(self, strategy: Strategy, new: tuple[Query, ...]) -> str:
        """The reasoning in one paragraph, for developers."""
        causes = [f"{kind} in {table}: {detail}" for table, kind, _, _, detail in self.findings[:4]]
        also = f" Also: {'; '.join(causes[1:])}." if causes[1:] else ""
        first = causes[0] if causes else f"{self.cause}: the call shows no other reason"
        return f"Likeliest cause: {first}.{also} Strategy: {strategy}. Next: {attempts.describe_all(new)}."

    def _last_words(self) -> str:
        """What was tried, and what would show more than words can: the data's tables, its fields, some rows."""
        why = "no retries are left" if self.is_over else "nothing new is left to try"
        tables = list(dict.fromkeys(query.table for query in self.failed))
        listed = "" if all(map(self.places.is_described, tables)) else "a list of the tables, sent as the catalog; "
        settle = f"{listed}their fields and values; a sample of rows of {', '.join(tables[:3])} without any condition"
        tried = attempts.describe_all([entry.query for entry in self.state.tried])
        return f"Giving up: {why}. Tried: {tried}. What would settle it: {settle}."

    def can_run(self, query: Query) -> bool:
        """True if the table and mode exist and the query asks for something."""
        entry = self.places.entry(query.table)
        modes = (entry.search_modes or ("",)) if entry else ()
        return query.search_mode in modes and bool(query.query_text.strip() or query.filters)


def plan(request: SearchRequest, state: SearchState) -> SearchPlan:
    """Return what to search next. Every new query names a table and mode that exist and was never tried here."""
    case = _Case(request, state)
    order = choose(case.findings, case.state.payoffs, state.pending.strategy if state.pending else None)
    moves = tuple(_moves(case, order)) if case.is_open else ()
    last = state.pending.strategy if state.pending and not case.is_found else order[0]
    return case.plan(moves[0][0] if moves else last, tuple(query for _, query in moves))


def relax_only(request: SearchRequest, state: SearchState) -> SearchPlan:
    """Return the fixed ladder: each empty query with lower threshold and higher limit, later in the widest mode."""
    case, new = _Case(request, state), list[Query]()
    retry, tried = case.state.retry_count, list(case.state.tried)
    for query in case.failed if case.is_open else ():
        entry = case.places.entry(query.table) or case.places.nearest(query.table)
        base = in_table(query, entry) if entry else query
        for step in (ladder(base, entry, retry), ladder(base, entry, retry + 1), *relaxed(query, entry, retry)):
            if case.can_run(step) and not attempts.repeated(step, tried, more_rows=True):
                new.append(step)
                tried.append(Tried(query=step))
                break
    return case.plan(Strategy.RELAX, tuple(new))


def _moves(case: _Case, order: tuple[Strategy, ...]) -> Iterator[_Move]:
    """Up to three new queries for each empty table, each with the strategy that it comes from.

    On the first try the chosen strategy has them all, and the others fill what it leaves; later the
    strategies take turns, since one idea has failed already, and start from what was asked at first.
    """
    tables = dict.fromkeys(query.table for query in case.failed)
    most = max(1, min(MOST_QUERIES, _MOST_IN_ALL // max(1, len(tables))))
    tried = list(case.state.tried)
    for table in tables:
        sources = [_candidates(case, strategy, table) for strategy in order]
        candidates = _taking_turns(sources) if case.state.retry_count else chain(*sources)
        fresh = (move for move in candidates if case.can_run(move[1]) and not attempts.repeated(move[1], tried))
        for strategy, query in islice(fresh, most):
            tried.append(Tried(query=query))
            yield strategy, query


def _candidates(case: _Case, strategy: Strategy, table: str) -> Iterator[_Move]:
    """The strategy's queries for a table; several failed queries take turns, on a later try the original ones first."""
    now = [query for query in case.failed if query.table == table]
    first = [query for query in case.state.original_queries if query.table == table and query not in now]
    groups = [first, now] if case.state.retry_count else [now]
    moves = [[((strategy, new) for new in _moved(case, strategy, query)) for query in group] for group in groups]
    return islice(chain(*map(_taking_turns, moves)), _READ_CANDIDATES)


def _moved(case: _Case, strategy: Strategy, query: Query) -> Iterator[Query]:
    message, retry = case.request.user_message, case.state.retry_count
    if strategy is Strategy.RELAX:
        return relaxed(query, case.places.entry(query.table), retry)
    if strategy is Strategy.REWRITE:
        return rewritten(query, case.places, message, case.request.suggestions, retry)
    searched = frozenset(entry.query.table for entry in case.state.tried)
    return pivoted(query, case.places, message, searched, retry)


def _taking_turns(sources: Iterable[Iterator[_Move]]) -> Iterator[_Move]:
    """One from each in turn, until all have given what they have."""
    return (move for row in zip_longest(*sources) for move in row if move is not None)


def needs_plan(request: SearchRequest, state: SearchState) -> bool:
    """True if a proposal could be used: something is empty, and a retry is left."""
    return _Case(request, state).is_open


def accept(proposal: Proposal, request: SearchRequest, state: SearchState) -> SearchPlan:
    """Return the proposed plan, corrected, or the plan of the rules with the reasons where nothing of it is left.

    To replace the pending plan of the same failure, pass `attempts.reopen(state)`.
    """
    case = _Case(request, state)
    new: tuple[Query, ...] = ()
    notes: tuple[str, ...] = ()
    for number, proposed in enumerate(proposal.new_queries if case.is_open else (), 1):
        query, remarks = _corrected(proposed, case)
        refused = _refusal(query, case, new)
        remarks += (f"refused: {refused}",) if refused else ()
        new += () if refused else (query,)
        notes += tuple(f"query {number}: {remark}" for remark in remarks)
    if not new:
        mechanical = plan(request, state)
        why = "; ".join(notes) or ("it has no queries" if case.is_open else "nothing is empty, or no retry is left")
        reasoning = f"The proposed plan was replaced by that of the rules: {why}. {mechanical.reasoning}"
        return replace(mechanical, reasoning=reasoning, notes=(*notes, REPLACED))
    strategy = proposal.strategy or _strategy_of(new, request)
    made = replace(case.plan(strategy, new, reasoning=proposal.reasoning), notes=notes)
    if is_friendly(proposal.user_message, request.user_message):
        return replace(made, user_message=proposal.user_message.strip())
    return replace(made, notes=(*notes, "user_message replaced: one or two sentences without technical terms"))


def _refusal(query: Query, case: _Case, planned: tuple[Query, ...]) -> str | None:
    if not query.query_text.strip() and not query.filters:
        return "it asks for nothing"
    if sum(other.table == query.table for other in planned) >= MOST_QUERIES:
        return f"more than {MOST_QUERIES} queries for {query.table}"
    tried = attempts.repeated(query, (*case.state.tried, *(Tried(query=other) for other in planned)), more_rows=True)
    count = "" if tried is None or tried.found is None else f" and found {tried.found}"
    return None if tried is None else f"{attempts.describe(query)} was tried before{count}"


def _corrected(query: Query, case: _Case) -> tuple[Query, tuple[str, ...]]:
    """The query for a table and mode that exist, with the tool, limit and a looser threshold of the failed one."""
    places, queries = case.places, case.request.queries
    entry = places.entry(query.table) or (places.nearest(query.table) if places.described else None)
    table = entry.table if entry else query.table
    notes = (f"table {query.table} corrected to {table}",) if table != query.table else ()
    notes += () if entry else (f"table {table} is unverified: no catalog describes it",)
    same_table = next((other for other in queries if other.table == table), None)
    failed = same_table or next(iter(queries), query)
    threshold = loosened(failed, None, 1).score_threshold if query.score_threshold is None else query.score_threshold
    query = replace(
        query,
        table=table,
        search_mode=query.search_mode or (same_table.search_mode if same_table else ""),
        tool=query.tool or failed.tool,
        limit=query.limit or failed.limit,
        score_threshold=threshold,
    )
    if entry and places.is_described(table) and (mode := in_table(query, entry).search_mode) != query.search_mode:
        notes += (f"mode {query.search_mode} corrected to {mode or 'none'}",) if query.search_mode else ()
        query = replace(query, search_mode=mode)
    return query, notes


def _strategy_of(new: tuple[Query, ...], request: SearchRequest) -> Strategy:
    """The strategy that the queries show, where the proposal does not name one."""
    before = {(fold(query.table), normalized(query.query_text)) for query in request.queries}
    after = {(fold(query.table), normalized(query.query_text)) for query in new}
    if not {table for table, _ in after} & {table for table, _ in before}:
        return Strategy.PIVOT
    return Strategy.RELAX if after <= before else Strategy.REWRITE


TECHNICAL: Final = frozenset(
    """
    api boolean bm25 catalog catalogue config database dataset embedding embeddings endpoint faceted facet facets
    filter filters fts fuzzy id index json keyword keywords lexical limit llm master mode modes null parameter
    parameters pivot query queries regex relax replan retry retries rewrite row rows schema score semantic
    similarity sql sqlite string syntax table tables threshold timeout token tokens tool vector vocabulary
    """.split()
)
"""Words that mean something to us and nothing to the person who asked."""

GAVE_UP: Final = (
    "I looked in several ways and found nothing that fits. "
    "Could you tell me a bit more about what you need, or shall I look for something close to it?"
)
FOUND: Final = "I found something for you; there is no need to look again."


def is_friendly(message: str, asked: str = "") -> bool:
    """True for one or two sentences of at most 300 characters without names, markup and technical terms.

    A word that the person used when they `asked` is theirs: who asks for a dark mode may read of a mode.
    """
    text = message.strip()
    sentences = [part for part in re.split(r"(?<=[.!?])\s+", text) if part]
    plain = not (set(tokens(text)) & TECHNICAL - set(tokens(asked))) and "_" not in text and "{" not in text
    return 0 < len(text) <= 300 and len(sentences) <= 2 and plain


def place_in_words(table: str) -> str:
    """Return a table's name as a place in a sentence; `in another place` for names that no person would use."""
    words = tokens(table.replace("_", " "))
    natural = 0 < len(words) <= 3 and all(word.isalpha() and len(word) > 2 for word in words)
    if not natural or set(words) & (TECHNICAL | {"tbl", "tab", "idx"}):
        return "in another place"
    return f"among the {' '.join(words)}" if words[-1].endswith("s") else f"in the {' '.join(words)} section"
