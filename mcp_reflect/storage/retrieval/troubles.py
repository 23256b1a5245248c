"""What may be behind a trouble that a question only describes: "never finishes" is a lock, "off by a cent" a float.

A lesson is written by who found the cause, and wanted by who sees the effect. Two lists of the package join them:
cases (`troubles.txt`), of which those near to a question by their word vectors give the words of their causes, and
groups of words (`trouble_words.txt`), of which those that a question touches give their other words.
"""

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from mcp_reflect.storage.retrieval.terms import terms_of
from mcp_reflect.storage.retrieval.vectors import (
    LONGEST_TEXT,
    Unpacked,
    cosines,
    unpacked,
    word_vector,
)
from mcp_reflect.text import word_vectors
from mcp_reflect.text.stemmer import STOP_WORDS
from mcp_reflect.text.word_vectors import shared_table

_FOLDER: Final = Path(word_vectors.__file__).parent
_CASES: Final = 10
"""The nearest cases, which give their words."""

_UNRELATED: Final = 0.2
"""The cosine of a case that has nothing to do with the question."""

_GROUP_WORTH: Final = 0.2
"""What the words of a group count, where those of the nearest cases count up to some 1."""

MOST_TERMS: Final = 100
"""The terms that may be behind a question, the heaviest of them."""


Phrase = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cases:
    """Troubles as they are seen, as vectors, and the terms of what is behind each."""

    seen: Sequence[Unpacked]
    behind: Sequence[frozenset[str]]


@dataclass(frozen=True, slots=True)
class Groups:
    """The terms of each group, and for each word or phrase the groups that have it."""

    terms: Sequence[frozenset[str]]
    of_phrase: Mapping[Phrase, Sequence[int]]
    longest: int


def terms_behind(text: str) -> dict[str, float]:
    """Return the terms that lessons on the cause of what a text describes may have, with their weights.

    The text's own terms are not among them: they count by themselves.
    """
    own = terms_of(text)
    weights: dict[str, float] = {}
    for terms, worth in (*_near_cases(text), *_touched_groups(own)):
        for term in terms.difference(own):
            weights[term] = weights.get(term, 0.0) + worth
    heaviest = heapq.nlargest(MOST_TERMS, weights, key=lambda term: (weights[term], term))
    return {term: weights[term] for term in heaviest}


def _near_cases(text: str) -> list[tuple[frozenset[str], float]]:
    """Return the causes of the nearest cases, with their closeness."""
    vector = shared_table().embed(text[:LONGEST_TEXT])
    if vector is None:
        return []
    cases = _cases()
    closeness = cosines(vector.tolist(), cases.seen)
    nearest = heapq.nlargest(_CASES, range(len(closeness)), key=closeness.__getitem__)
    return [
        (cases.behind[place], _worth(closeness[place]))
        for place in nearest
        if closeness[place] > _UNRELATED
    ]


def _worth(cosine: float) -> float:
    """Return how much a case counts: one that is twice as far above an unrelated one counts four times as much.

    Ten cases are always found, most of which have nothing to do with the question.
    """
    return (2 * (cosine - _UNRELATED)) ** 2


def _touched_groups(terms: Sequence[str]) -> list[tuple[frozenset[str], float]]:
    """Return the terms of the groups of which a text has words or phrases: the more, the more they count.

    A word of many groups says less of each.
    """
    groups = _groups()
    touched: dict[int, float] = {}
    for phrase in _phrases(terms, groups.longest) & groups.of_phrase.keys():
        numbers = groups.of_phrase[phrase]
        for number in numbers:
            touched[number] = touched.get(number, 0.0) + 1 / math.sqrt(len(numbers))
    return [
        (groups.terms[number], _GROUP_WORTH * touch / (1 + touch))
        for number, touch in touched.items()
    ]


def _phrases(terms: Sequence[str], longest: int) -> set[Phrase]:
    """Return all runs of neighboring terms that are not longer than the longest phrase of a group.

    The terms a, b, c give (a), (a b), (b), (b c) and (c), where the longest phrase has two words.
    """
    phrases: set[Phrase] = set()
    for start in range(len(terms)):
        for length in range(1, longest + 1):
            phrases.add(tuple(terms[start : start + length]))
    return phrases


@cache
def _cases() -> Cases:
    """Return the packaged cases: lines `what is seen | the words of its cause`.

    The table of word vectors knows a word of each: a case without a vector could never be found.
    """
    vectors: list[Unpacked] = []
    cause_terms: list[frozenset[str]] = []
    for line in _lines("troubles.txt"):
        seen, cause = line.split(" | ")
        vector = word_vector(seen)
        if vector is None:
            raise ValueError(f"troubles.txt: no word vector for any word of {seen!r}")
        vectors.append(unpacked(vector))
        cause_terms.append(frozenset(terms_of(cause)) - STOP_WORDS)
    return Cases(seen=vectors, behind=cause_terms)


@cache
def _groups() -> Groups:
    """Return the packaged groups, one a line: words, and phrases whose words are joined by `_`.

    A phrase finds its group and gives no terms: its words alone mean something else.
    """
    terms: list[frozenset[str]] = []
    of_phrase: dict[Phrase, list[int]] = {}
    for number, line in enumerate(_lines("trouble_words.txt")):
        phrases = {
            tuple(terms_of(word.replace("_", " "))) for word in line.replace(":", "").split()
        }
        words = {phrase for phrase in phrases if len(phrase) == 1 and STOP_WORDS.isdisjoint(phrase)}
        for phrase in words | {phrase for phrase in phrases if len(phrase) > 1}:
            of_phrase.setdefault(phrase, []).append(number)
        terms.append(frozenset(word for (word,) in words))
    return Groups(terms, of_phrase, longest=max(map(len, of_phrase)))


def _lines(name: str) -> list[str]:
    """Return the lines of a packaged list that are neither empty nor comments."""
    lines = (_FOLDER / name).read_text("utf-8").splitlines()
    return [line for line in lines if line and line[0] != "#"]
