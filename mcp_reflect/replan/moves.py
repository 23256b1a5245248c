"""The moves: each gives queries to run instead of a failed one, the best first."""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import chain, islice
from typing import Final

from mcp_reflect.models.search import CatalogEntry, Query
from mcp_reflect.replan.catalog import Catalog, breadth, closing_filters, in_table, widest
from mcp_reflect.replan.syntax import (
    Tool,
    ignoring_case,
    is_identifier,
    pattern_rewrites,
    scopes,
    simple_statements,
    tool_of,
    variants,
    without_operators,
)
from mcp_reflect.replan.words import (
    Vocabulary,
    content,
    fold,
    is_name,
    plain_umlauts,
    stems,
    telling,
    terms,
    tokens,
    weight,
)
from mcp_reflect.text.word_vectors import shared_table

MARGIN: Final = 0.5  # by which another table has to fit better: a word of its description is 1
_MOST_ROWS: Final = 1_000_000
_OTHER_TABLES: Final = (
    3  # more than three other tables is a search of everything, which the person did not ask for
)
_MOST_WORDS: Final = (
    12  # a text of more words is a document; search engines weigh the rest as noise
)
_FEW: Final = 3  # words of a text that the message may add to or replace
_RARE: Final = 350  # weight of a word that may be searched alone
_READ: Final = 50  # suggestions read; tools propose ten or so
_OFFERED: Final = 3  # suggestions before our own words: bad ones must not take all places
_PLACE: Final = 0.05  # cost of a place further down the tool's list: a tool orders by likeness
_LENGTH: Final = 0.03  # cost of a word more: a short text finds the longer ones as well


# Relax: ask for less of the same. No relaxed query lets through less than the one before, which a test holds.


def ladder(query: Query, entry: CatalogEntry | None, retry: int) -> Query:
    """Return the next rung of the fixed ladder: threshold .15 and double limit first, later the widest mode, .2 and 20.

    A query without a threshold or limit gets one, as in the graphs that count on these numbers.
    """
    least = 1.0 if query.score_threshold is None else query.score_threshold
    if retry <= 0:
        return replace(query, score_threshold=min(least, 0.15), limit=2 * (query.limit or 10))
    mode = widest(entry) if entry else query.search_mode
    mode = mode if breadth(mode) >= breadth(query.search_mode) else query.search_mode
    return replace(
        query, search_mode=mode, score_threshold=min(least, 0.2), limit=max(query.limit or 0, 20)
    )


def eased(query: Query, entry: CatalogEntry | None, retry: int) -> Query:
    """Return the next rung of the ladder for a query, but add no threshold or limit if the query has none."""
    rung = ladder(query, entry, retry)
    limit = None if query.limit is None else max(query.limit, min(rung.limit or 0, _MOST_ROWS))
    return replace(
        rung, score_threshold=query.score_threshold and rung.score_threshold, limit=limit
    )


def relaxed(query: Query, places: Catalog, retry: int) -> Iterator[Query]:
    """Yield the query without impossible filters, then without any filter, then with lower thresholds."""
    entry = places.entry(query.table)
    query = in_table(query, entry)
    first, later = (eased(query, entry, retry + step) for step in (0, 1))
    closing = closing_filters(query, entry)
    yield replace(
        first, filters={name: value for name, value in query.filters.items() if name not in closing}
    )
    yield replace(first, filters={})
    yield replace(later, filters={})


# Rewrite: ask for the same in other words


