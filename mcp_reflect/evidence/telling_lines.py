"""The few lines of an output that tell about a claim."""

import heapq
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from mcp_reflect.evidence.outputs import (
    ERROR,
    ITEM,
    SUMMARY,
    TELLING,
    TESTS_SUMMARY,
    WRITTEN,
    Output,
    is_common,
)

_LONG_LINE: Final = 150  # characters; what a longer one shares counts for less
_MOST_FORM: Final = 300
_LONG_PAGE: Final = 3_000  # characters
_SHORT_OUTPUT: Final = 5  # lines
_MOST_ITEMS: Final = 8  # lines of an output of which each may be shown
_WORDS_OF_AN_ITEM: Final = 3
_NUMBER: Final = re.compile(r"\d+")
_PLACE: Final = re.compile(r"^(?:\S{1,200}:)?\d{1,6}(?:→|:|-)")
_AGAIN: Final = 0.5  # what a word counts for that a line before has shown
_LATER: Final = 0.9  # what the form of a line counts for behind another one

# What the form of a line counts for, beside the words that it shares with a claim.
_SUMS_UP: Final = 0.8
_TELLS: Final = 0.35
_COUNTS: Final = 0.2
_NAMES_ERROR: Final = 0.9
_IS_LAST: Final = 0.3
_IS_FIRST: Final = 0.4
_IS_NEAR_END: Final = 0.1
_OF_A_SHORT_ONE: Final = 0.4


@dataclass(frozen=True)
class LinesFor:
    """The lines of an output as a claim sees them. `weights` are of the terms that both share.

    `is_run`: the output is the run that the claim speaks of, so that how it ended tells, whatever words it uses. `counts`:
    the claim has a number.
    """

    output: Output
    weights: Mapping[str, float]
    named: frozenset[str]
    is_run: bool
    of_tests: bool
    counts: bool

    @cached_property
    def by_rarity(self) -> dict[str, float]:
        """The weights of the terms; one that stands in most lines of the output tells less of each."""
        count = len(self.output.lines)
        if count < 2:
            return dict(self.weights)
        found: dict[str, float] = {}
        for term, weight in self.weights.items():
            lines = self.output.lines_with[term]
            if lines:
                found[term] = weight * math.sqrt(math.log(1 + count / lines) / math.log(1 + count))
        return found

    @cached_property
    def shared(self) -> list[set[str]]:
        """The terms of each line that the claim shares."""
        return [terms & self.by_rarity.keys() for terms in self.output.terms_by_line]

    def is_tied(self, at: int) -> bool:
        """True for a line that tells by its form, and one that shares enough words with the claim, or a name."""
        shared = self.shared[at]
        if self._repeats_its_file(at):
            return False
        if self._is_item(at):
            return any(term[0] == "=" for term in shared) or len(shared) >= _WORDS_OF_AN_ITEM
        return self.form(at) > 0 or any(not is_common(term) for term in shared)

    def _repeats_its_file(self, at: int) -> bool:
        """True where a host says of a change only which file it was, and other lines show what was changed."""
        is_one_of_many = (
            self.output.is_edit and self.output.is_of_file and len(self.output.lines) > 1
        )
        return is_one_of_many and self.shared[at] <= self.output.tool_terms

    def _is_item(self, at: int) -> bool:
        """True where one item of many passed: the line that sums the run up says so of all."""
        is_long = len(self.output.lines) > _MOST_ITEMS
        return is_long and ITEM.search(self.output.lines[at][:_MOST_FORM]) is not None

    def covered(self, weights: Mapping[str, float]) -> float:
        """Return what the terms weigh that one line has together with the command, of the line that has most."""
        of_tool = self.output.tool_terms & weights.keys()
        return max(
            (sum(weights[term] for term in of_tool | line) for line in self.shared), default=0.0
        )

    @cached_property
    def best(self) -> float:
        """What the line shares that shares most."""
        return max((self.words(at, self.by_rarity) for at in range(len(self.shared))), default=0.0)

    def choose(self, most: int, least: float) -> dict[int, float]:
        """Return the places of the lines that tell most, each with what it counts for; none that counts for less.

        A line counts for what those before it do not say. Of a run the line that sums it up comes first.
        """
        choice = _Choice(self, dict(self.by_rarity))
        summary = self._last_summary() if self.is_run else None
        if summary is not None:
            choice.take(summary, max(self.form(summary), least))
        eligible = [at for at in range(len(self.output.lines)) if self.is_tied(at)]
        while len(choice.values) < most:
            values = {at: choice.value(at) for at in eligible if at not in choice.values}
            at = max(values, key=lambda place: (values[place], -place), default=None)
            if at is None or values[at] < least or not values[at]:
                break
            choice.take(at, values[at])
        return choice.values

    def words(self, at: int, left: Mapping[str, float]) -> float:
        """Return what the words of a line count for: less in a long line, which shares many by chance."""
        length = len(self.output.lines[at])
        spread = 1 + max(0.0, math.log(length / _LONG_LINE))
        score = sum(left[term] for term in self.shared[at]) / spread
        return score + _COUNTS if score and self._counts(at) else score

    def _counts(self, at: int) -> bool:
        """True for a line with a number beside a claim with one: what a claim counts is decided by what was counted."""
        start = _PLACE.sub("", self.output.lines[at][:_MOST_FORM])
        return self.counts and _NUMBER.search(start) is not None

    def _last_summary(self) -> int | None:
        """Return the place of the last line that sums the run up, of tests where the claim speaks of them."""
        lines = self.output.lines
        for pattern in (TESTS_SUMMARY, SUMMARY) if self.of_tests else (SUMMARY,):
            for at in range(len(lines) - 1, -1, -1):
                if pattern.search(lines[at][:_MOST_FORM]):
                    return at
        return None

    def form(self, at: int) -> float:
        """Return what a line of a run counts for by its form and its place alone."""
        if not self.is_run or self.output.lines[at].startswith(WRITTEN):
            return 0.0
        start = self.output.lines[at][:_MOST_FORM]
        if self._is_item(at):
            return 0.0
        last = len(self.output.lines) - 1
        score = _SUMS_UP if SUMMARY.search(start) else 0.0
        if TELLING.search(start):
            score += _TELLS
        if self._counts(at):
            score += _COUNTS
        if ERROR.search(start):
            score += _NAMES_ERROR
        if at == 0:
            score += _IS_FIRST
        if last < _SHORT_OUTPUT:
            score += _OF_A_SHORT_ONE
        if at == last:
            return score + _IS_LAST
        if at > last - _SHORT_OUTPUT:
            return score + _IS_NEAR_END
        return score


