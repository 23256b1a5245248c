"""New queries for empty tables: the moves give candidates, those that were tried or cannot be run fall out."""

from collections.abc import Iterator
from itertools import chain, islice
from typing import Final, TypeAlias, TypeVar

from mcp_reflect.models.search import Query, SearchRequest, SearchState, Strategy
from mcp_reflect.replan import catalog, ledger
from mcp_reflect.replan.catalog import Catalog
from mcp_reflect.replan.moves.pivot import pivoted
from mcp_reflect.replan.moves.relax import loosest, mechanical, relaxed
from mcp_reflect.replan.moves.rewrite import rewritten

MOST_QUERIES: Final = 3
"""New queries for an empty table: a person waits for them all."""

_MOST_IN_ALL: Final = 30  # where more tables are empty than that allows, each has fewer, and at least one

_READ = 24  # candidates looked at for a table and strategy; the moves list the best first
_T = TypeVar("_T")

Move: TypeAlias = tuple[Strategy, Query]


def moves(
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
        sources = [_fresh(strategy, starts, request, state, places) for strategy in order]
        candidates = chain(*sources) if state.retry_count == 0 else _taking_turns(sources)
        new += _different(candidates, state, new, most)
    return new


def ladder(request: SearchRequest, state: SearchState, places: Catalog, failed: tuple[Query, ...]) -> tuple[Query, ...]:
    """One relaxed query for each failed one, as far as the ladder goes."""
    new: tuple[Query, ...] = ()
    for query in failed:
        steps = _steps(query, places, state.retry_count, request.user_message)
        fresh = (step for step in steps if _can_run(step, places) and ledger.refusal(step, state, new) is None)
        new += tuple(islice(fresh, 1))
    return new


def _starts(table: str, failed: tuple[Query, ...], state: SearchState) -> list[Query]:
    """The queries to start from: on a later try the original ones, with bounds as wide as they have become."""
    now = [query for query in failed if query.table == table]
    if state.retry_count == 0:
        return now
    originals = [query for query in state.original_queries if query.table == table and query not in now]
    return [*(loosest(query, now) for query in originals), *now]


def _fresh(
    strategy: Strategy, starts: list[Query], request: SearchRequest, state: SearchState, places: Catalog
) -> Iterator[Move]:
    """The strategy's candidates that can be run and were not tried; the failed queries take turns."""
    candidates = _taking_turns([_moved(strategy, query, request, state, places) for query in starts])
    for query in islice(candidates, _READ):
        if _can_run(query, places) and not ledger.is_hopeless(query, state):
            yield strategy, query


def _moved(
    strategy: Strategy, query: Query, request: SearchRequest, state: SearchState, places: Catalog
) -> Iterator[Query]:
    entry, retry = places.entry(query.table), state.retry_count
    match strategy:
        case Strategy.RELAX:
            return relaxed(query, entry, request.user_message, retry)
        case Strategy.REWRITE:
            return rewritten(query, entry, request.user_message, request.suggestions, retry)
        case Strategy.PIVOT:
            searched = frozenset(tried.query.table for tried in state.tried)
            return pivoted(query, places, request.user_message, searched, retry)


def _different(
    candidates: Iterator[Move], state: SearchState, planned: tuple[Move, ...], most: int
) -> tuple[Move, ...]:
    """The first `most` that differ from each other and from what is planned already."""
    new: tuple[Move, ...] = ()
    for strategy, query in candidates:
        if not ledger.is_hopeless(query, state, [other for _, other in planned + new]):
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