def rewritten(
    query: Query, places: Catalog, message: str, suggestions: tuple[str, ...], retry: int
) -> Iterator[Query]:
    """Yield the query in other words and with looser bounds; the first try keeps the filters that are possible."""
    entry = places.entry(query.table)
    base = eased(in_table(query, entry), entry, retry)
    if entry and breadth(base.search_mode) == 0:
        base = replace(base, search_mode=widest(entry))
    known = places.words_of(query.table)
    closing = closing_filters(query, entry)
    corrected = {name: closing.get(name, value) for name, value in query.filters.items()}
    kept = {name: value for name, value in corrected.items() if value is not None}
    base = replace(base, filters={} if retry > 0 else kept)
    if any(closing.values()) or not query.query_text.strip():
        yield replace(
            base, query_text=query.query_text or " ".join(map(str, query.filters.values()))
        )
    texts = list(filter(None, wordings(query, message, known, suggestions)))
    yield from (replace(base, query_text=text) for text in texts)


def wordings(
    query: Query, message: str, known: Vocabulary, suggestions: tuple[str, ...] = ()
) -> Iterator[str]:
    """Yield other wordings of a failed text that the tool can take, the best first. Some may be empty or equal.

    What the tool suggests comes first, then the words of the data; where these are not known, the text without its
    operators, with identifiers in other forms, and without its least telling words.
    """
    # Umlauts as the person wrote them: `Niederoesterreich` may find nothing where `Niederösterreich` does.
    said = {plain_umlauts(fold(term)): term for term in terms(message) if not term.isascii()}
    text = re.sub(
        r"[^\W_]+",
        lambda match: said.get(plain_umlauts(fold(match[0])), match[0]),
        query.query_text,
    )
    tool = tool_of(query)
    if tool is Tool.SQL:
        yield from simple_statements(text, message)
    elif tool is Tool.COMMAND:
        yield ignoring_case(text)
    elif tool is Tool.PATTERN:
        yield from pattern_rewrites(text, message)
    else:
        own = (
            _in_words_of_the_data(text, message, known)
            if known.words
            else _in_own_words(text, message, query)
        )
        offered = ranked_suggestions(suggestions, text, message)
        yield from chain(offered[:_OFFERED], islice(own, 1), offered[_OFFERED:], own)


def _in_words_of_the_data(text: str, message: str, known: Vocabulary) -> Iterator[str]:
    """The search in the vocabulary's own words, then in fewer of them."""
    plain = without_operators(text) or message
    matches = known.matches(content(plain)[:_MOST_WORDS])
    found = {term: words for term, words in matches.items() if words}
    own = set(chain.from_iterable(found.values()))
    said = known.matches(content(message)[:_MOST_WORDS])
    added = telling(
        tuple(term for term, words in said.items() if words and own.isdisjoint(words)), message
    )[:_FEW]
    first, last = (*matches, "", "")[:2]
    is_general = len(matches) == 2 and matches[last] == tokens(last) and not is_name(last, plain)
    if (
        is_general
        and not matches[first]
        and weight(first) >= _RARE
        and shared_table().knows(fold(first))
    ):
        return  # of two words the first says which: `quantum computing` is no `edge computing`
    changed = {word for term, words in found.items() if words != tokens(term) for word in words}
    phrase = known.phrase(changed or {*own, *(word for term in added for word in said[term])})
    every, ranked = found | said, telling(tuple(found), message)

    def written(*terms: str) -> str:
        return known.written(word for term in every if term in terms for word in every[term])

    texts = [written(*found), phrase] if len(found) > 1 or changed or not phrase else [phrase]
    yield from reversed(texts) if len(found) == 1 < len(matches) else texts
    if found and len(matches) < _FEW:
        yield written(*found, *added[:1])
    yield from (written(*ranked[:2]), written(*ranked[:1]), written(*added), written(*added[:1]))


