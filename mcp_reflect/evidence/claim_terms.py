"""What a claim names, and what kind of output could decide it."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property, lru_cache
from itertools import chain
from typing import Final

from mcp_reflect.evidence import claim_words
from mcp_reflect.evidence.kinds import CHECKS, ProofKind
from mcp_reflect.evidence.roles import CHANGED, HISTORY, MENDED, REMOVED, roles_in
from mcp_reflect.evidence.success_claims import claims_of
from mcp_reflect.evidence.terms import is_common, stands_for_itself, terms_of
from mcp_reflect.evidence.word_lists import pattern_of, read_word_list
from mcp_reflect.text.stemmer import stem

_MOST_CLAIM: Final = 900  # characters of a claim
_MOST_SAID: Final = 300  # characters of a claim in which it is looked for what went well
_SHORTEST_QUOTE: Final = 4  # characters
_QUOTE: Final = re.compile(r"`([^`]{2,120})`|\"([^\"]{3,80})\"|\u201c([^\u201d]{3,80})\u201d")
_NUMBER: Final = re.compile(
    r"\d|\b(?:no|none|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b",
    re.IGNORECASE,
)
_HASH: Final = re.compile(r"\b(?=[a-f]{0,40}\d)(?=\d{0,40}[a-f])[0-9a-f]{7,40}\b")
_PLAIN_WORD: Final = re.compile(r"[^\W\d_]+")
_CODE_BLOCK: Final = re.compile(r"[\w+#-]{1,20} block: ")

_CONJECTURE: Final = pattern_of("conjecture words", "claim_kinds")
_CHANGE: Final = pattern_of("change words", "claim_kinds")
_TROUBLE: Final = pattern_of("trouble words", "claim_kinds")
_COUNT: Final = pattern_of("counted results", "claim_kinds")

_SYNONYMS: Final = {
    stem(word): frozenset(map(stem, group.split()))
    for group in read_word_list("synonyms")["synonyms"]
    for word in group.split()
}

# What a term weighs beside a word that is as rare.
_OF_NAME: Final = 1.5
_OF_COMMON_WORD: Final = 0.3
_OF_SMALL_NUMBER: Final = 0.5
_OF_UNFOUND_WORD: Final = 0.5
_OF_SYNONYM: Final = 0.7
_LEAST_WHOLE: Final = 1.2
_MOST_WHOLE: Final = 4.0
"""A long sentence is bound by a part of its words."""


class DecidedBy(Enum):
    """The kind of output that could decide a claim."""

    CHANGE = auto()
    """An edit, a removal or a commit: "Added `retry` to client.py"."""
    RESULT = auto()
    """How a run ended and what it printed: "All tests pass"."""
    TEXT = auto()
    """Any line that says so: "`total` is rounded"."""


@dataclass(frozen=True, slots=True)
class Rarity:
    """How rare terms are in the outputs that were sent."""

    frequency: Mapping[str, int]
    outputs: int

    def weight(self, term: str) -> float:
        """Return what a term tells of an output that has it: a rare name most, a common word little."""
        rarity = math.log(1 + self.outputs / self.frequency[term]) / math.log(1 + self.outputs)
        if not stands_for_itself(term):
            return rarity * _OF_SMALL_NUMBER
        if is_common(term):
            return rarity * _OF_COMMON_WORD
        if term[0] == "=":
            return rarity * _OF_NAME
        return rarity


@dataclass(frozen=True)
class ClaimTerms:
    """A claim as far as outputs can bear on it.

    `weights` are of its terms that any output has, `whole` is what all of them weigh, `related` has words beside them that
    say the same, `binding` are those of which a line has to share one. `quotes` stand in it as code or in
    quotation marks; `quoted` are their terms, `quoted_names` those of more than a plain word. `roles` are those of the
    commands of which it speaks, `went_well` the kinds of runs of which it says that they went well.
    """

    text: str
    weights: Mapping[str, float]
    related: Mapping[str, float]
    binding: frozenset[str]
    whole: float
    quotes: tuple[str, ...]
    quoted: frozenset[str]
    quoted_names: frozenset[str]
    roles: frozenset[str]
    went_well: frozenset[ProofKind]

    @cached_property
    def is_open(self) -> bool:
        """True for what no output can decide: a conjecture, a wish, and a block of code that the work proposes."""
        return bool(_CONJECTURE.search(self.text) or _CODE_BLOCK.match(self.text))

    @cached_property
    def decided_by(self) -> tuple[DecidedBy, ...]:
        """The kinds of outputs that could decide it, the first of them that binds does."""
        if self.speaks_of_change:
            return (DecidedBy.CHANGE, DecidedBy.RESULT, DecidedBy.TEXT)
        return (DecidedBy.RESULT, DecidedBy.TEXT)

    @cached_property
    def speaks_of_change(self) -> bool:
        return bool(self.roles & {CHANGED, REMOVED} or _CHANGE.search(self.text))

    @cached_property
    def speaks_of_trouble(self) -> bool:
        return _TROUBLE.search(self.text) is not None

    @cached_property
    def speaks_of_result(self) -> bool:
        """True for words on how something ended. A claim that only names the tests is none: "I moved the tests"."""
        words = (claim_words.GOOD, claim_words.BAD, claim_words.BAD_ONCE, _COUNT)
        return self.speaks_of_trouble or any(pattern.search(self.text) for pattern in words)

    @cached_property
    def speaks_of_history(self) -> bool:
        """True for words on commits, branches and pushes, and for the hash of a commit."""
        if _HASH.search(self.text):
            return True
        return bool(self.roles & {HISTORY, ProofKind.COMMIT, ProofKind.PUSH})

    @cached_property
    def has_number(self) -> bool:
        return _NUMBER.search(self.text) is not None

    @cached_property
    def kinds(self) -> frozenset[ProofKind]:
        """The kinds of runs on whose end it speaks."""
        kinds = frozenset(kind for kind in ProofKind if kind in self.roles)
        if self.speaks_of_result or MENDED in self.roles:
            return kinds
        if self.has_number:
            return kinds - CHECKS
        return frozenset()

    def is_name(self, term: str) -> bool:
        """True for a name, what the claim sets as code and is more than a plain word, and a number that stands for itself."""
        if is_common(term):
            return False
        is_number = term[0].isdigit() and stands_for_itself(term)
        return term[0] == "=" or term in self.quoted_names or is_number

    def quotes_in(self, line: str) -> list[str]:
        """Return the quotes that a line has as whole words: `round` does not stand in "rounding"."""
        return [quote for quote in self.quotes if _stands_in(quote, line)]

    def tells(self, term: str) -> bool:
        """True for a term that few works share."""
        return _tells(term)


def _tells(term: str) -> bool:
    return stands_for_itself(term) and not is_common(term)


def claim_terms(text: str, rarity: Rarity) -> ClaimTerms:
    """Return what a claim names and speaks of."""
    text = text[:_MOST_CLAIM]
    terms = terms_of(text)
    weights = {term: rarity.weight(term) for term in sorted(terms) if rarity.frequency.get(term)}
    unfound = sum(not is_common(term) for term in terms - weights.keys())
    whole = sum(weights.values()) + _OF_UNFOUND_WORD * unfound
    quotes = _quotes_in(text)
    quoted = _terms_in(quotes)
    roles, went_well = _said_in(text[:_MOST_SAID])
    return ClaimTerms(
        text=text,
        weights=weights,
        binding=frozenset(term for term in weights if _tells(term) or term in quoted),
        related={**_synonyms_of(terms, rarity), **weights},
        whole=min(_MOST_WHOLE, max(_LEAST_WHOLE, whole)),
        quotes=quotes,
        quoted=quoted,
        quoted_names=_terms_in(quote for quote in quotes if not _PLAIN_WORD.fullmatch(quote)),
        roles=roles,
        went_well=went_well,
    )


def _synonyms_of(terms: Iterable[str], rarity: Rarity) -> Mapping[str, float]:
    """Return the words of outputs that say the same as words of a claim: "insertions" for "added"."""
    words = set(chain.from_iterable(_SYNONYMS.get(term, ()) for term in terms)) - set(terms)
    return {
        word: _OF_SYNONYM * rarity.weight(word)
        for word in sorted(words)
        if rarity.frequency.get(word)
    }


def _terms_in(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(chain.from_iterable(map(terms_of, texts)))


def _stands_in(quote: str, line: str) -> bool:
    """True where a quote is in a line, and no longer word is around it."""
    place = line.find(quote)
    while place >= 0:
        around = (line[place - 1 : place] + quote[0], quote[-1] + line[place + len(quote) :][:1])
        if not any(len(signs) > 1 and signs.isalnum() for signs in around):
            return True
        place = line.find(quote, place + 1)
    return False


def _quotes_in(text: str) -> tuple[str, ...]:
    """Return what stands as code or in quotation marks; of a folder what any path to it has, "src/app" of `./src/app/`."""
    found = (code or plain or curly for code, plain, curly in _QUOTE.findall(text))
    bare = (quote.strip().removeprefix("./").removesuffix("/") for quote in found)
    return tuple(quote for quote in bare if len(quote) >= _SHORTEST_QUOTE)


@lru_cache(maxsize=500)
def _said_in(text: str) -> tuple[frozenset[str], frozenset[ProofKind]]:
    """Return the roles of commands of which a claim speaks, and the kinds of runs of which it says that they went well."""
    roles = roles_in(text)
    well = set(chain.from_iterable(claim.kinds for claim in claims_of(text)))
    if MENDED in roles:
        well.add(ProofKind.ANY)
    return roles, frozenset(well)