def weight_of(lines: LinesFor) -> float:
    """Return what the shared terms of an output weigh: of a long page those of its tool and its two best lines alone.

    A page that speaks of everything shares many words with any work, each on a line of its own.
    """
    output, weights = lines.output, lines.weights
    if len(output.content) <= _LONG_PAGE:
        return sum(weights.values())
    rare = lines.by_rarity
    best = heapq.nlargest(2, lines.shared, key=lambda terms: sum(rare[term] for term in terms))
    together = (output.tool_terms & weights.keys()).union(*best)
    return sum(weights[term] for term in together)


@dataclass
class _Choice:
    """The lines that were chosen so far, and what the terms still count for."""

    lines: LinesFor
    left: dict[str, float]
    values: dict[int, float] = field(default_factory=dict[int, float])
    shapes: set[str] = field(default_factory=set[str])

    def value(self, at: int) -> float:
        """Return what a line counts for behind those that were chosen; the form of one like them for nothing."""
        words = self.lines.words(at, self.left)
        if self._shape(at) in self.shapes:
            return words
        return words + self.lines.form(at) * _LATER ** len(self.values)

    def take(self, at: int, value: float) -> None:
        """Choose a line."""
        self.values[at] = value
        self.shapes.add(self._shape(at))
        for term in self.lines.shared[at]:
            self.left[term] *= _AGAIN

    def _shape(self, at: int) -> str:
        """Return a line without its numbers, by which "Checked 3 files" is like "Checked 12 files"."""
        return _NUMBER.sub("#", self.lines.output.lines[at][:_MOST_FORM])