def _in_own_words(text: str, message: str, query: Query) -> Iterator[str]:
    """The search as it was written, without operators and stop words, then with fewer words, and in other forms."""
    is_web = tool_of(query) is Tool.WEB
    plain = without_operators(text) or message
    words = content(plain)[:_MOST_WORDS]
    if len(words) == 1:  # perhaps a quoted phrase
        words = content(re.sub('["“”„«»]', "", plain))
    ranked = telling(words, message)
    least = _FEW + 1 if is_web else 2
    shorter = [
        " ".join(word for word in words if word in ranked[:count])
        for count in (max(least, (len(words) + 1) // 2), max(least, (len(words) + 3) // 4))
        if count < len(words)
    ]
    if is_web and scopes(text):
        yield " ".join(((shorter or [plain])[0], *scopes(text)))
    if plain != " ".join(text.split()):
        yield plain
    if len(words) == 1 and is_identifier(words[0]) and not is_web:
        yield from variants(words[0])
    yield " ".join(words)
    asked = tuple(term for term in content(message) if stems(query.table).isdisjoint(stems(term)))
    if len(words) < _FEW and not stems(plain) >= stems(" ".join(asked)):
        chosen = telling(asked, message)[: _FEW + 1]
        yield " ".join(word for word in asked if word in chosen)
    yield from shorter
    if len(words) > 1 and not is_web:
        yield from (word for word in ranked[:2] if is_name(word, plain) or weight(word) >= _RARE)
    if len(words) < _FEW and text.isascii():
        yield " ".join(re.sub(r"(?<=\w\w[^sui])s$", "", word) for word in words)


@lru_cache(maxsize=64)
def ranked_suggestions(suggestions: tuple[str, ...], text: str, message: str) -> tuple[str, ...]:
    """Return the suggestions, best first: those like the searched text that add words of the message.

    A suggestion with exactly the words that failed is left out; of equal suggestions the first stays.
    """
    wanted, asked = stems(text), stems(message)
    scores: dict[str, float] = {}
    for place, suggestion in enumerate(suggestions[:_READ]):
        own = stems(suggestion)
        score = len(own & wanted) / max(1, len(own | wanted)) + len((own & asked) - wanted) / max(
            1, len(own)
        )
        if set(tokens(suggestion)) not in (set(tokens(text)), set()):
            scores.setdefault(suggestion.strip(), score - _PLACE * place - _LENGTH * len(own))
    return tuple(sorted(scores, key=lambda suggestion: -scores[suggestion]))


# Pivot: ask somewhere else, where the catalog says that such things are


def pivoted(
    query: Query, places: Catalog, message: str, searched: frozenset[str], retry: int
) -> Iterator[Query]:
    """Yield the search for other tables that fit it better than the failed one, the best first, without filters.

    `searched` are the tables that were searched already. From the second try on, any other table is better than giving
    up, and each gets one query before any gets two.
    """
    if tool_of(query) in {Tool.SQL, Tool.COMMAND}:
        return
    here, need = places.entry(query.table), f"{message} {query.query_text}"
    least = (
        places.fit(here, need) + MARGIN
        if here and places.is_described(query.table) and retry <= 0
        else -1.0
    )
    fits = {
        entry.table: places.fit(entry, need)
        for entry in places.described
        if entry.table not in searched
    }
    better = sorted(
        (table for table in fits if fits[table] > least), key=lambda table: -fits[table]
    )
    near = (
        places.nearest(query.table)
        if here is None
        else here
        if query.search_mode not in here.search_modes
        else None
    )
    names = dict.fromkeys([near.table, *better] if near else better)
    entries = [entry for name in names if (entry := places.entry(name))]
    visits = [
        _visit(query, entry, places, message)
        for entry in entries[: _OTHER_TABLES if retry > 0 else 1]
    ]
    yield from chain(*(islice(visit, 1) for visit in visits), *visits)


def _visit(query: Query, entry: CatalogEntry, places: Catalog, message: str) -> Iterator[Query]:
    """The subject in another table: in the words that the table has, then as it was."""
    base = replace(eased(in_table(query, entry), entry, 0), filters={}, limit=query.limit)
    known = places.words_of(entry.table)
    texts = [text for text in wordings(query, message, known) if text]
    texts.insert(1 if known.words else 0, query.query_text)
    yield from (replace(base, query_text=text) for text in texts)
