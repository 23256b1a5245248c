"""The moves: each gives queries to run instead of a failed one, the best first."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice
from typing import Final

from mcp_reflect.models.common import Json
from mcp_reflect.models.search import CatalogEntry, Query
from mcp_reflect.replan.catalog import Catalog, breadth, fit, in_table, subject, widest
from mcp_reflect.replan.words import (
    ABBREVIATIONS,
    Vocabulary,
    content,
    edit_distance,
    fold,
    names,
    normalised,
    other_number,
    parts_of_names,
    short_forms,
    stem,
    telling,
    tokens,
    unquoted,
    vocabulary,
)

# Filters: which one the person cared for most, and which value was meant.


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


# relax: ask for less of the same. Law held by a test: no relaxed query lets through less than the one before.


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
        yield replace(eased, filters=most_telling(query.filters, message))
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


# What the search tool itself proposed: ranked, since trying them all is not an option.


_PLACE: Final = 0.05  # what a place further down the tool's list costs: a tool orders by likeness
_LENGTH: Final = 0.03  # what a word more costs: a short text finds the longer ones as well
_FOUND: Final = 0.3  # what it costs to have all words of an earlier suggestion, which finds it too
_READ: Final = 50  # suggestions read; tools propose ten or so
"""The first three were set on the development episodes, in the middle of a flat stretch, not at its peak."""


def ranked_suggestions(suggestions: tuple[str, ...], text: str, message: str) -> tuple[str, ...]:
    """The suggestions, best first: like what was searched, and adding words of what was asked.

    A suggestion of the very words that failed is left out; of equal ones the first stays.
    """
    wanted, asked, failed = _stems(text), _stems(message), set(tokens(text))

    def score(place: int) -> float:
        own = _stems(suggestions[place])
        like = len(own & wanted) / max(1, len(own | wanted))
        new = len((own & asked) - wanted) / max(1, len(own))
        return like + new - _PLACE * place - _LENGTH * len(own)

    scores: dict[tuple[str, ...], tuple[float, str]] = {}
    for place, suggestion in enumerate(suggestions[:_READ]):
        if set(tokens(suggestion)) not in (failed, set()):
            scores.setdefault(tokens(suggestion), (score(place), suggestion.strip()))
    return tuple(_without_echoes(sorted(scores.values(), key=lambda scored: -scored[0])))


def _without_echoes(scored: list[tuple[float, str]]) -> list[str]:
    """In order of score, less for what an earlier pick finds as well."""
    picked: list[str] = []
    rest = [(score, suggestion, _stems(suggestion)) for score, suggestion in scored]
    while rest:
        chosen = [_stems(suggestion) for suggestion in picked]
        best = max(rest, key=lambda item: item[0] - _FOUND * any(other <= item[2] for other in chosen))
        rest.remove(best)
        picked.append(best[1])
    return picked


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in content(text))


# rewrite: ask for the same in other words, those of the data where they are known.


_OTHERS = 2
_OFFERED = 2  # suggestions before our own words: a tool that suggests nothing to the point must not have all three
_MOST_WORDS = 12  # a text of more words is a document; search engines weigh the rest as noise


def rewritten(
    query: Query, entry: CatalogEntry | None, message: str, suggestions: tuple[str, ...], retry: int
) -> Iterator[Query]:
    """The query in other words, bounds eased; on the first try with its filters, later without them."""
    base = mechanical(in_table(query, entry) if entry else query, entry, retry)
    base = replace(base, filters=mended(query, entry) if retry <= 0 else {})
    if entry and breadth(base.search_mode) == 0:
        base = replace(base, search_mode=widest(entry))
    if base.filters != query.filters:
        yield base
    known = vocabulary(entry.vocabulary if entry else ())
    for text in _others_first(query.query_text, texts(query.query_text, message, known, suggestions, entry)):
        yield replace(base, query_text=text)


def _others_first(failed: str, wordings: Iterator[str]) -> Iterator[str]:
    """The failed words themselves, worth another try with eased bounds, after two that are really other words."""
    held: list[str] = []
    given = 0
    for text in wordings:
        if normalised(text) == normalised(failed) and given < _OTHERS:
            held.append(text)
            continue
        yield text
        given += bool(text)
        if given >= _OTHERS:
            yield from held
            held.clear()
    yield from held


def texts(
    text: str, message: str, known: Vocabulary, suggestions: tuple[str, ...], entry: CatalogEntry | None = None
) -> Iterator[str]:
    """Other wordings, the best first: what the tool suggests, the text put right, more of it, less of it.

    A mode's name does not tell whether the engine takes any word or asks for all, so both get their share of
    the first three: the longer wording ranks better in the one, the shorter ones find more in the other.
    """
    offered = ranked_suggestions(suggestions, text, message)
    words, asked = _subject(unquoted(text) or message, entry), _subject(message, entry)
    mended = _mended(words, known)
    longer = _longer(text, mended, asked, known)
    yield from offered[:_OFFERED]
    if offered:
        yield longer
        yield from offered[_OFFERED:]
    corrected = bool(set(mended) - set(tokens(text)))
    if corrected or not longer:
        yield _line(mended)
    if not known.words and names(f"{text} {message}") & ABBREVIATIONS.keys() & set(words):
        yield _written_out(words)
    yield longer
    ranked = telling(tuple(word for word in mended if not known.words or word in known.words) or mended, message)
    two = _line(tuple(word for word in mended if word in ranked[:2])) if len(ranked) > 2 else ""
    # Beside a correction and a longer wording there is room for one shorter: one word finds more than two.
    yield from (*ranked[:1], two) if corrected and longer else (two, *ranked[:1])
    yield _line(mended)
    yield from _variants(text, message, known)
    yield from ranked[1:3]
    if not known.words:
        yield _line(tuple(other_number(word) for word in words))
    yield _line(_mended(asked, known))
    yield from telling(tuple(word for word in asked if known.knows(word) or not known.words), message)[:3]


def _longer(text: str, mended: tuple[str, ...], asked: tuple[str, ...], known: Vocabulary) -> str:
    """The text and then the words of the message; empty where the message adds none.

    A word of both stands twice: it is what the search is about, and most rankings weigh it so.
    """
    said = tuple(part for word in asked if known.knows(word) for part in known.mended(word).words)
    said = said if known.words else asked
    if not set(said) - set(mended):
        return ""
    return _line((unquoted(text), *(word for word in mended if word not in tokens(text)), *said))


def _variants(text: str, message: str, known: Vocabulary) -> Iterator[str]:
    """Names taken apart, short forms written out and long ones shortened, near synonyms of the data."""
    words = content(unquoted(text))
    yield _line(parts_of_names(unquoted(text)))
    yield _written_out(words)
    for short in short_forms(f"{text} {message}"):
        if not known.words or short in known.words:
            yield short
    others = [(word, known.synonyms(word)) for word in words]
    yield _line(tuple(form for word, found in others for form in (found[:1] or (word,))))
    for _, found in others:
        yield from found[:1]


def _written_out(words: tuple[str, ...]) -> str:
    """The words with short forms written out."""
    return _line(tuple(part for word in words for part in tokens(ABBREVIATIONS.get(word, word))))


def _mended(words: tuple[str, ...], known: Vocabulary) -> tuple[str, ...]:
    """The words as the data has them: put right, joined or parted; words it does not have are left out."""
    if not known.words:
        return words
    out: list[str] = []
    for place, word in enumerate(words):
        joined = word + words[place + 1] if place + 1 < len(words) else ""
        if joined in known.words:
            out.append(joined)
        out.extend(known.mended(word).words or known.synonyms(word)[:1])
    return tuple(dict.fromkeys(out)) or words


def _subject(text: str, entry: CatalogEntry | None) -> tuple[str, ...]:
    return (subject(entry, text) if entry else content(text))[:_MOST_WORDS]


def _line(words: tuple[str, ...]) -> str:
    return " ".join(words)


# pivot: ask somewhere else, where the catalog says that such things are.


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
