"""The three moves after a failed query: relax it, rewrite it, or pivot to another table.

Each gives queries to run in its place, the best first.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Final

from mcp_reflect.models.search import CatalogEntry, Query
from mcp_reflect.replan.catalog import Catalog, breadth, impossible_filters, in_table, widest
from mcp_reflect.replan.syntax import Tool, tool_of
from mcp_reflect.replan.wordings import wordings

MARGIN: Final = 0.5
"""How much better another table has to fit: a word of its description counts 1."""

_MOST_ROWS: Final = 1_000_000
"""The largest limit that a doubled limit may be."""

# The fixed ladder, with the numbers of the graphs that it comes from.
_FIRST_THRESHOLD: Final = 0.15
_LATER_THRESHOLD: Final = 0.2
_USUAL_LIMIT: Final = 10
_LATER_LIMIT: Final = 20

_OTHER_TABLES: Final = 3
"""Other tables that are searched at most: more is a search of everything, which the person did not ask for."""


# Relax: ask for less of the same. No relaxed query lets through less than the one before, which a test holds.


def ladder(query: Query, entry: CatalogEntry | None, retry: int) -> Query:
    """Return the query with looser bounds, by a fixed ladder.

    | retry | threshold       | limit                         | mode                |
    |-------|-----------------|-------------------------------|---------------------|
    | 0     | 0.15 at most    | twice the query's, 20 without | the query's         |
    | later | 0.2 at most     | the query's, at least 20      | the table's widest  |

    So a query without a threshold or limit gets one, as in the graphs that count on these numbers.
    """
    threshold = query.score_threshold
    if threshold is None:
        threshold = 1.0  # the highest that there is: the ladder's are lower
    if retry <= 0:
        return replace(
            query,
            score_threshold=min(threshold, _FIRST_THRESHOLD),
            limit=2 * (query.limit or _USUAL_LIMIT),
        )
    return replace(
        query,
        search_mode=_no_narrower_mode(query, entry),
        score_threshold=min(threshold, _LATER_THRESHOLD),
        limit=max(query.limit or 0, _LATER_LIMIT),
    )


def _no_narrower_mode(query: Query, entry: CatalogEntry | None) -> str:
    """Return the table's widest mode, or the query's own if that is wider than all that are known."""
    if entry is None:
        return query.search_mode
    mode = widest(entry)
    if breadth(mode) < breadth(query.search_mode):
        return query.search_mode
    return mode


def with_looser_bounds(query: Query, entry: CatalogEntry | None, retry: int) -> Query:
    """Return a query as the ladder has it at this retry, but without a threshold or limit where the query has none.

    With retry 0, a threshold of 0.4 and no limit become 0.15 and no limit.
    """
    by_ladder = ladder(query, entry, retry)
    threshold = query.score_threshold and by_ladder.score_threshold
    limit = query.limit
    if limit is not None:
        limit = max(limit, min(by_ladder.limit or 0, _MOST_ROWS))
    return replace(by_ladder, score_threshold=threshold, limit=limit)


def relaxed(query: Query, catalog: Catalog, retry: int) -> Iterator[Query]:
    """Yield the query with looser bounds, three times: without impossible filters, without any, with the next bounds."""
    entry = catalog.entry(query.table)
    query = in_table(query, entry)
    impossible = impossible_filters(query, entry)
    possible = {name: value for name, value in query.filters.items() if name not in impossible}
    looser = with_looser_bounds(query, entry, retry)
    yield replace(looser, filters=possible)
    yield replace(looser, filters={})
    yield replace(with_looser_bounds(query, entry, retry + 1), filters={})


# Rewrite: ask for the same in other words


def rewritten(
    query: Query, catalog: Catalog, message: str, suggestions: tuple[str, ...], retry: int
) -> Iterator[Query]:
    """Yield the query in other words and with looser bounds.

    The first retry keeps the filters; one for a value that the catalog does not list has the listed value that was meant
    (`state=Opened` becomes "open"), or is dropped where there is none. Later retries keep no filter. A query without a
    text asks for the values of its filters as its text.
    """
    entry = catalog.entry(query.table)
    looser = with_looser_bounds(in_table(query, entry), entry, retry)
    if entry and breadth(looser.search_mode) == 0:
        looser = replace(looser, search_mode=widest(entry))
    meant_values = impossible_filters(query, entry)
    filters: dict[str, object] = {}
    if retry <= 0:
        corrected_filters = {
            name: meant_values.get(name, value) for name, value in query.filters.items()
        }
        filters = {name: value for name, value in corrected_filters.items() if value is not None}
    looser = replace(looser, filters=filters)
    if any(meant_values.values()) or not query.query_text.strip():
        values = " ".join(map(str, query.filters.values()))
        yield replace(looser, query_text=query.query_text or values)
    vocabulary = catalog.words_of(query.table)
    for text in wordings(query, message, vocabulary, suggestions):
        if text:
            yield replace(looser, query_text=text)


# Pivot: ask somewhere else, where the catalog says that such things are


def pivoted(
    query: Query, catalog: Catalog, message: str, searched: frozenset[str], retry: int
) -> Iterator[Query]:
    """Yield the search for other tables that fit it better than the failed one, the best first, without filters.

    `searched` are the tables that were searched already. Each table gets one query before any gets two. An SQL statement
    or a command names its table or folder itself, so that it cannot be asked elsewhere.
    """
    if tool_of(query) in {Tool.SQL, Tool.COMMAND}:
        return
    names = _better_tables(query, catalog, message, searched, retry)
    meant_table = _meant_table(query, catalog)
    if meant_table is not None:
        names = list(dict.fromkeys([meant_table.table, *names]))
    most_tables = _OTHER_TABLES if retry > 0 else 1
    entries = [entry for entry in map(catalog.entry, names) if entry is not None]
    visits = [_visit(query, entry, catalog, message) for entry in entries[:most_tables]]
    for visit in visits:
        yield from islice(visit, 1)
    for visit in visits:
        yield from visit


def _better_tables(
    query: Query, catalog: Catalog, message: str, searched: frozenset[str], retry: int
) -> list[str]:
    """Return the described tables that were not searched and fit the need better than the failed one, the best first.

    They have to fit better by MARGIN. From the second retry on, any other table is better than giving up.
    """
    need = f"{message} {query.query_text}"
    failed_table = catalog.entry(query.table)
    least_relevance = -1.0
    if failed_table and catalog.is_described(query.table) and retry <= 0:
        least_relevance = catalog.relevance(failed_table, need) + MARGIN
    relevance: dict[str, float] = {}
    for entry in catalog.described:
        if entry.table not in searched:
            relevance[entry.table] = catalog.relevance(entry, need)
    better = [table for table in relevance if relevance[table] > least_relevance]
    return sorted(better, key=lambda table: -relevance[table])


def _meant_table(query: Query, catalog: Catalog) -> CatalogEntry | None:
    """Return the table that the query should have named, or its own table where only the mode was wrong.

    None where the query named a table and a mode that exist, or a table that is like no other.
    """
    searched_table = catalog.entry(query.table)
    if searched_table is None:
        return catalog.nearest(query.table)
    if query.search_mode not in searched_table.search_modes:
        return searched_table
    return None


def _visit(query: Query, entry: CatalogEntry, catalog: Catalog, message: str) -> Iterator[Query]:
    """Yield the query for another table, in several wordings.

    Where the words of the table are known, the first wording in them comes before the text as it was.
    """
    query_there = replace(
        with_looser_bounds(in_table(query, entry), entry, 0), filters={}, limit=query.limit
    )
    vocabulary = catalog.words_of(entry.table)
    texts = [text for text in wordings(query, message, vocabulary) if text]
    are_words_known = bool(vocabulary.words)
    texts.insert(1 if are_words_known else 0, query.query_text)
    for text in texts:
        yield replace(query_there, query_text=text)
