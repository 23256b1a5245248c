"""A question as weighed terms: which are rare, and which are identifiers, that tell a lesson's subject."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.storage.retrieval.index import TermCounts, words_of
from mcp_reflect.text.stemmer import STOP_WORDS
from mcp_reflect.text.word_vectors import shared_table

MOST_TERMS: Final = 40  # terms of a question that count: the rarest
MOST_READ: Final = 400  # distinct terms of a question that are looked up
SEVERAL: Final = 2  # words that say more than one that may be shared by chance

# The part of a question's words that may be rare; with more it is in another language.
_MOST_RARE: Final = 1 / 3
# Rows, or the part of the rows, that may hold a name that still tells lessons apart.
_IDENTIFIER_ROWS: Final = (3, 0.02)
# The same for a program of the project: each session with it leaves a reflection.
_PROGRAM_ROWS: Final = (12, 0.1)


# Identifiers tell a lesson's subject better than common words.

# Paths, dotted and snake_case names, addresses of hosts: parts joined by a sign that prose does not put there.
_JOINED: Final = lazy_compile(r"\w[./_:\\@]\w")
_CODE: Final = lazy_compile(
    r"(?=.*[a-z])(?=.*\d)[a-z0-9_-]{3,}|\d{5,}", flags=2
)  # E4012, sha256, utf8, 40112
_FIGURES: Final = lazy_compile(r"[\d\W_]+")
_CAMEL: Final = lazy_compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_SHORTEST: Final = 4  # letters of a name without a form
# A program of the project, which a task names by its path: `./sheet` is not a sheet of paper.
_OWN_PROGRAM: Final = lazy_compile(r"(?<![\w./])\./([\w-]+)")
# English endings with what may stand in their place, and beginnings.
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
_SHORTEST_BASE: Final = 3  # letters
_PROSE: Final = frozenset("and/or e.g i.e a.m p.m etc. vs. w/o n/a m/s km/h mb/s".split())

# E4012, TS2345, GH006, HTTP 404, exit code 137: the form and the number.
_ERROR_CODE: Final = lazy_compile(
    r"\b([A-Z]{1,5}-?(?=\d{3})|(?:HTTP|status|exit code|errno) ?)(\d{1,6})\b"
)


def is_identifier(word: str, *, rare: bool = True) -> bool:
    """True if a word as it was written is a name: a path, an error code, a function, an option.

    With `rare`, so is a word that English texts hardly have.
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
    """True if a word is a name by its form alone: figures joined by a sign are 1/4 cup, 2.3 s or 12:01 as well."""
    return is_identifier(word, rare=False) and not _FIGURES.fullmatch(word)


def is_rare(word: str) -> bool:
    """True if a lower-case word, with and without English endings and beginnings, is no token of the packaged table."""
    return not any(map(shared_table().knows, _forms(word)))


@lru_cache(maxsize=10_000)
def _forms(word: str) -> frozenset[str]:
    """Return a word and what it may be made of: refunded gives refund and fund, currencies currency, blurry blur."""
    bases = _bases(word)
    bases |= {other for base in bases for other in _bases(base)}
    begun = {base.removeprefix(start) for base in bases for start in _BEGINNINGS}
    return frozenset(form for form in (bases | begun) if len(form) >= _SHORTEST_BASE) | {word}


def _bases(word: str) -> set[str]:
    """Return what is left of a word without one ending: with an e, or one of two equal letters, in its place."""
    found = {word}
    for ending, instead in _ENDINGS:
        if not word.endswith(ending):
            continue
        base = word.removesuffix(ending)
        found |= {base + letters for letters in instead}
        if base[-2:-1] == base[-1:]:
            found.add(base[:-1])
    return found


def error_codes(text: str) -> dict[str, set[str]]:
    """Return the numbers of the error codes that a text names, by their form: E4012 has the form E."""
    found: dict[str, set[str]] = {}
    for form, number in _ERROR_CODE.findall(text):
        found.setdefault(form.strip(), set()).add(number)
    return found


@dataclass(frozen=True, slots=True)
class WeighedQuestion:
    """The terms of a question with their weights (inverse document frequency).

    `own` are the terms that are not stop words; `stops` the stop words; `words` are the words
    that the terms come from, `names` the terms that are identifiers, `formed` those of them by their form or as a
    program of the project, `telling` the number of terms before the rarest were chosen.
    """

    own: Mapping[str, float]
    stops: Mapping[str, float]
    words: Mapping[str, str]
    names: frozenset[str]
    formed: frozenset[str] = frozenset()
    telling: int = 0


def own_programs(text: str) -> frozenset[str]:
    """Return the programs of the project that a text names by their path, in lower case: `./books` gives books."""
    return frozenset(name.lower() for name in _OWN_PROGRAM.findall(text))


def inverse_frequency(size: int, rows: int) -> float:
    """Return BM25's weight of a term that so many rows of a bank of this size hold."""
    return math.log(1 + max(size - rows + 0.5, 0.5) / (rows + 0.5))


def weigh(counts: TermCounts, text: str) -> WeighedQuestion:
    """Weigh the terms of a question by BM25's inverse document frequency in the form that is never negative."""
    words = words_of(text)
    terms = list(words)[:MOST_READ]
    rows = {term: max(count, 1) for term, count in counts.look_up(terms).items()}
    weights = {term: inverse_frequency(counts.size, count) for term, count in rows.items()}
    telling = [
        term for term in terms if term not in STOP_WORDS and (len(term) > 1 or not term.isascii())
    ]
    own = sorted(telling, key=lambda term: -weights[term])[:MOST_TERMS]
    plain = [words[term] for term in own if words[term].isalpha()]
    foreign = len(plain) >= SEVERAL and sum(map(is_rare, plain)) > _MOST_RARE * len(plain)
    programs = own_programs(text)

    def is_name(term: str) -> bool:
        word = words[term]
        least, part = _PROGRAM_ROWS if word.lower() in programs else _IDENTIFIER_ROWS
        known = word.lower() in programs or is_identifier(word, rare=not foreign)
        return known and rows[term] <= max(least, part * counts.size)

    names = frozenset(filter(is_name, own))
    formed = frozenset(
        term for term in names if words[term].lower() in programs or _has_form_of_name(words[term])
    )
    return WeighedQuestion(
        own={term: weights[term] for term in own},
        stops={term: weights[term] for term in terms if term in STOP_WORDS},
        words=words,
        names=names,
        formed=formed,
        telling=len(telling),
    )
