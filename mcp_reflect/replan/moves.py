"""The moves: each gives queries to run instead of a failed one, the best first."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice
from typing import Final

from mcp_reflect.models.common import Json
from mcp_reflect.models.search import CatalogEntry, Query
from mcp_reflect.replan.catalog import Catalog, breadth, fit, in_table, subject, widest
from mcp_reflect.replan.forms import filter_variants
from mcp_reflect.replan.statements import pivot_sql, relax_sql, rewrite_command, rewrite_sql
from mcp_reflect.replan.syntax import Tool, tool_of
from mcp_reflect.replan.vocabulary import Vocabulary, nearest
from mcp_reflect.replan.wordings import wordings
from mcp_reflect.replan.words import fold, normalized, stem, tokens

LADDER_THRESHOLDS: Final = (0.15, 0.2)
"""Thresholds of the fixed ladder of `relax_and_retry`, first and later; graphs of the older engine count on them."""
LATER_LIMIT: Final = 20

_STEP: Final = 0.6  # a threshold becomes this share of itself: 0.8, 0.48, 0.29
_LEAST: Final = {Tool.VECTOR: 0.2}  # below it a vector search returns whatever is nearest, however far that is
_OTHER_TABLES: Final = 3  # more than three other tables is a search of everything, which the person did not ask for
_SEPARATE: Final = 2  # wordings before the failed words come again with a looser threshold


# Filters


def misspelled_values(query: Query, entry: CatalogEntry) -> dict[str, str]:
    """Return the filters whose value the field does not have, with the known value that was meant."""
    wrong = {
        name: nearest_value(value, entry.fields[name])
        for name, value in query.filters.items()
        if isinstance(value, str) and entry.fields.get(name) and value not in entry.fields[name]
    }
    return {name: value for name, value in wrong.items() if value is not None}


def nearest_value(value: str, values: tuple[str, ...]) -> str | None:
    """Return the known value that is written nearly alike, or None."""
    plain = {_plain(known): known for known in reversed(values)}
    near = _plain(value) if _plain(value) in plain else nearest(_plain(value), plain)
    return plain[near] if near else None


def most_telling(filters: Mapping[str, Json], message: str) -> dict[str, Json]:
    """Return the one filter whose value the person named; the first of equals."""
    asked = {stem(word) for word in tokens(message)}

    def count(name: str) -> int:
        value = filters[name]
        return sum(stem(word) in asked for word in tokens(value)) if isinstance(value, str) else 0

    best = sorted(filters, key=lambda name: -count(name))[:1]
    return {name: filters[name] for name in best}


def _other_values(query: Query, known: Vocabulary, entry: CatalogEntry | None) -> Iterator[dict[str, Json]]:
    """The filters with one value written otherwise: as the vocabulary has it, or in another case."""
    for name, value in query.filters.items():
        if not isinstance(value, str) or (entry and value in entry.fields.get(name, ())):
            continue
        others = known.synonyms(value)[:1] or filter_variants(value)[:1]
        for other in others:
            yield {**query.filters, name: other}


def _plain(value: str) -> str:
    return "".join(stem(word) for word in tokens(fold(value)))


# Relax: ask for less of the same. No relaxed query lets through less than the one before, which a test holds.


def mechanical(query: Query, entry: CatalogEntry | None, retry: int) -> Query:
    """Return the next rung of the fixed ladder: lower threshold and double limit first, later the widest mode.

    A threshold or limit that the query does not have is not added: it could only let through less.
    """
    if retry <= 0:
        return _bounds(query, LADDER_THRESHOLDS[0], 2 * (query.limit or 0))
    wide = _bounds(query, LADDER_THRESHOLDS[1], LATER_LIMIT)
    mode = widest(entry) if entry else query.search_mode
    return replace(wide, search_mode=mode) if breadth(mode) >= breadth(query.search_mode) else wide


def loosened(query: Query, entry: CatalogEntry | None, steps: int) -> Query:
    """Return the query with its threshold lowered by steps and its limit doubled; from the second in the widest mode.

    A threshold stays above what the tool needs to tell a hit from a miss.
    """
    if query.score_threshold is not None:
        least = min(query.score_threshold, _LEAST.get(tool_of(query), 0.0))
        query = replace(query, score_threshold=max(least, _rounded_down(query.score_threshold * _STEP**steps)))
    query = replace(query, limit=None if query.limit is None else max(query.limit, min(2 * query.limit, 1_000_000)))
    mode = widest(entry) if entry and steps > 1 else query.search_mode
    return replace(query, search_mode=mode) if breadth(mode) >= breadth(query.search_mode) else query


def _rounded_down(threshold: float) -> float:
    return math.floor(threshold * 1000) / 1000


def relaxed(query: Query, entry: CatalogEntry | None, message: str, retry: int) -> Iterator[Query]:
    """Yield the query with fewer conditions: the filter that the person named, then none, then lower thresholds."""
    if tool_of(query) is Tool.SQL:
        yield from (replace(query, query_text=text) for text in relax_sql(query.query_text, message))
        return
    query = in_table(query, entry) if entry else query
    eased, further = (loosened(query, entry, retry + step) for step in (1, 2))
    if len(query.filters) > 1:
        yield replace(eased, filters=most_telling(query.filters, message))
    if query.filters:
        yield replace(eased, filters={})
        yield replace(further, filters={})
    yield eased
    yield further


def loosest(query: Query, others: list[Query]) -> Query:
    """Return the query with the highest limit and the lowest threshold of all; None where any has none."""
    limits = [other.limit for other in (query, *others)]
    thresholds = [other.score_threshold for other in (query, *others)]
    highest = [limit for limit in limits if limit is not None]
    lowest = [threshold for threshold in thresholds if threshold is not None]
    return replace(
        query,
        limit=max(highest) if len(highest) == len(limits) else None,
        score_threshold=min(lowest) if len(lowest) == len(thresholds) else None,
    )


def _bounds(query: Query, threshold: float, limit: int) -> Query:
    return replace(
        query,
        score_threshold=None if query.score_threshold is None else min(query.score_threshold, threshold),
        limit=None if query.limit is None else max(query.limit, limit),
    )


# Rewrite: ask for the same in other words


def rewritten(query: Query, places: Catalog, message: str, suggestions: tuple[str, ...], retry: int) -> Iterator[Query]:
    """Yield the query in other words, with looser bounds; on the first try with its filters, later without them."""
    entry, known, tool = places.entry(query.table), places.words_of(query.table), tool_of(query)
    if tool in {Tool.SQL, Tool.COMMAND}:
        text = query.query_text
        texts = rewrite_sql(text, entry, known) if tool is Tool.SQL else rewrite_command(text, known)
        yield from (replace(query, query_text=text) for text in texts)
        return
    base = loosened(in_table(query, entry) if entry else query, entry, retry + 1)
    if entry and breadth(base.search_mode) == 0:
        base = replace(base, search_mode=widest(entry))
    corrected = misspelled_values(query, entry) if entry else {}
    base = replace(base, filters={**query.filters, **corrected} if retry <= 0 else {})
    if corrected:
        yield base
    elif query.filters:
        yield from (replace(base, filters=filters) for filters in _other_values(query, known, entry))
    if not query.query_text.strip():
        for name, value in query.filters.items():
            others = {other: kept for other, kept in query.filters.items() if other != name}
            yield replace(base, query_text=str(value), filters=others)
    texts = wordings(query.query_text, message, known, suggestions, entry, tool)
    for text in _others_first(query.query_text, texts):
        yield replace(base, query_text=text)


def _others_first(failed: str, texts: Iterator[str]) -> Iterator[str]:
    """The failed words themselves, worth another try with looser bounds, after two that are really other words."""
    held: list[str] = []
    count = 0
    for text in texts:
        if normalized(text) == normalized(failed) and count < _SEPARATE:
            held.append(text)
            continue
        yield text
        count += bool(text)
        if count >= _SEPARATE:
            yield from held
            held.clear()
    yield from held


# Pivot: ask somewhere else, where the catalog says that such things are


def pivoted(query: Query, places: Catalog, message: str, searched: frozenset[str], retry: int) -> Iterator[Query]:
    """Yield the need in the tables that fit it better than the failed one, the best first; filters stay behind.

    `searched` are the tables that were searched already. From the second try on, any other table is better than giving
    up, and each gets one query before any gets two.
    """
    here = places.entry(query.table)
    need = f"{message} {query.query_text}"
    least = fit(here, need) if here and places.is_described(query.table) and retry <= 0 else -1.0
    others = [entry for entry in places.described if entry.table != query.table and entry.table not in searched]
    fits = sorted((-fit(entry, need), place) for place, entry in enumerate(others))
    better = [others[place] for score, place in fits if -score > least][:_OTHER_TABLES]
    if here is None and (near := places.nearest(query.table)):
        better = [near, *(entry for entry in better if entry is not near)]
    visits = [_visit(query, entry, message) for entry in better or others[: 1 if here is None else 0]]
    yield from chain(*(islice(visit, 1) if retry <= 0 else islice(visit, 1, 2) for visit in visits), *visits)


def _visit(query: Query, entry: CatalogEntry, message: str) -> Iterator[Query]:
    """The subject in another table, first in the query's own mode, then in the widest, then in other words."""
    tool = tool_of(query)
    if tool is Tool.SQL:
        for text in pivot_sql(query.query_text, entry):
            yield replace(query, table=entry.table, query_text=text)
        return
    limit = query.limit
    base = replace(loosened(in_table(query, entry), entry, 1), filters={}, limit=limit)
    wide = replace(base, search_mode=widest(entry))
    text = " ".join(subject(entry, query.query_text)) if tool is Tool.TEXT else query.query_text
    yield replace(base, query_text=text)
    yield replace(wide, query_text=text)
    for other in wordings(query.query_text, message, Vocabulary(entry.vocabulary), (), entry, tool):
        yield replace(wide, query_text=other)
