"""pivot: ask somewhere else, where the catalogue says that such things are."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice

from mcp_reflect.models.search import CatalogEntry, Query
from mcp_reflect.replan.catalog import Catalog, fit, in_table, subject, widest
from mcp_reflect.replan.moves.relax import lowered
from mcp_reflect.replan.moves.rewrite import texts
from mcp_reflect.replan.vocabulary import vocabulary

_OTHER_PLACES = 2  # more than two other tables is a search of everything, which the person did not ask for


def pivoted(query: Query, places: Catalog, message: str, taken: frozenset[str], retry: int) -> Iterator[Query]:
    """The need in the tables that fit it better than the failed one, the best first; filters stay behind.

    `taken` are the tables that were searched and need no second visit. From the second try on, any other
    table is better than giving up, and each gets one query before any gets two.
    """
    here = places.entry(query.table)
    need = f"{message} {query.query_text}"
    floor = fit(here, need) if here and retry <= 0 else -1.0
    others = [entry for entry in places.entries if entry.table != query.table and entry.table not in taken]
    fits = sorted((-fit(entry, need), place) for place, entry in enumerate(others))
    better = [others[place] for score, place in fits if -score > floor][:_OTHER_PLACES]
    if here is None and (near := places.nearest(query.table)):
        better = [near, *(entry for entry in better if entry is not near)]
    visits = [_visit(query, entry, message) for entry in better or others[: 1 if here is None else 0]]
    if retry <= 0:
        yield from chain(*visits)
    else:
        yield from chain(*(islice(visit, 1, 2) for visit in visits), *visits)


def _visit(query: Query, entry: CatalogEntry, message: str) -> Iterator[Query]:
    """The subject in another table, first in the query's own mode, then in the widest, then in other words."""
    base = replace(lowered(in_table(query, entry)), filters={})
    wide = replace(base, search_mode=widest(entry))
    text = " ".join(subject(entry, query.query_text))
    yield replace(base, query_text=text)
    yield replace(wide, query_text=text)
    for other in texts(query.query_text, message, vocabulary(entry.vocabulary), (), entry):
        yield replace(wide, query_text=other)
