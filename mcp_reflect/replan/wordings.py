"""Other wordings of a search that failed, the best first.

Where the data's words are known (a vocabulary), the text is said in them; else in other forms of the caller's words.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain, islice
from typing import Final, TypeAlias

from mcp_reflect.models.search import Query
from mcp_reflect.replan.patterns import pattern_rewrites
from mcp_reflect.replan.statements import simple_statements
from mcp_reflect.replan.syntax import (
    Tool,
    ignoring_case,
    is_identifier,
    scopes,
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
    most_telling_first,
    plain_umlauts,
    stems,
    terms,
    tokens,
    weight,
)
from mcp_reflect.text.word_vectors import shared_table

# Chosen on the searches of tests/replan, as the weights below.
_FEW: Final = 3  # words of a text that the message may add to or replace
_RARE: Final = 350  # weight of a word that may be searched alone
_MOST_READ: Final = 50  # suggestions read; tools propose ten or so
# Suggestions that come before our own wordings: bad ones must not be all that is tried.
_FIRST_SUGGESTIONS: Final = 3
# What a suggestion loses for each one above it in the tool's list, which the tool orders by likeness.
_COST_OF_RANK: Final = 0.05
# What a suggestion loses for each of its words: a short text finds the longer ones as well.
_COST_OF_WORD: Final = 0.03
_WordsOfTerms: TypeAlias = Mapping[str, tuple[str, ...]]
"""Terms of a text, each with the words of the data for it, none where the data has none."""

_WORD: Final = re.compile(r"[^\W_]+")
_QUOTE: Final = re.compile('["“”„«»]')
# Of an English plural; after an s, u or i it belongs to the word: `class`, `status`, `analysis`.
_PLURAL: Final = re.compile(r"(?<=\w\w[^sui])s$")


def wordings(
    query: Query, message: str, vocabulary: Vocabulary, suggestions: tuple[str, ...] = ()
) -> Iterator[str]:
    """Yield other wordings of a failed text that the tool can take, the best first. Some may be empty or equal.

    What the tool suggests comes first, then the words of the data; where these are not vocabulary, the text without its
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
            yield from _rephrased(text, message, query, vocabulary, suggestions)


def _rephrased(
    text: str, message: str, query: Query, vocabulary: Vocabulary, suggestions: tuple[str, ...]
) -> Iterator[str]:
    """Yield the best suggestions of the tool, our best wording, the other suggestions, and our other wordings."""
    ours = _in_words_of_the_caller(text, message, query)
    if vocabulary.words:
        ours = _in_words_of_the_data(text, message, vocabulary)
    suggested = ranked_suggestions(suggestions, text, message)
    yield from suggested[:_FIRST_SUGGESTIONS]
    yield from islice(ours, 1)
    yield from suggested[_FIRST_SUGGESTIONS:]
    yield from ours


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


def _in_words_of_the_data(text: str, message: str, vocabulary: Vocabulary) -> Iterator[str]:
    """Yield the search in the words that the data has, then in fewer of them.

    For the text "cheap raincoats", the message "a cheap raincoat for Kiel" and data with "rain coat" and "Kiel", the
    wordings are "rain coat", "rain coat Kiel", and so on down to "Kiel".

    `of_text` has the terms of the text that the data has, `of_message` those of the person's message, and `added` those
    of the message that the text lacks.
    """
    plain = without_operators(text) or message
    matches = vocabulary.matches(content(plain)[:MOST_WORDS])
    if _has_only_general_word(matches, plain):
        return
    of_text = {term: words for term, words in matches.items() if words}
    of_message = vocabulary.matches(content(message)[:MOST_WORDS])
    added = _terms_of_message_alone(of_text, of_message, message)
    meanings = of_text | of_message

    def in_the_datas_words(*terms: str) -> str:
        """Return terms in the words that the data has for them."""
        words_of_terms = [words for term, words in meanings.items() if term in terms]
        return vocabulary.written(chain.from_iterable(words_of_terms))

    words_added = chain.from_iterable(of_message[term] for term in added)
    is_one_of_several = len(of_text) == 1 < len(matches)
    yield from _all_words_and_phrase(
        of_text, vocabulary, frozenset(words_added), is_one_of_several=is_one_of_several
    )
    if of_text and len(matches) < _FEW:
        yield in_the_datas_words(*of_text, *added[:1])
    ranked = most_telling_first(tuple(of_text), message)
    yield in_the_datas_words(*ranked[:2])
    yield in_the_datas_words(*ranked[:1])
    yield in_the_datas_words(*added)
    yield in_the_datas_words(*added[:1])


