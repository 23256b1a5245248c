"""A question as weighed terms: which are rare, and which are identifiers, that tell a lesson's subject."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.storage.retrieval.row_search import TermCounts
from mcp_reflect.storage.retrieval.terms import words_of
from mcp_reflect.text.stemmer import STOP_WORDS
from mcp_reflect.text.word_vectors import shared_table

MOST_TERMS: Final = 40
"""Terms of a question that count, the rarest of them."""

MOST_READ: Final = 400
"""Distinct terms of a question that are looked up."""

SEVERAL: Final = 2
"""So many shared words say more than one, which may be shared by chance."""

_MOST_RARE: Final = 1 / 3
"""The part of a question's words that may be rare in English; with more it is in another language."""


class FewRows(NamedTuple):
    """How many rows are few: so many `rows` in a small bank, and such a `part` of a large one.

    `FewRows(3, 0.02)`: up to 3 rows are few in a bank of 100, and up to 20 in a bank of 1,000.
    """

    rows: int
    part: float

    def of(self, size: int) -> float:
        """Return how many rows of a bank of this size are few."""
        return max(self.rows, self.part * size)


_IDENTIFIER_ROWS: Final = FewRows(3, 0.02)
"""The rows that may hold a name that still tells lessons apart."""

_PROGRAM_ROWS: Final = FewRows(12, 0.1)
"""The same for a program of the project: each session with it leaves a reflection."""

# The forms of identifiers, which tell a lesson's subject better than common words.

# Paths, dotted and snake_case names, addresses of hosts: parts joined by a sign that prose does not put there.
_JOINED: Final = lazy_compile(r"\w[./_:\\@]\w")
# E4012, sha256, utf8, 40112.
_CODE: Final = lazy_compile(r"(?=.*[a-z])(?=.*\d)[a-z0-9_-]{3,}|\d{5,}", flags=re.IGNORECASE)
_FIGURES: Final = lazy_compile(r"[\d\W_]+")
_CAMEL: Final = lazy_compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_SHORTEST: Final = 4
"""Letters of a word that is a name only because it is rare."""

_OWN_PROGRAM: Final = lazy_compile(r"(?<![\w./])\./([\w-]+)")
"""A program of the project, which a task names by its path: `./sheet` is not a sheet of paper."""

# English endings, each with what a word may have in the place of it: carries -> carry.
_ENDINGS: Final = (
    ("s", ("",)),
    ("es", ("", "e")),
    ("ies", ("y",)),
    ("ed", ("", "e")),
    ("ied", ("y",)),
    ("ing", ("", "e")),
    ("er", ("", "e")),
    ("or", ("", "e")),
    ("ier", ("y",)),
    ("est", ("", "e")),
    ("iest", ("y",)),
    ("y", ("", "e")),
    ("ly", ("", "le")),
    ("ily", ("y",)),
    ("ness", ("",)),
    ("iness", ("y",)),
    ("ling", ("",)),
    ("ment", ("",)),
    ("able", ("", "e")),
    ("ation", ("", "e")),
    ("ion", ("", "e")),
    ("ize", ("", "e", "y")),
    ("ise", ("", "e", "y")),
)
_BEGINNINGS: Final = "un re pre de dis mis over under off in out up".split()
_SHORTEST_BASE: Final = 3
"""Letters that are left of a word without its endings and beginnings."""

_PROSE: Final = frozenset("and/or e.g i.e a.m p.m etc. vs. w/o n/a m/s km/h mb/s".split())

# E4012, TS2345, GH006, HTTP 404, exit code 137: the form and the number.
_ERROR_CODE: Final = lazy_compile(
    r"\b([A-Z]{1,5}-?(?=\d{3})|(?:HTTP|status|exit code|errno) ?)(\d{1,6})\b"
)


def is_identifier(word: str, *, rare: bool = True) -> bool:
    """True if a word as it was written is a name: `src/app`, `E4012`, `maxRetries`, `snake_case`.

    With `rare`, so is a word that English texts hardly have: `kubectl`.
    """
    if word.lower() in _PROSE:
        return False
    if _JOINED.search(word) or _CAMEL.search(word) or _CODE.fullmatch(word):
        return True
    return (
        rare
        and len(word) >= _SHORTEST
        and word.isascii()
        and word.isalpha()
        and is_rare(word.lower())
    )


def _has_form_of_name(word: str) -> bool:
    """True if a word is a name by its form alone. Figures joined by a sign are none: 1/4 cup, 2.3 s, 12:01."""
    return is_identifier(word, rare=False) and not _FIGURES.fullmatch(word)


def is_rare(word: str) -> bool:
    """True if a lower-case word, with and without English endings and beginnings, is no token of the packaged table."""
    return not any(map(shared_table().knows, _forms(word)))


@lru_cache(maxsize=10_000)
def _forms(word: str) -> frozenset[str]:
    """Return a word and what it may be made of: refunded gives refund and fund, currencies currency, blurry blur."""
    bases_of_word = _bases(word)
    bases = bases_of_word.union(*map(_bases, bases_of_word))  # refundings has two endings
    forms = bases.union(*map(_without_beginnings, bases))
    return frozenset(form for form in forms if len(form) >= _SHORTEST_BASE) | {word}


