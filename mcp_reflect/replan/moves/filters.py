"""Filters: which one the person cared for most, and which value was meant."""

from collections.abc import Mapping

from mcp_reflect.models.common import Json
from mcp_reflect.models.search import CatalogEntry, Query
from mcp_reflect.replan.spelling import edit_distance
from mcp_reflect.replan.words import fold, stem, tokens


def misspelled_values(query: Query, entry: CatalogEntry) -> dict[str, str]:
    """Filters whose value is none of the field's known values, with the known value that was meant."""
    wrong = {
        name: nearest_value(value, entry.fields[name])
        for name, value in query.filters.items()
        if isinstance(value, str) and entry.fields.get(name) and value not in entry.fields[name]
    }
    return {name: value for name, value in wrong.items() if value is not None}


def nearest_value(value: str, values: tuple[str, ...]) -> str | None:
    """The same words in other letters, another form of them, or one or two slips away."""
    plain = _plain(value)
    for known in values:
        if _plain(known) == plain:
            return known
    slips = 1 if len(plain) < 8 else 2
    best = min(((edit_distance(plain, _plain(known), slips), known) for known in values), default=(slips + 1, ""))
    return best[1] if len(plain) > 3 and best[0] <= slips else None


def mended(query: Query, entry: CatalogEntry | None) -> Mapping[str, Json]:
    """The filters with misspelled values put right."""
    return {**query.filters, **(misspelled_values(query, entry) if entry else {})}


def most_telling(filters: Mapping[str, Json], message: str) -> dict[str, Json]:
    """The one filter whose value the person named; the first of equals."""
    said = {stem(word) for word in tokens(message)}

    def named(name: str) -> int:
        value = filters[name]
        return sum(stem(word) in said for word in tokens(value)) if isinstance(value, str) else 0

    best = sorted(filters, key=lambda name: -named(name))[:1]
    return {name: filters[name] for name in best}


def _plain(value: str) -> str:
    return "".join(stem(word) for word in tokens(fold(value)))