def _has_only_general_word(matches: _WordsOfTerms, plain: str) -> bool:
    """True where the data has only the general one of two words: `computing` of `quantum computing`.

    A search in the words of the data would then find `edge computing`, which is no answer, and is left out. The first
    word has to be rare and no slip, the second a word of the data as it is written there, and no name.
    """
    if len(matches) != 2:
        return False
    first, second = matches
    is_general = matches[second] == tokens(second) and not is_name(second, plain)
    if not is_general or matches[first]:
        return False
    return weight(first) >= _RARE and shared_table().knows(fold(first))


def _terms_of_message_alone(
    of_text: _WordsOfTerms, of_message: _WordsOfTerms, message: str
) -> tuple[str, ...]:
    """Return the most telling terms of the message that the data has, and that the text does not ask for."""
    asked = set(chain.from_iterable(of_text.values()))
    others = tuple(term for term, words in of_message.items() if words and asked.isdisjoint(words))
    return most_telling_first(others, message)[:_FEW]


def _all_words_and_phrase(
    of_text: _WordsOfTerms,
    vocabulary: Vocabulary,
    words_added: frozenset[str],
    *,
    is_one_of_several: bool,
) -> tuple[str, ...]:
    """Return the wordings with all words of the text that the data has, the likelier first.

    A wording is these words, or the phrase of the data that has most of them and of the `words_added` by the message:

    | the data has                                             | the wordings         |
    |----------------------------------------------------------|----------------------|
    | one word of the text, written as there: its search failed | the phrase alone    |
    | one word of several: alone it would find anything        | the phrase, the word |
    | any other words                                          | the words, the phrase |
    """
    words = set(chain.from_iterable(of_text.values()))
    changed: set[str] = set()
    for term, meant in of_text.items():
        if meant != tokens(term):
            changed.update(meant)
    phrase = vocabulary.phrase(changed or words | words_added)
    if phrase and not changed and len(of_text) <= 1:
        return (phrase,)
    all_words = vocabulary.written(chain.from_iterable(of_text.values()))
    if is_one_of_several:
        return phrase, all_words
    return all_words, phrase


# In the words of the caller, where those of the data are not known


def _in_words_of_the_caller(text: str, message: str, query: Query) -> Iterator[str]:
    """Yield the search in the caller's own words, the likelier first. Some may be empty, or the same again.

    | wording of "find the proxy-timeout AND retries"     | where                                          |
    |-----------------------------------------------------|------------------------------------------------|
    | its most telling words, with the scope `site:a.org` | it is a web search, and has a scope            |
    | "find the proxy-timeout retries"                    | it has operators, which are left out           |
    | "proxy_timeout", "proxy timeout"                    | a single identifier is all that it asks for    |
    | "proxy-timeout retries"                             | always: without stop words                     |
    | these, with more words of the person's message      | it asks for one or two words                   |
    | the more telling half of the words, and the quarter | it asks for more                               |
    | "proxy-timeout" alone                               | the word is rare or a name; not on the web     |
    | the words without the s of plurals                  | it asks for one or two words, in ASCII         |
    """
    is_web = tool_of(query) is Tool.WEB
    plain = without_operators(text) or message
    words = content(plain)[:MOST_WORDS]
    may_be_quoted_phrase = len(words) == 1
    if may_be_quoted_phrase:
        words = content(_QUOTE.sub("", plain))
    ranked = most_telling_first(words, message)
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
    """Return the more telling half of the words, and the more telling quarter, each in the order of the text.

    At least two words stay, and four for the web, where fewer words find anything.
    """
    least = _FEW + 1 if is_web else 2
    half = max(least, (len(words) + 1) // 2)
    quarter = max(least, (len(words) + 3) // 4)
    counts = [count for count in (half, quarter) if count < len(words)]
    return [_in_order(words, ranked[:count]) for count in counts]


def _in_order(words: tuple[str, ...], chosen: tuple[str, ...]) -> str:
    """Return the chosen words as one text, in the order in which `words` has them."""
    return " ".join(word for word in words if word in chosen)


def _what_the_message_adds(plain: str, message: str, query: Query) -> str:
    """Return the most telling words of the message without the table's name, empty where the text has all of them."""
    stems_of_table = stems(query.table)
    terms_of_message = tuple(
        term for term in content(message) if stems_of_table.isdisjoint(stems(term))
    )
    if stems(plain) >= stems(" ".join(terms_of_message)):
        return ""
    return _in_order(terms_of_message, most_telling_first(terms_of_message, message)[: _FEW + 1])


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
    for rank, suggestion in enumerate(suggestions[:_MOST_READ]):
        words = set(tokens(suggestion))
        if not words or words == failed:
            continue
        suggested = stems(suggestion)
        shared_with_search = len(suggested & searched) / max(1, len(suggested | searched))
        added_of_message = len((suggested & asked) - searched) / max(1, len(suggested))
        costs = _COST_OF_RANK * rank + _COST_OF_WORD * len(suggested)
        score = shared_with_search + added_of_message - costs
        scores.setdefault(suggestion.strip(), score)
    return tuple(sorted(scores, key=lambda suggestion: -scores[suggestion]))
