"""rewrite: ask for the same in other words, those of the data where they are known."""

from collections.abc import Iterator
from dataclasses import replace

from mcp_reflect.models.search import CatalogEntry, Query
from mcp_reflect.replan.catalog import breadth, in_table, subject, widest
from mcp_reflect.replan.lexicon import ABBREVIATIONS
from mcp_reflect.replan.moves import filters, suggested
from mcp_reflect.replan.moves.relax import mechanical
from mcp_reflect.replan.vocabulary import Vocabulary, parts_of_names, short_forms, vocabulary
from mcp_reflect.replan.words import content, names, normalised, other_number, telling, tokens, unquoted

_OTHERS = 2
_OFFERED = 2  # suggestions before our own words: a tool that suggests nothing to the point must not have all three
_MOST_WORDS = 12  # a text of more words is a document; search engines weigh the rest as noise


def rewritten(
    query: Query, entry: CatalogEntry | None, message: str, suggestions: tuple[str, ...], retry: int
) -> Iterator[Query]:
    """The query in other words, bounds eased; on the first try with its filters, later without them."""
    base = mechanical(in_table(query, entry) if entry else query, entry, retry)
    base = replace(base, filters=filters.mended(query, entry) if retry <= 0 else {})
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
    offered = suggested.ranked(suggestions, text, message)
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
