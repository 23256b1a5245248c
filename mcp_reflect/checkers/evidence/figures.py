"""Figures of the work against the figures of the tool results, with unit, noun, label and row.

A figure is contradicted only by facts that carry its label: the same noun behind the number, or a label that stands
beside it in the claim, in a row that the claim names where there are several. Rounding as written is allowed;
"about" allows 5 %.
"""

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from mcp_reflect.checkers.evidence.claims import NUMBERS
from mcp_reflect.checkers.evidence.facts import STOP, Fact, Figure, figures, stem, stems

_ABOUT: Final = re.compile(
    r"\b(?:about|around|roughly|approximately|some|nearly|almost|close to|just (?:under|over)|a (?:little|good|bit)|"
    r"over|under|more than|less than|below|above|up to|at (?:least|most)|rund|etwa|environ|circa|ca\.?)\W{0,3}"
    r"(?:\w+ )?$|[~≈>]\s?$",
    re.IGNORECASE,
)
_TOLERANCE: Final = 0.05
_NO_CLAIM: Final = re.compile(
    r"\b(?:line|lines|step|steps|port|chapter|page|issue|section|item|option|rule|pr|#|version|v|node|python|day|"
    r"from|threshold|limit|target|goal|least|most|than|max(?:imum)?|min(?:imum)?|every|last|next|first|of|error|"
    r"january|february|march|april|may|june|july|august|september|october|november|december)\W{0,2}$",
    re.IGNORECASE,
)
_MONTH_AFTER: Final = re.compile(
    r"^\.?\s?(?:st|nd|rd|th)?\s?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)", re.IGNORECASE
)
_SPELLED: Final = re.compile(r"\b(" + "|".join(NUMBERS) + r")\b", re.IGNORECASE)
_LEAST: Final = 4
"""The least score that contradicts: the noun, or a key and a word of the row."""

_SURE: Final = 7
"""The score of a fact with the claim's noun and key: it contradicts though another number on its line agrees."""

