"""The lines of an output that are bound to a claim: they share a name with it, or several rare words, or tell its result.

A line that only shares a word with a claim bears on it by chance.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from mcp_reflect.evidence.claim_terms import ClaimTerms
from mcp_reflect.evidence.line_marks import is_comment, number_of, without_number_or_plus
from mcp_reflect.evidence.outputs import ITEM, MOST_FORM, Output

_LONG_LINE: Final = 150  # characters
_MOST_ITEMS: Final = 8  # lines of an output of which each may be shown
_WORDS_OF_AN_ITEM: Final = 3
_DEFINES: Final = re.compile(
    r"\b(?:def|class|function|fn|func|interface|type|struct|enum|const|let|var|export)\s+\w"
)
_DIGIT: Final = re.compile(r"\d")

# What binds a line to a claim: weights of terms, and parts of what the whole claim weighs.
_OF_QUOTE: Final = 1.0
_OF_TERM_IN_COMMAND: Final = 0.5
_LEAST_OF_NAMES: Final = 0.6
_LEAST_OF_WORDS: Final = 0.9
_LEAST_PART_BY_NAMES: Final = 0.22
_LEAST_PART_BY_WORDS: Final = 0.33

# What counts beside the shared part, when lines are compared.
_OF_RESULT: Final = 1.0
_OF_DEFINITION: Final = 0.1
_OF_NUMBER: Final = 0.1
"""Of a line with a number, beside a claim with one."""
_OF_COMMENT: Final = -0.2

# Which lines are shown behind the first one.
_LEAST_SCORE: Final = 0.25
_LEAST_BESIDE_FIRST: Final = 0.75
_LEAST_SAYING_MORE: Final = 0.4
"""Of a line with a name that no line before has, and of one more that tells a result."""
_AGAIN: Final = 0.4
"""What a term counts for that a line before has shown."""


def spread_of(line: str) -> float:
    """Return by how much less a word counts that a line shares: 1 up to 150 characters, 2 at some 400, 3 at 1,100."""
    return 1 + max(0.0, math.log(max(1, len(line)) / _LONG_LINE))


@dataclass(frozen=True, slots=True)
class BoundLine:
    """A line that is bound to a claim; `place` is None for an output that is empty, which tells by that."""

    output: Output
    place: int | None
    score: float
    shared: frozenset[str] = frozenset()
    tells_result: bool = False

    @property
    def text(self) -> str:
        """The line without its number in the file, by which two outputs with the same line are known."""
        if self.place is None:
            return ""
        return without_number_or_plus(self.output.lines[self.place])


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """How the lines of an output are compared with a claim.

    `results` are the places of lines that tell how the run ended that the claim speaks of. `nearness` counts for all
    lines of the output: a work mostly speaks of what was printed last. Of a short output that is the last one, `is_near`,
    one shared word is enough. `most` lines are compared: those that share most.
    """

    claim: ClaimTerms
    output: Output
    nearness: float
    results: Mapping[int, float] = field(default_factory=dict[int, float])
    is_near: bool = False
    most: int

    def lines(self) -> list[BoundLine]:
        """Return the lines that are bound to the claim."""
        if not self.results and self.output.terms.isdisjoint(self.claim.binding):
            return []
        in_command = {
            term
            for term in self.output.tool_terms & self.claim.weights.keys()
            if self.claim.tells(term)
        }
        bound = (self._line(line_index, in_command) for line_index in self._places(in_command))
        return [line for line in bound if line is not None]

    def _places(self, in_command: set[str]) -> list[int]:
        """Return the indexes of the lines that can be bound: they share a name or two words.

        One word is enough in the last output, and in a file or a run that the claim names.
        """
        one_is_enough = self.is_near or any(map(self.claim.is_name, in_command))
        indexes: set[int] = set()
        with_a_word: set[int] = set()
        shared = Counter[int]()
        for term in self.claim.binding & self.output.terms:
            places_of_term = self.output.places_of.get(term, ())
            shared.update(places_of_term)
            if one_is_enough or term in self.claim.quoted or self.claim.is_name(term):
                indexes.update(places_of_term)
            else:
                indexes.update(with_a_word.intersection(places_of_term))
                with_a_word.update(places_of_term)
        best = sorted(indexes, key=lambda line_index: (-shared[line_index], line_index))[
            : self.most
        ]
        return sorted({*best, *list(self.results)[: self.most]})

    def _line(self, line_index: int, in_command: set[str]) -> BoundLine | None:
        """Return the line at an index with its score, None where nothing binds it to the claim.

        Its score is the part of the claim that it has, and what speaks for it beside that: it tells the result, defines
        a name, has a number where the claim has one; a comment counts less. `in_command` are the terms of the claim that
        stand in the command.
        """
        line = self.output.lines[line_index]
        shared = self._shared_terms(line_index, line)
        quotes = self.claim.quotes_in(line)
        if not (shared or quotes or line_index in self.results):
            return None
        weights = self._weights_in(shared, line)
        weight = sum(weights.values()) + _OF_QUOTE * min(2, len(quotes))
        of_command = sum(self.claim.weights[term] for term in in_command - shared)
        part = (weight + _OF_TERM_IN_COMMAND * of_command) / self.claim.whole
        names = {term for term in shared if self.claim.is_name(term)}
        is_certain = line_index in self.results or bool(quotes)
        if not is_certain and not self._is_bound(
            line_index, weights, own_weight=weight, part=part, names=names, in_command=in_command
        ):
            return None
        score = part + self.nearness + _OF_RESULT * self.results.get(line_index, 0.0)
        if names and _DEFINES.search(line[:MOST_FORM]):
            score += _OF_DEFINITION
        if self.claim.has_number and _DIGIT.search(without_number_or_plus(line[:MOST_FORM])):
            score += _OF_NUMBER
        if is_comment(line):
            score += _OF_COMMENT
        return BoundLine(
            self.output,
            line_index,
            score,
            frozenset((*shared, *quotes)),
            line_index in self.results,
        )

    def _shared_terms(self, line_index: int, line: str) -> set[str]:
        """Return the terms of a line that the claim has; its number in the file counts only beside the word "line"."""
        shared = self.output.terms_by_line[line_index] & self.claim.weights.keys()
        number = number_of(line)
        if number and "line" not in self.claim.text.lower():
            return shared - {number}
        return shared

    def _weights_in(self, shared: Iterable[str], line: str) -> dict[str, float]:
        """Return what the shared terms weigh: less in a long line, and where most lines of the output have them."""
        count = len(self.output.lines)
        spread = spread_of(line)
        weights: dict[str, float] = {}
        for term in shared:
            rarity = 1.0
            if count > 1:
                lines = len(self.output.places_of[term])
                rarity = math.sqrt(math.log(1 + count / lines) / math.log(1 + count))
            weights[term] = self.claim.weights[term] * rarity / spread
        return weights

    def _is_bound(
        self,
        line_index: int,
        weights: Mapping[str, float],
        *,
        own_weight: float,
        part: float,
        names: set[str],
        in_command: set[str],
    ) -> bool:
        """Return whether what a line shares binds it to the claim; the first row that fits decides.

        | the line                                                  | is bound where it shares                         |
        |-----------------------------------------------------------|--------------------------------------------------|
        | is one of many items, and shares no name                  | three words: the summary says the rest of all    |
        | shares a rare name                                        | a fair part of the claim                         |
        | shares two words                                          | a good part of the claim                         |
        | is of a file or a run that the claim names                | one word, and a good part of the claim           |
        | is of a short output that was printed last                | one word                                         |

        `own_weight` is what the line itself shares, `part` that with its command as a part of the claim.
        """
        words = {term for term in weights if self.claim.tells(term)}
        if self._is_item(line_index) and not names:
            return (
                len(words) >= _WORDS_OF_AN_ITEM
                and own_weight >= _LEAST_PART_BY_WORDS * self.claim.whole
            )
        by_names = sum(weights[term] for term in names)
        if by_names >= _LEAST_OF_NAMES and part >= _LEAST_PART_BY_NAMES:
            return True
        if len(words) > 1 and own_weight >= _LEAST_OF_WORDS and part >= _LEAST_PART_BY_WORDS:
            return True
        if words and any(map(self.claim.is_name, in_command)) and part >= _LEAST_PART_BY_WORDS:
            return True
        return self.is_near and bool(words)

    def _is_item(self, line_index: int) -> bool:
        """Return whether a line is one of many items, such as `PASSED test_a` in a run of many tests."""
        is_long = len(self.output.lines) > _MOST_ITEMS
        return is_long and ITEM.search(self.output.lines[line_index][:MOST_FORM]) is not None


def choose_lines(lines: Sequence[BoundLine], claim: ClaimTerms, most: int) -> list[BoundLine]:
    """Return the lines that say most of a claim, each for what those before it do not say."""
    remaining = list(lines)
    chosen: list[BoundLine] = []
    times: dict[str, int] = {}  # how many chosen lines have a term
    texts: set[str] = set()

    def value(line: BoundLine) -> float:
        """Return the score of a line without what the chosen ones have shown of it."""
        lost = sum(
            claim.weights.get(term, _OF_QUOTE) * (1 - _AGAIN ** times.get(term, 0))
            for term in line.shared
        )
        return line.score - lost / claim.whole

    first = 0.0
    while remaining and len(chosen) < most:
        line = max(remaining, key=lambda one: (value(one), one.output.number))
        first = first or value(line)
        names = {term for term in line.shared if term in claim.quotes or claim.is_name(term)}
        says_more = not chosen or line.tells_result or any(term not in times for term in names)
        least = first * (_LEAST_SAYING_MORE if says_more else _LEAST_BESIDE_FIRST)
        if value(line) < max(least, _LEAST_SCORE):
            break
        remaining.remove(line)
        if line.place is not None and line.text in texts:
            continue
        texts.add(line.text)
        chosen.append(line)
        for term in line.shared:
            times[term] = times.get(term, 0) + 1
    return chosen


def with_leading_lines(
    chosen: Sequence[BoundLine], leading: Iterable[BoundLine], most: int
) -> list[BoundLine]:
    """Return the chosen lines with those that stand first in their outputs, in place of what says least there."""
    lines = list(chosen)
    for first in leading:
        lines_of_output = [line for line in lines if line.output is first.output]
        if any(line.place == first.place for line in lines_of_output):
            continue
        others = [line for line in lines_of_output if not line.tells_result]
        if len(lines) >= most and others:
            lines.remove(min(others, key=lambda line: line.score))
        if len(lines) < most:
            lines.append(first)
    return lines
