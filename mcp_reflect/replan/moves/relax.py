"""relax: ask for less of the same. Law held by a test: no relaxed query lets through less than the one before."""

from collections.abc import Iterator
from dataclasses import replace

from mcp_reflect.models.search import CatalogEntry, Query
from mcp_reflect.replan.catalog import breadth, in_table, widest
from mcp_reflect.replan.moves import filters

FIRST_THRESHOLD = 0.15  # the ladder is part of the tool's contract: these three numbers are documented
LATER_THRESHOLD = 0.2
LATER_LIMIT = 20


def mechanical(query: Query, entry: CatalogEntry | None, retry: int) -> Query:
    """The fixed ladder: lower threshold and double limit first, later the widest mode.

    A threshold or limit that the query does not have is not put in: that could only let through less.
    """
    if retry <= 0:
        return _bounds(query, FIRST_THRESHOLD, 2 * (query.limit or 0))
    wide = _bounds(query, LATER_THRESHOLD, LATER_LIMIT)
    mode = widest(entry) if entry else query.search_mode
    return replace(wide, search_mode=mode) if breadth(mode) >= breadth(query.search_mode) else wide


def relaxed(query: Query, entry: CatalogEntry | None, message: str, retry: int) -> Iterator[Query]:
    """Fewer conditions at once: keep the one filter the person named, then none, then the ladder alone."""
    eased = mechanical(in_table(query, entry) if entry else query, entry, retry)
    if len(query.filters) > 1:
        yield replace(eased, filters=filters.most_telling(query.filters, message))
    if query.filters:
        yield replace(eased, filters={})
        yield replace(mechanical(eased, entry, retry + 1), filters={})
    yield eased
    yield mechanical(eased, entry, retry + 1)


def lowered(query: Query) -> Query:
    """The first step without the higher limit, for a search somewhere else."""
    return _bounds(query, FIRST_THRESHOLD, 0)


def loosest(query: Query, others: list[Query]) -> Query:
    """The query with the highest limit and the lowest threshold of all; none where any has none."""
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