def _bases(word: str) -> set[str]:
    """Return a word, and what is left of it without one ending: hoping gives hop and hope, stopped stop and others."""
    bases = {word}
    for ending, instead in _ENDINGS:
        if not word.endswith(ending):
            continue
        base = word.removesuffix(ending)
        bases |= {base + letters for letters in instead}
        ends_in_two_equal_letters = base[-2:-1] == base[-1:]
        if ends_in_two_equal_letters:
            bases.add(base[:-1])
    return bases


def _without_beginnings(base: str) -> set[str]:
    """Return what is left of a word without one of the beginnings: refund gives fund."""
    return {base.removeprefix(beginning) for beginning in _BEGINNINGS}


def error_codes(text: str) -> dict[str, set[str]]:
    """Return the numbers of the error codes that a text names, by their form.

    "TS2345 and TS1005, then HTTP 404" gives `{"TS": {"2345", "1005"}, "HTTP": {"404"}}`.
    """
    numbers: dict[str, set[str]] = {}
    for form, number in _ERROR_CODE.findall(text):
        numbers.setdefault(form.strip(), set()).add(number)
    return numbers


@dataclass(frozen=True, slots=True)
class WeighedQuestion:
    """The terms of a question with their weights (inverse document frequency).

    - `own`: the weights of the terms that say something, at most the 40 rarest; `stops`: those of the stop words.
    - `words`: the word of the question that each term comes from.
    - `names`: the terms of `own` that are names; `formed`: those that are by their form, or as a program of the project.
    - `telling`: the number of terms that say something, before the rarest were chosen.
    - `rarity`: how rare each term that was looked up is in the bank, 0 to 1; a term that one row holds has 1.
    """

    own: Mapping[str, float]
    stops: Mapping[str, float]
    words: Mapping[str, str]
    names: frozenset[str]
    formed: frozenset[str] = frozenset()
    telling: int = 0
    rarity: Mapping[str, float] = field(default_factory=dict[str, float])


def own_programs(text: str) -> frozenset[str]:
    """Return the programs of the project that a text names by their path, in lower case: `./books` gives books."""
    return frozenset(name.lower() for name in _OWN_PROGRAM.findall(text))


def inverse_frequency(size: int, rows: int) -> float:
    """Return BM25's weight of a term that so many rows of a bank of this size hold.

    It is never negative: in a bank of 100 it is 4.2 for a term of one row, 0.7 for one of 50, and 0.005 for one of all.
    """
    return math.log(1 + max(size - rows + 0.5, 0.5) / (rows + 0.5))


def weigh(counts: TermCounts, text: str) -> WeighedQuestion:
    """Return the terms of a question with their weights: the rarer a term is in the bank, the more it weighs."""
    words = words_of(text)
    terms = list(words)[:MOST_READ]
    rows = {term: max(count, 1) for term, count in counts.look_up(terms).items()}
    weights = {term: inverse_frequency(counts.size, count) for term, count in rows.items()}
    rarest = inverse_frequency(counts.size, 1)
    telling = [term for term in terms if _is_telling(term)]
    own = sorted(telling, key=lambda term: -weights[term])[:MOST_TERMS]
    naming = Naming(
        programs=own_programs(text),
        size=counts.size,
        is_foreign=_is_foreign([words[term] for term in own]),
    )
    names = frozenset(term for term in own if naming.is_name(words[term], rows[term]))
    return WeighedQuestion(
        own={term: weights[term] for term in own},
        stops={term: weights[term] for term in terms if term in STOP_WORDS},
        words=words,
        names=names,
        formed=frozenset(term for term in names if naming.has_form(words[term])),
        telling=len(telling),
        rarity={term: weight / rarest for term, weight in weights.items()},
    )


def _is_telling(term: str) -> bool:
    """Return whether a term says something: it is no stop word, and no single letter.

    A single sign of a script without spaces says something: it is a word.
    """
    return term not in STOP_WORDS and (len(term) > 1 or not term.isascii())


def _is_foreign(words: Sequence[str]) -> bool:
    """Return whether a question is in another language than English: over a third of its words are rare in English."""
    plain = [word for word in words if word.isalpha()]
    return len(plain) >= SEVERAL and sum(map(is_rare, plain)) > _MOST_RARE * len(plain)


@dataclass(frozen=True, slots=True)
class Naming:
    """What makes a word of a question a name: it says which lesson is meant, so that few rows may hold it.

    `programs` are those of the project that the question names, `size` is the number of rows of the bank. In a question
    in a foreign language (`is_foreign`) a word is no name only because English hardly has it.
    """

    programs: frozenset[str]
    size: int
    is_foreign: bool

    def is_name(self, word: str, rows: int) -> bool:
        """Return whether a word that so many rows hold is a name."""
        if word.lower() in self.programs:
            return rows <= _PROGRAM_ROWS.of(self.size)
        if rows > _IDENTIFIER_ROWS.of(self.size):
            return False
        return is_identifier(word, rare=not self.is_foreign)

    def has_form(self, word: str) -> bool:
        """Return whether a name is one by its form or as a program; a rare word may be one of the language."""
        return word.lower() in self.programs or _has_form_of_name(word)
