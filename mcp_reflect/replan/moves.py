"""The moves: each gives queries to run instead of a failed one, the likeliest first."""

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import Final

from mcp_reflect.models.search import CatalogEntry, Query
from mcp_reflect.replan.catalog import Catalog, breadth, in_table, nearest, widest
from mcp_reflect.replan.syntax import Tool, pivot_sql, relax_sql, rewrite_command, rewrite_sql, tool_of
from mcp_reflect.replan.wordings import wordings
from mcp_reflect.replan.words import tokens
from mcp_reflect.stemmer import stem

_STEP: Final = 0.6  # a threshold becomes this share of itself: 0.8, 0.48, 0.29
_LEAST: Final = 0.2  # below it a vector search returns whatever is nearest, however far that is
_MOST_ROWS: Final = 1_000_000
_OTHER_TABLES: Final = 3  # more than three other tables is a search of everything, which the person did not ask for


# Relax: ask for less of the same. No relaxed query lets through less than the one before, which a test holds.


def ladder(query: Query, entry: CatalogEntry | None, retry: int) -> Query:
    """Return the next rung of the fixed ladder: lower threshold and double limit first, later the widest mode.

    A threshold or limit that the query does not have is not added: it could only let through less. Graphs of an older
    engine count on the numbers.
    """
    if retry <= 0:
        return _bounded(query, 0.15, 2 * (query.limit or 0))
    return _widened(_bounded(query, 0.2, 20), entry)


def loosened(query: Query, entry: CatalogEntry | None, steps: int) -> Query:
    """Return the query with its threshold lowered by steps and its limit doubled; from the second in the widest mode.

    A threshold stays above what the tool needs to tell a hit from a miss.
    """
    threshold = math.floor((query.score_threshold or 0) * _STEP**steps * 1000) / 1000
    threshold = max(threshold, _LEAST if tool_of(query) is Tool.VECTOR else 0.0)
    loose = _bounded(query, threshold, min(2 * (query.limit or 0), _MOST_ROWS))
    return _widened(loose, entry) if steps > 1 else loose


def relaxed(query: Query, entry: CatalogEntry | None, retry: int) -> Iterator[Query]:
    """Yield the query without its filters, then with lower thresholds."""
    if tool_of(query) is Tool.SQL:
        yield from (replace(query, query_text=text) for text in relax_sql(query.query_text))
        return
    query = in_table(query, entry) if entry else query
    eased, further = (loosened(query, entry, retry + step) for step in (1, 2))
    if query.filters:
        yield replace(eased, filters={})
        yield replace(further, filters={})
    yield eased
    yield further


def _bounded(query: Query, threshold: float, limit: int) -> Query:
    """The query with at most that threshold and at least that limit, where it has them."""
    return replace(
        query,
        score_threshold=None if query.score_threshold is None else min(query.score_threshold, threshold),
        limit=None if query.limit is None else max(query.limit, limit),
    )


def _widened(query: Query, entry: CatalogEntry | None) -> Query:
    mode = widest(entry) if entry else query.search_mode
    return replace(query, search_mode=mode) if breadth(mode) >= breadth(query.search_mode) else query


# Rewrite: ask for the same in other words


def rewritten(query: Query, places: Catalog, message: str, suggestions: tuple[str, ...], retry: int) -> Iterator[Query]:
    """Yield the query in other words, with looser bounds; on the first try with its filters, later without them."""
    entry, known, tool = places.entry(query.table), places.words_of(query.table), tool_of(query)
    if tool in {Tool.SQL, Tool.COMMAND}:
        text = query.query_text
        texts = rewrite_sql(text, entry) if tool is Tool.SQL else rewrite_command(text)
        yield from (replace(query, query_text=text) for text in texts)
        return
    base = loosened(in_table(query, entry) if entry else query, entry, retry + 1)
    if entry and breadth(base.search_mode) == 0:
        base = replace(base, search_mode=widest(entry))
    corrected = misspelled_values(query, entry) if entry else {}
    base = replace(base, filters={**query.filters, **corrected} if retry <= 0 else {})
    if corrected:
        yield base
    for name, value in query.filters.items() if not corrected else ():
        if isinstance(value, str) and not (entry and value in entry.fields.get(name, ())):
            cases = (case for case in (value.upper(), value.capitalize(), value.lower()) if case != value)
            for other in (*known.near(value)[:1], *cases)[:1]:
                yield replace(base, filters={**query.filters, name: other})
        if not query.query_text.strip():
            others = {other: kept for other, kept in query.filters.items() if other != name}
            yield replace(base, query_text=str(value), filters=others)
    texts = wordings(query.query_text, message, known, suggestions, tool)
    yield from (replace(base, query_text=text) for text in texts if text)


def misspelled_values(query: Query, entry: CatalogEntry) -> dict[str, str]:
    """Return the filters whose value the field does not have, with the known value that is written nearly alike."""
    corrected: dict[str, str] = {}
    for name, value in query.filters.items():
        plain = {"".join(map(stem, tokens(known))): known for known in reversed(entry.fields.get(name, ()))}
        near = nearest("".join(map(stem, tokens(value))), plain) if isinstance(value, str) else None
        if near and plain[near] != value:
            corrected[name] = plain[near]
    return corrected


# Pivot: ask somewhere else, where the catalog says that such things are


def pivoted(query: Query, places: Catalog, message: str, searched: frozenset[str], retry: int) -> Iterator[Query]:
    """Yield the need in the tables that fit it better than the failed one, the best first; filters stay behind.

    `searched` are the tables that were searched already. From the second try on, any other table is better than giving
    up, and each gets one query before any gets two.
    """
    here = places.entry(query.table)
    need = f"{message} {query.query_text}"
    least = places.fit(here, need) if here and places.is_described(query.table) and retry <= 0 else -1.0
    others = [entry for entry in places.described if entry.table != query.table and entry.table not in searched]
    fits = {entry.table: places.fit(entry, need) for entry in others}
    better = sorted((entry for entry in others if fits[entry.table] > least), key=lambda entry: -fits[entry.table])
    if here is None and (near := places.nearest(query.table)):
        better = [near, *(entry for entry in better if entry is not near)]
    visits = [_visit(query, entry, places, message) for entry in better[:_OTHER_TABLES]]
    yield from chain(*(islice(visit, 1) for visit in visits), *visits)


def _visit(query: Query, entry: CatalogEntry, places: Catalog, message: str) -> Iterator[Query]:
    """The subject in another table, first in the query's own mode, then in the widest, then in other words."""
    tool = tool_of(query)
    if tool is Tool.SQL:
        for text in pivot_sql(query.query_text, entry):
            yield replace(query, table=entry.table, query_text=text)
        return
    base = replace(loosened(in_table(query, entry), entry, 1), filters={}, limit=query.limit)
    wide = replace(base, search_mode=widest(entry))
    yield base
    yield wide
    for other in wordings(query.query_text, message, places.words_of(entry.table), (), tool):
        yield replace(wide, query_text=other)
