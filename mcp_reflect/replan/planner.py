"""The plan for a failed search: by rules, or as a model or the host proposes it and rules check it. Deterministic."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice, zip_longest
from typing import Final, TypeAlias

from mcp_reflect.models.search import (
    CatalogEntry,
    EmptyCause,
    OpenMove,
    Proposal,
    Query,
    SearchPlan,
    SearchRequest,
    SearchState,
    Strategy,
    Tried,
)
from mcp_reflect.replan import attempts, diagnosis
from mcp_reflect.replan.catalog import Catalog, in_table
from mcp_reflect.replan.moves import ladder, pivoted, relaxed, rewritten
from mcp_reflect.replan.words import stems

MOST_QUERIES: Final = 3
"""New queries for an empty table: a person waits for them all."""

REPLACED: Final = "replaced by the plan of the rules"
"""The note of a plan in which nothing of a proposal is left."""

_MOST_IN_ALL: Final = (
    30  # where more tables are empty than that allows, each has fewer, and at least one
)
_LOOSER: Final = 0.6  # share of the failed threshold that a proposal without one gets
_READ_CANDIDATES: Final = (
    24  # candidates looked at for a table and strategy; the moves list the likeliest first
)
_Move: TypeAlias = tuple[Strategy, Query]


class _Case:
    """One failed search with all that is known of it; `earlier` is the state before this call was taken in."""

    def __init__(self, request: SearchRequest, earlier: SearchState) -> None:
        self.request = request
        self.state = attempts.observe(earlier, request)
        self.places = Catalog(request)
        self.findings = diagnosis.diagnose(request, self.places)
        self.failed = tuple(
            query for query in request.queries if attempts.is_empty(request, query.table)
        )
        gave_up = (
            earlier.pending is not None and earlier.pending.give_up
        )  # what is found then is found late
        self.is_found = bool(request.queries) and not self.failed
        self.is_found |= gave_up and any((request.results or {}).values())
        # The first call helps up to the maximum: callers count from 0 or from 1.
        self.is_over = self.state.retry_count + bool(earlier.tried) > request.max_retries
        self.is_open = not self.is_over and not self.is_found
        # A search without a mode ran in that of the table.
        unnamed = [
            in_table(query, self.places.entry(query.table))
            for query in self.failed
            if not query.search_mode
        ]
        self.tried = (*self.state.tried, *(Tried(query=query) for query in unnamed))

    def plan(
        self, strategy: Strategy, new: tuple[Query, ...], *, reasoning: str = ""
    ) -> SearchPlan:
        """The plan with these queries; without any, the search is given up, or it found something."""
        cause = next(
            (finding.cause for finding in self.findings if finding.cause), EmptyCause.UNKNOWN
        )
        ask = OpenMove(move="ask", write="one question to the person: which part matters most?")
        moves = () if new or self.is_found else (ask,)
        if self.is_found:
            reasoning, message = (
                "The search returned something; there is nothing to plan.",
                diagnosis.FOUND,
            )
        elif new:
            reasoning = reasoning or diagnosis.explain(self.findings)
            message = diagnosis.message_of(
                strategy, new, {query.table for query in self.failed}, cause
            )
        else:
            message = diagnosis.GAVE_UP if len(self.state.tried) > 2 else diagnosis.ASKS
            reasoning = self._last_words()
        if self.is_open and len(new) < MOST_QUERIES * len(self.failed):
            query = self.failed[0]
            write = diagnosis.to_write(
                query, self.request.user_message, self.places.words_of(query.table)
            )
            other = diagnosis.elsewhere(query, self.request.user_message, self.places)
            if other and len(new) < MOST_QUERIES - 1:  # four moves are enough
                moves = (OpenMove(move="pivot", write=f"the same in another table: {other}"), ask)
            moves = (OpenMove(move="rewrite", write=write), *moves)
        return SearchPlan(
            strategy=strategy,
            reasoning=reasoning,
            user_message=message,
            new_queries=new,
            kept_queries=tuple(query for query in self.request.queries if query not in self.failed),
            give_up=not new and not self.is_found,
            retry_count=self.state.retry_count + 1,
            cause=cause,
            open_moves=moves,
        )

    def _last_words(self) -> str:
        """What was tried, and what would show more than words can: the data's tables, its fields, some rows."""
        why = "no retries are left" if self.is_over else "nothing new is left to try"
        tables = list(dict.fromkeys(query.table for query in self.failed))
        listed = (
            ""
            if all(map(self.places.is_described, tables))
            else "a list of the tables, sent as the catalog; "
        )
        settle = f"{listed}their fields and values; a sample of rows of {', '.join(tables[:3])} without any condition"
        tried = attempts.describe([entry.query for entry in self.state.tried])
        told = "; ".join(tried[:20]) + (f"; and {len(tried) - 20} more" if len(tried) > 20 else "")
        return f"Giving up: {why}. Tried: {told}. What would settle it: {settle}."

    def can_run(self, query: Query) -> bool:
        """True if the table and mode exist and the query asks for something."""
        entry = self.places.entry(query.table)
        modes = (entry.search_modes or ("",)) if entry else ()
        return query.search_mode in modes and bool(query.query_text.strip() or query.filters)

    def moves(self, order: tuple[Strategy, ...]) -> Iterator[_Move]:
        """Up to three new queries for each empty table, each with the strategy that it comes from.

        The chosen strategy has them all, and the others fill what it leaves.
        """
        tables = dict.fromkeys(query.table for query in self.failed)
        most = max(1, min(MOST_QUERIES, _MOST_IN_ALL // max(1, len(tables))))
        tried = list(self.tried)
        for table in tables:
            failed = [query for query in self.failed if query.table == table]
            turns = (
                zip_longest(*(self._moved(strategy, query) for query in failed))
                for strategy in order
            )
            candidates = filter(
                None, chain(*(islice(chain(*rows), _READ_CANDIDATES) for rows in turns))
            )
            fresh = (
                move
                for move in candidates
                if self.can_run(move[1]) and not attempts.repeated(move[1], tried)
            )
            for strategy, query in islice(fresh, most):
                tried.append(Tried(query=query))
                yield strategy, query

    def _message_for(self, query: Query) -> str:
        """The message without words that only queries of other tables ask for: the plan had divided the question."""
        own = stems(query.query_text)
        others = frozenset[str]()
        for other in self.request.queries:
            if other.table != query.table:
                others |= stems(other.query_text)
        kept = [
            word for word in self.request.user_message.split() if not stems(word) & (others - own)
        ]
        return " ".join(kept) if others - own else self.request.user_message

    def _moved(self, strategy: Strategy, query: Query) -> Iterator[_Move]:
        """The strategy's queries for a failed one."""
        message, retry = self._message_for(query), self.state.retry_count
        if strategy is Strategy.RELAX:
            new = relaxed(query, self.places, retry)
        elif strategy is Strategy.REWRITE:
            new = rewritten(query, self.places, message, self.request.suggestions, retry)
        else:
            searched = frozenset(entry.query.table for entry in self.state.tried)
            new = pivoted(query, self.places, message, searched, retry)
        return ((strategy, query) for query in new)


def plan(request: SearchRequest, state: SearchState) -> SearchPlan:
    """Return what to search next. Every new query names a table and mode that exist and was never tried here."""
    case = _Case(request, state)
    order = diagnosis.choose(case.findings)
    moves = tuple(case.moves(order)) if case.is_open else ()
    last = state.pending.strategy if state.pending and not case.is_found else order[0]
    return case.plan(moves[0][0] if moves else last, tuple(query for _, query in moves))


def relax_only(request: SearchRequest, state: SearchState, *, reasoning: str = "") -> SearchPlan:
    """Return the fixed ladder: each empty query with lower threshold and higher limit, later in the widest mode."""
    case, new = _Case(request, state), list[Query]()
    retry, tried = case.state.retry_count, list(case.tried)
    for query in case.failed if case.is_open else ():
        entry = case.places.entry(query.table) or case.places.nearest(query.table)
        base = in_table(query, entry)
        is_new = request.takes_bounds and query.score_threshold is None
        for step in (
            ladder(base, entry, retry),
            ladder(base, entry, retry + 1),
            *relaxed(query, case.places, retry),
        ):
            if case.can_run(step) and (
                is_new or not attempts.repeated(step, tried, more_rows=True)
            ):
                new.append(step)
                tried.append(Tried(query=step))
                break
    return case.plan(Strategy.RELAX, tuple(new), reasoning=reasoning)


def needs_plan(request: SearchRequest, state: SearchState) -> bool:
    """Return True if a proposal could be used: something is empty, and a retry is left."""
    return _Case(request, state).is_open


def accept(proposal: Proposal, request: SearchRequest, state: SearchState) -> SearchPlan:
    """Return the proposed plan, corrected, or the plan of the rules with the reasons where nothing of it is left.

    To replace the pending plan of the same failure, pass `attempts.reopen(state)`.
    """
    case = _Case(request, state)
    new: tuple[Query, ...] = ()
    notes: tuple[str, ...] = ()
    for number, proposed in enumerate(proposal.new_queries if case.is_open else (), 1):
        relaxes = proposal.strategy is Strategy.RELAX and request.takes_bounds
        query, remarks = _corrected(proposed, case, relaxes=relaxes)
        refused = _not_there(query, case) or _refusal(query, case, new, relaxes=relaxes)
        remarks += (f"refused: {refused}",) if refused else ()
        new += () if refused else (query,)
        notes += tuple(f"query {number}: {remark}" for remark in remarks)
    if not new:
        mechanical = plan(request, state)
        why = "; ".join(notes) or (
            "it has no queries" if case.is_open else "nothing is empty, or no retry is left"
        )
        reasoning = (
            f"The proposed plan was replaced by that of the rules: {why}. {mechanical.reasoning}"
        )
        return replace(mechanical, reasoning=reasoning, notes=(*notes, REPLACED))
    strategy = proposal.strategy or _strategy_of(new, request)
    made = replace(case.plan(strategy, new, reasoning=proposal.reasoning), notes=notes)
    if diagnosis.is_friendly(proposal.user_message, request.user_message):
        return replace(made, user_message=proposal.user_message.strip())
    return replace(
        made, notes=(*notes, "user_message replaced: one or two sentences without technical terms")
    )


def _not_there(query: Query, case: _Case) -> str | None:
    """Why a table cannot be searched: the caller's catalog has neither it nor one of a similar name."""
    known, searched = case.request.open_tables, {other.table for other in case.request.queries}
    is_known = not case.places.described or case.places.is_described(query.table)
    if (
        is_known
        or query.table in searched
        or (known is not None and query.table in (known or (query.table,)))
    ):
        return None
    return f"the catalog has no table {query.table}"


def _refusal(query: Query, case: _Case, planned: tuple[Query, ...], *, relaxes: bool) -> str | None:
    if not query.query_text.strip() and not query.filters:
        return "it asks for nothing"
    if sum(other.table == query.table for other in planned) >= MOST_QUERIES:
        return f"more than {MOST_QUERIES} queries for {query.table}"
    # A graph has a threshold of its own where a query names none, and relaxing goes below it.
    ran = [entry for entry in case.tried if not relaxes or entry.query.score_threshold is not None]
    tried = attempts.repeated(
        query, (*ran, *(Tried(query=other) for other in planned)), more_rows=True
    )
    return f"{attempts.describe([query])[0]} was tried before" if tried else None


def _corrected(query: Query, case: _Case, *, relaxes: bool) -> tuple[Query, tuple[str, ...]]:
    """The query for a table and mode that exist, with the tool, limit and a looser threshold of the failed one."""
    places, queries = case.places, case.request.queries
    entry = places.entry(query.table) or (places.nearest(query.table) if places.described else None)
    table = entry.table if entry else _meant(query.table, case.request.open_tables or ())
    notes = (f"table {query.table} corrected to {table}",) if table != query.table else ()
    is_open = table in (case.request.open_tables or ())
    notes += () if entry or is_open else (f"table {table} is unverified: no catalog describes it",)
    same_table = next((other for other in queries if other.table == table), None)
    failed = same_table or next(iter(queries), query)
    threshold = failed.score_threshold and round(_LOOSER * failed.score_threshold, 3)
    if relaxes:
        rung = ladder(failed, None, case.state.retry_count)
        threshold, query = (
            rung.score_threshold,
            replace(query, limit=max(query.limit or 0, rung.limit or 0, 20)),
        )
    made = replace(
        query,
        table=table,
        search_mode=query.search_mode or (same_table.search_mode if same_table else ""),
        tool=query.tool or failed.tool,
        limit=query.limit or failed.limit,
        score_threshold=threshold if query.score_threshold is None else query.score_threshold,
    )
    if entry and places.is_described(table):
        made = in_table(made, entry)
    elif case.request.open_tables is not None:  # it has the modes that the others have
        modes = tuple(dict.fromkeys(mode for one in places.described for mode in one.search_modes))
        made = in_table(made, CatalogEntry(table=table, search_modes=modes)) if modes else made
    if query.search_mode not in ("", made.search_mode):
        notes += (f"mode {query.search_mode} corrected to {made.search_mode or 'none'}",)
    return made, notes


def _meant(table: str, known: tuple[str, ...]) -> str:
    """The table of a known name that was meant, in another case or number: `exhibitor` is `exhibitors`."""
    return Catalog.nearest_name(table, known) or table


def _strategy_of(new: tuple[Query, ...], request: SearchRequest) -> Strategy:
    """The strategy that the queries show, where the proposal does not name one."""
    before = {attempts.key(query)[:3:2] for query in request.queries}
    after = {attempts.key(query)[:3:2] for query in new}
    if {table for table, _ in after}.isdisjoint(table for table, _ in before):
        return Strategy.PIVOT
    return Strategy.RELAX if after <= before else Strategy.REWRITE
