"""Other wordings of a search that failed, the best first."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain, islice
from typing import Final, TypeAlias

from mcp_reflect.models.search import Query
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
from mcp_reflect.replan.vocabulary import Vocabulary
from mcp_reflect.replan.words import (
    MOST_WORDS,
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

# Chosen on the searches of tests/replan, as the weights below.
_FEW: Final = 3  # words of a text that the message may add to or replace
_RARE: Final = 350  # weight of a word that may be searched alone
_READ: Final = 50  # suggestions read; tools propose ten or so
_OFFERED: Final = 3  # suggestions before our own words: bad ones must not take all places
_PLACE: Final = 0.05  # cost of a place further down the tool's list: a tool orders by likeness
_LENGTH: Final = 0.03  # cost of a word more: a short text finds the longer ones as well
_Matches: TypeAlias = Mapping[str, tuple[str, ...]]  # terms, and the words of the data for them
_WORD: Final = re.compile(r"[^\W_]+")
_QUOTE: Final = re.compile('["“”„«»]')
# Of an English plural; after an s, u or i it belongs to the word: `class`, `status`, `analysis`.
_PLURAL: Final = re.compile(r"(?<=\w\w[^sui])s$")


def wordings(
    query: Query, message: str, known: Vocabulary, suggestions: tuple[str, ...] = ()
) -> Iterator[str]:
    """Yield other wordings of a failed text that the tool can take, the best first. Some may be empty or equal.

    What the tool suggests comes first, then the words of the data; where these are not known, the text without its
    operators, with identifiers in other forms, and without its least telling words.
    """
    text = _with_umlauts_of(message, query.query_text)
    match tool_of(query):
        case Tool.SQL:
            yield from simple_statements(text, message)
        case Tool.COMMAND:
            yield ignoring_case(text)
        case Tool.PATTERN:
            yield from pattern_rewrites(text, message)
        case Tool.TEXT | Tool.WEB:
            yield from _rephrased(text, message, query, known, suggestions)


def _rephrased(
    text: str, message: str, query: Query, known: Vocabulary, suggestions: tuple[str, ...]
) -> Iterator[str]:
    """The best suggestions of the tool, the first text of our own, the other suggestions, our other texts."""
    own = _in_own_words(text, message, query)
    if known.words:
        own = _in_words_of_the_data(text, message, known)
    offered = ranked_suggestions(suggestions, text, message)
    yield from offered[:_OFFERED]
    yield from islice(own, 1)
    yield from offered[_OFFERED:]
    yield from own


def _with_umlauts_of(message: str, text: str) -> str:
    """Return the text with umlauts as the person wrote them: `Niederoesterreich` may find nothing that has an ö."""
    spelled_by_person: dict[str, str] = {}
    for term in terms(message):
        if not term.isascii():
            spelled_by_person[plain_umlauts(fold(term))] = term
    if not spelled_by_person:
        return text
    return _WORD.sub(
        lambda match: spelled_by_person.get(plain_umlauts(fold(match[0])), match[0]), text
    )


# In the words of the data


def _in_words_of_the_data(text: str, message: str, known: Vocabulary) -> Iterator[str]:
    """Yield the search in the words that the data has, then in fewer of them.

    `found` are the terms of the text that the data has, `said` those of the person's message, `added` those that
    only the message has.
    """
    plain = without_operators(text) or message
    matches = known.matches(content(plain)[:MOST_WORDS])
    if _lacks_what_tells(matches, plain):
        return
    found = {term: words for term, words in matches.items() if words}
    said = known.matches(content(message)[:MOST_WORDS])
    added = _said_besides(found, said, message)
    meanings = found | said

    def in_the_datas_words(*terms: str) -> str:
        """Return terms in the words that the data has for them."""
        words_of_terms = [words for term, words in meanings.items() if term in terms]
        return known.written(chain.from_iterable(words_of_terms))

    yield from _whole(found, matches, known, added, said)
    if found and len(matches) < _FEW:
        yield in_the_datas_words(*found, *added[:1])
    ranked = telling(tuple(found), message)
    yield in_the_datas_words(*ranked[:2])
    yield in_the_datas_words(*ranked[:1])
    yield in_the_datas_words(*added)
    yield in_the_datas_words(*added[:1])


def _lacks_what_tells(matches: _Matches, plain: str) -> bool:
    """True where the data has only the general one of two words: no `edge computing` answers `quantum computing`.

    The second has to be a general word of the data, and the first a rare one that is no slip or name. Then the search in
    words of the data would find other things, and is left out.
    """
    if len(matches) != 2:
        return False
    first, second = matches
    is_general = matches[second] == tokens(second) and not is_name(second, plain)
    if not is_general or matches[first]:
        return False
    return weight(first) >= _RARE and shared_table().knows(fold(first))


def _said_besides(found: _Matches, said: _Matches, message: str) -> tuple[str, ...]:
    """The most telling terms of the message that the data has, and that the text does not ask for."""
    asked = set(chain.from_iterable(found.values()))
    others = tuple(term for term, words in said.items() if words and asked.isdisjoint(words))
    return telling(others, message)[:_FEW]


def _whole(
    found: _Matches, matches: _Matches, known: Vocabulary, added: tuple[str, ...], said: _Matches
) -> tuple[str, ...]:
    """Return all words that were found, and the phrase of the data that has most of them, the likelier first.

    The phrase comes first where one word of several was found, for that alone asks for anything with it; and it
    stands alone where the one word is written as in the data, since the search for it has failed.
    """
    words = set(chain.from_iterable(found.values()))
    changed: set[str] = set()
    for term, meant in found.items():
        if meant != tokens(term):
            changed.update(meant)
    words_of_message = chain.from_iterable(said[term] for term in added)
    phrase = known.phrase(changed or words.union(words_of_message))
    if phrase and not changed and len(found) <= 1:
        return (phrase,)
    everything = known.written(chain.from_iterable(found.values()))
    if len(found) == 1 < len(matches):
        return phrase, everything
    return everything, phrase


# In the words of the caller, where those of the data are not known


def _in_own_words(text: str, message: str, query: Query) -> Iterator[str]:
    """The search as it was written, without operators and stop words, then with fewer words, and in other forms."""
    is_web = tool_of(query) is Tool.WEB
    plain = without_operators(text) or message
    words = content(plain)[:MOST_WORDS]
    if len(words) == 1:  # perhaps a quoted phrase
        words = content(_QUOTE.sub("", plain))
    ranked = telling(words, message)
    shorter = _shorter(words, ranked, is_web=is_web)
    scopes_of_text = scopes(text)
    if is_web and scopes_of_text:
        subject = shorter[0] if shorter else plain
        yield " ".join((subject, *scopes_of_text))
    if plain != " ".join(text.split()):
        yield plain
    if len(words) == 1 and is_identifier(words[0]) and not is_web:
        yield from variants(words[0])
    yield " ".join(words)
    if len(words) < _FEW:
        yield _what_the_message_adds(plain, message, query)
    yield from shorter
    if len(words) > 1 and not is_web:
        for word in ranked[:2]:
            if is_name(word, plain) or weight(word) >= _RARE:
                yield word
    if len(words) < _FEW and text.isascii():
        yield " ".join(_PLURAL.sub("", word) for word in words)


def _shorter(words: tuple[str, ...], ranked: tuple[str, ...], *, is_web: bool) -> list[str]:
    """The half and the quarter of the words that tell most, in their order; pages of the web want some more words."""
    least = _FEW + 1 if is_web else 2
    half = max(least, (len(words) + 1) // 2)
    quarter = max(least, (len(words) + 3) // 4)
    counts = [count for count in (half, quarter) if count < len(words)]
    return [_in_order(words, ranked[:count]) for count in counts]


def _in_order(words: tuple[str, ...], chosen: tuple[str, ...]) -> str:
    """The chosen words as one text, in the order of the whole."""
    return " ".join(word for word in words if word in chosen)


def _what_the_message_adds(plain: str, message: str, query: Query) -> str:
    """The most telling words of the message, without the table's name; empty where the text has them all."""
    stems_of_table = stems(query.table)
    terms_of_message = tuple(
        term for term in content(message) if stems_of_table.isdisjoint(stems(term))
    )
    if stems(plain) >= stems(" ".join(terms_of_message)):
        return ""
    return _in_order(terms_of_message, telling(terms_of_message, message)[: _FEW + 1])


# As the tool suggests


@lru_cache(maxsize=64)
def ranked_suggestions(suggestions: tuple[str, ...], text: str, message: str) -> tuple[str, ...]:
    """Return the suggestions, best first: those like the searched text that add words of the message.

    A suggestion with exactly the words that failed is left out; of equal suggestions the first stays.
    """
    failed = set(tokens(text))
    searched = stems(text)
    asked = stems(message)
    scores: dict[str, float] = {}
    for place, suggestion in enumerate(suggestions[:_READ]):
        words = set(tokens(suggestion))
        if not words or words == failed:
            continue
        suggested = stems(suggestion)
        shared_with_search = len(suggested & searched) / max(1, len(suggested | searched))
        added_of_message = len((suggested & asked) - searched) / max(1, len(suggested))
        costs = _PLACE * place + _LENGTH * len(suggested)
        score = shared_with_search + added_of_message - costs
        scores.setdefault(suggestion.strip(), score)
    return tuple(sorted(scores, key=lambda suggestion: -scores[suggestion]))
