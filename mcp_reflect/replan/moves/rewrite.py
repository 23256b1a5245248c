"""rewrite: ask for the same in other words, those of the data where they are known."""

from collections.abc import Iterator
from dataclasses import replace

from mcp_reflect.records.search import CatalogEntry, Query
from mcp_reflect.replan.catalog import ASKS_FOR_ALL, breadth, in_table, subject, widest
from mcp_reflect.replan.lexicon import ABBREVIATIONS
from mcp_reflect.replan.moves import filters, suggested
from mcp_reflect.replan.moves.relax import mechanical
from mcp_reflect.replan.vocabulary import Vocabulary, parts_of_names, short_forms, vocabulary
from mcp_reflect.replan.words import content, names, normalised, other_number, telling, tokens, unquoted

_OTHERS = 2
_MOST_WORDS = 12  # a text of more words is a document; search engines weigh the rest as noise


def rewritten(
    query: Query, entry: CatalogEntry | None, message: str, suggestions: tuple[str, ...], retry: int
) -> Iterator[Query]:
    """The query in other words, bounds eased; on the first try with its filters, later without them.

    In a mode that asks for all words, no words are added to those that already found nothing.
    """
    base = mechanical(in_table(query, entry) if entry else query, entry, retry)
    base = replace(base, filters=filters.mended(query, entry) if retry <= 0 else {})
    if entry and breadth(base.search_mode) == 0:
        base = replace(base, search_mode=widest(entry))
    if base.filters != query.filters:
        yield base
    known = vocabulary(entry.vocabulary if entry else ())
    before = set(content(unquoted(query.query_text)))
    for text in _others_first(query.query_text, texts(query.query_text, message, known, suggestions, entry)):
        adds = before < set(tokens(text)) and text not in suggestions
        if not adds or breadth(base.search_mode) > ASKS_FOR_ALL:
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
    """Other wordings, the best first: what the tool suggests, the text put right, less of it, more of it.

    The first word of the message that the search left out is put in after the shorter wordings: an engine that
    takes any word ranks better with it.
    """
    yield from suggested.ranked(suggestions, text, message)
    words = _subject(unquoted(text) or message, entry)
    mended = _mended(words, known)
    yield _line(mended)
    if not known.words and names(f"{text} {message}") & ABBREVIATIONS.keys() & set(words):
        yield _written_out(words)
    ranked = telling(tuple(word for word in mended if not known.words or word in known.words) or mended, message)
    if len(ranked) > 2:
        yield _line(tuple(word for word in mended if word in ranked[:2]))
    yield from ranked[:1]
    asked = _subject(message, entry)
    fresh = tuple(word for word in asked if word not in words and (known.knows(word) or not known.words))
    if fresh:
        yield _line((*mended, *known.mended(fresh[0]).words) if known.words else (*words, fresh[0]))
    yield from _variants(text, message, known)
    yield from ranked[1:3]
    if not known.words:
        yield _line(tuple(other_number(word) for word in words))
    yield _line(_mended(asked, known))
    yield from telling(tuple(word for word in asked if known.knows(word) or not known.words), message)[:3]


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