_IDENTIFIER: Final = re.compile(r"\w[./_-]\w|[a-z]\d|\d[a-z]")
_GENERIC: Final = stems("time way thing part place case other more new number value result run day step")
_COMMON: Final = stems(
    "file test line error warning issue problem package item second minute commit step byte row user order"
)
"""Nouns of many texts: they label a number only together with the word behind them, as in "files changed"."""
_LIMIT: Final = re.compile(
    r"\b(?:targets?|thresholds?|limits?|goals?|timeouts?|minimum|maximum|budget|required|retr\w+|port|wrote|by hand|"
    r"days?|weeks?|months?|years?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Claimed:
    """A figure of the work: the nouns behind it, the stems of its clause, and if it is only approximate."""

    figure: Figure
    nouns: frozenset[str]
    near: frozenset[str]
    words: frozenset[str]
    about: bool


@dataclass(frozen=True, slots=True)
class Compared:
    """`holds` is True, False, or None where the results do not decide it; `shown` is the fact that decided."""

    text: str
    holds: bool | None = None
    shown: str | None = None


def claimed(clause: str, sentence: str) -> Iterator[Claimed]:
    """Return the figures that a clause states, spelled-out numbers with a noun among them."""
    if _LIMIT.search(clause):
        return
    words = stems(sentence) | {number.replace(",", "") for number in re.findall(r"\d[\d,]*", sentence)}
    for figure in [*figures(clause), *_spelled(clause)]:
        before, after = clause[: figure.start], clause[figure.end :]
        if _NO_CLAIM.search(before) or _MONTH_AFTER.match(after) or re.match(r"\s(?:a|an|per|each)\b", after):
            continue
        following = re.match(r"\s?((?:[^\W\d_][\w-]*\s?){0,3})", after)
        nouns = [word for word in (following[1].split() if following else []) if word.lower() not in STOP]
        counted = frozenset(stem(noun) for noun in nouns[:2]) if not figure.kind else frozenset[str]()
        near = stems(f"{' '.join(before.split()[-4:])} {' '.join(after.split()[:4])}")
        yield Claimed(figure, counted - _GENERIC, near, words, bool(_ABOUT.search(before)))


def _spelled(clause: str) -> Iterator[Figure]:
    for found in _SPELLED.finditer(clause):
        noun = re.match(r"\s([^\W\d_]{3,})", clause[found.end() :])
        if noun and noun[1].lower() not in STOP and found[1].lower() != "one":
            yield Figure(NUMBERS[found[1].lower()], "", 0, 1.0, found.start(), found.end(), found[1])


def compare(claim: Claimed, facts: Sequence[Fact]) -> Compared:
    """Compare one figure with the facts of its kind that carry its label best."""
    text = claim.figure.text.strip()
    same_kind = [fact for fact in facts if _comparable(claim.figure, fact.figure)]
    labelled = [fact for fact in same_kind if _labels(claim, fact)]
    everywhere = (
        {word for word in labelled[0].row if all(word in fact.row for fact in labelled)} if labelled[1:] else set[str]()
    )
    scored = [(_score(claim, fact, everywhere), fact) for fact in labelled]
    best = max((score for score, _ in scored), default=0)
    top = [fact for score, fact in scored if score == best]
    equal = [fact for fact in same_kind if _equal(claim, fact)]
    if shown := [fact for fact in top if fact in equal]:
        return Compared(text, holds=True, shown=shown[0].line)
    if not top or best < _LEAST or len({fact.figure.value for fact in top}) > 1 or _derived(claim, labelled):
        return Compared(text)
    if equal and not (best >= _SURE and all(fact.line == top[0].line for fact in equal)):
        return Compared(text)
    return Compared(text, holds=False, shown=top[-1].line)


def _comparable(written: Figure, shown: Figure) -> bool:
    """True for the same kind; a time or size may also be given without its unit."""
    return written.kind == shown.kind or (not shown.kind and written.kind in {"time", "size"})


def _labels(claim: Claimed, fact: Fact) -> bool:
    """True if a fact carries the noun of a claim, a label near its number, or alone stands with a name it gives."""
    if fact.noun in claim.nouns:
        return fact.noun not in _COMMON or bool(fact.verb and fact.verb in claim.near) or bool(fact.keys & claim.near)
    if fact.keys & (claim.near | claim.nouns) - _GENERIC - _COMMON and not fact.noun:
        return True
    return fact.alone and any(_IDENTIFIER.search(name) for name in fact.row & claim.near)


def _score(claim: Claimed, fact: Fact, everywhere: AbstractSet[str]) -> int:
    """Score how well the labels fit: noun 4, key 3, each word of the row that tells rows apart 2."""
    keys = fact.keys & (claim.near | claim.nouns)
    rows = (fact.row & claim.words) - keys - everywhere - claim.nouns
    return 4 * (fact.noun in claim.nouns) + 3 * bool(keys) + 2 * min(2, len(rows))


def _equal(claim: Claimed, fact: Fact) -> bool:
    """True if the two agree as the claim rounds, either as written or with 1024 as the base of a size."""
    written, shown = claim.figure, fact.figure
    step = 0.5 * 10.0**-written.places * written.factor
    values = [shown.value]
    if written.kind and not shown.kind:
        values += [shown.value * scale for scale in (written.factor, 1e-3, 1e-6, 1e-9, 60.0, 3600.0, 1e3, 1e6)]
    if written.kind == "size":
        power = round(len(str(int(max(1.0, shown.factor)))) // 3)
        values += [shown.value * 1.024**n for n in range(-3, power + 4)]
    for value in values:
        if abs(value - written.value) <= step * 1.0001:
            return True
        if claim.about and abs(value - written.value) <= _TOLERANCE * max(abs(value), 1e-12):
            return True
    return False


def _derived(claim: Claimed, labelled: Sequence[Fact]) -> bool:
    """True if the value is the sum or difference of two labelled facts, or the sum or number of all of them."""
    values = [fact.figure.value for fact in labelled[:60] if fact.figure.value]
    target, step = claim.figure.value, 0.5 * 10.0**-claim.figure.places * claim.figure.factor
    results = [sum(values), *(a + b for a, b in combinations(values, 2))]
    results += [abs(a - b) for a, b in combinations(values, 2)]
    return any(abs(result - target) <= step for result in results)
