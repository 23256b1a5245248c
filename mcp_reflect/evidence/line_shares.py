"""How likely each line of the outputs decides a claim, by twelve plain features and a rounded weight for each.

The weights were fitted by logistic regression on claims of recorded works whose deciding line other people named; fitted on the
sessions of one host alone they are much the same. A share of its own stands for "no line decides it".
"""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import mul
from typing import Final, NamedTuple

from mcp_reflect.evidence.bound_lines import spread_of
from mcp_reflect.evidence.claim_terms import ClaimTerms
from mcp_reflect.evidence.line_marks import without_marks
from mcp_reflect.evidence.measures import measures_in
from mcp_reflect.evidence.outputs import ERROR, MOST_FORM, SUMMARY, Output
from mcp_reflect.evidence.result_lines import results_of

_MOST_OUTPUTS: Final = 16  # whose lines are weighed for a claim
_ALWAYS_WEIGHED: Final = 2  # of the latest outputs
_MOST_PLACES: Final = 10  # lines of an output that share most with a claim
_NEAR: Final = 2  # lines around each of them
_MOST_RESULTS: Final = 6
_FEW_LINES: Final = 3
_MOST_SHARED: Final = 1.5
_LEAST_IN_LINE: Final = 0.15
_LEAST_OF_SUBJECT: Final = 0.2
_LEAST_SHARED: Final = 0.15
_LEAST_OF_ONE_WORD: Final = 0.3
"""Of what all words of a claim weigh: an output that shares less bears on it by chance."""
_OF_COMMAND: Final = 2.0
_OF_LENGTH: Final = 0.2

_DIGIT: Final = re.compile(r"\d")


class LineFeatures(NamedTuple):
    """What is known of a line beside a claim. The first three are parts of what all words of the claim weigh.

    `in_command` counts the words of the command that the line itself has not. `recent` is 1 for the last output and less
    for one before it, `length` grows with the lines of the output.
    """

    in_line: float
    in_command: float
    in_output: float
    result: float
    error: float
    counts: float
    number: float
    measure: float
    quotes: float
    last_line: float
    recent: float
    length: float

    @property
    def tells(self) -> bool:
        """True for a line that shares a good part of the claim itself, or tells a result or measure of what it is on."""
        if self.quotes or self.in_line >= _LEAST_IN_LINE:
            return True
        if self.measure and self.in_output >= _LEAST_OF_SUBJECT:
            return True
        is_result = bool(self.result or self.error)
        return is_result and self.in_command + self.in_line >= _LEAST_OF_SUBJECT


_WEIGHTS: Final = LineFeatures(
    in_line=6.0,
    in_command=3.0,
    in_output=3.5,
    result=0.7,
    error=1.2,
    counts=1.0,
    number=1.2,
    measure=2.0,
    quotes=1.6,
    last_line=0.6,
    recent=3.0,
    length=-0.75,
)
OF_NO_LINE: Final = 4.5
"""The score of "no line decides it"."""


@dataclass(frozen=True, slots=True)
class LineShare:
    """A line with its share of all that could decide a claim."""

    output: Output
    place: int
    score: float
    share: float
    tells: bool
    """As `LineFeatures` has it."""


class _WeighedOutput:
    """An output with what its lines are, whatever the claim."""

    def __init__(self, output: Output, behind: int) -> None:
        self.output = output
        self.recent = 1 / math.sqrt(1 + behind)
        self.length = math.log(1 + len(output.lines))

    @cached_property
    def results(self) -> Mapping[int, float]:
        """The places of the lines that tell how a run ended. A look at a file has some where it shows none of its text."""
        is_text = self.output.is_look_at_file and len(self.output.lines) > _FEW_LINES
        return {} if is_text else results_of(self.output)

    @cached_property
    def errors(self) -> frozenset[int]:
        return self._places_of(ERROR)

    @cached_property
    def counts(self) -> frozenset[int]:
        return self._places_of(SUMMARY)

    @cached_property
    def forms(self) -> list[str]:
        """The starts of the lines without their numbers in a file."""
        return [without_marks(line[:MOST_FORM]) for line in self.output.lines]

    @cached_property
    def always_weighed(self) -> frozenset[int]:
        """The places of the lines that are weighed whatever they share: all of a short output, else results and the end."""
        count = len(self.output.lines)
        if count <= 2 * _FEW_LINES:
            return frozenset(range(count))
        return frozenset((*list(self.results)[-_MOST_RESULTS:], count - 1))

    def rarity_of(self, term: str) -> float:
        """Return what a term tells of a line: less where most lines of the output have it."""
        count = len(self.output.lines)
        if count < 2:
            return 1.0
        lines = len(self.output.places_of[term])
        return math.sqrt(math.log(1 + count / lines) / math.log(1 + count))

    def _places_of(self, pattern: re.Pattern[str]) -> frozenset[int]:
        if self.output.is_look_at_file or self.output.is_listing:
            return frozenset()
        return frozenset(place for place, form in enumerate(self.forms) if pattern.search(form))


class LineShares:
    """The outputs of a session, each line with its share of what decides a claim."""

    def __init__(self, outputs: Sequence[Output]) -> None:
        """Take the outputs, oldest first."""
        last = max((output.number for output in outputs), default=0)
        self._outputs = [
            _WeighedOutput(output, last - output.number)
            for output in outputs
            if output.lines and not output.is_plan
        ]
        self._with_term: defaultdict[str, list[int]] = defaultdict(list)
        for at, one in enumerate(self._outputs):
            for term in one.output.terms:
                self._with_term[term].append(at)

    def lines_for(
        self, claim: ClaimTerms, is_asked: Callable[[Output], bool], most_outputs: int
    ) -> list[LineShare]:
        """Return the lines of the outputs that are asked, the likeliest to decide a claim first, each with its share."""
        scored = [
            (sum(map(mul, features, _WEIGHTS)), output, place, features.tells)
            for output, place, features in self._features_of(claim, is_asked, most_outputs)
        ]
        if not scored:
            return []
        top = max(OF_NO_LINE, *(score for score, *_ in scored))
        odds = [math.exp(score - top) for score, *_ in scored]
        whole = sum(odds) + math.exp(OF_NO_LINE - top)
        found = [
            LineShare(output, place, score, one / whole, tells)
            for one, (score, output, place, tells) in zip(odds, scored, strict=True)
        ]
        return sorted(found, key=lambda line: -line.share)

    def _features_of(
        self, claim: ClaimTerms, is_asked: Callable[[Output], bool], most_outputs: int
    ) -> Iterator[tuple[Output, int, LineFeatures]]:
        measures = measures_in(claim.text)
        for one in self._weighed_outputs(claim, is_asked, most_outputs):
            for place, features in _features_in(one, claim, measures):
                yield one.output, place, features

    def _weighed_outputs(
        self, claim: ClaimTerms, is_asked: Callable[[Output], bool], most_outputs: int
    ) -> list[_WeighedOutput]:
        """Return the outputs that share most with the claim, and the latest ones."""
        shared: defaultdict[int, float] = defaultdict(float)
        for term, weight in claim.related.items():
            for at in self._with_term.get(term, ()):
                is_in_command = term in self._outputs[at].output.tool_terms
                shared[at] += weight * (_OF_COMMAND if is_in_command else 1)

        def value(at: int) -> float:
            one = self._outputs[at]
            return shared[at] / claim.whole + one.recent - _OF_LENGTH * one.length

        latest = range(len(self._outputs))[-_ALWAYS_WEIGHED:]
        asked = [at for at in {*shared, *latest} if is_asked(self._outputs[at].output)]
        asked.sort(key=value, reverse=True)
        return [self._outputs[at] for at in asked[: min(most_outputs, _MOST_OUTPUTS)]]


def _features_in(
    one: _WeighedOutput, claim: ClaimTerms, measures: Sequence[re.Pattern[str]]
) -> Iterator[tuple[int, LineFeatures]]:
    """Yield the places of the lines of an output that are weighed for a claim, with what is known of each."""
    output, weights = one.output, claim.related
    in_command = output.tool_terms & weights.keys()
    in_lines = [term for term in weights if term in output.places_of]
    terms_at: defaultdict[int, list[str]] = defaultdict(list)
    for term in in_lines:
        for place in output.places_of[term]:
            terms_at[place].append(term)
    rare = {term: weights[term] * one.rarity_of(term) for term in in_lines}
    value = {place: sum(map(rare.__getitem__, terms)) for place, terms in terms_at.items()}
    shared = in_command.union(in_lines)
    in_output = sum(weights[term] for term in shared) / claim.whole
    telling = [term for term in shared if claim.tells(term)]
    is_one_word = len(telling) < 2 and not any(map(claim.is_name, telling))
    if in_output < (_LEAST_OF_ONE_WORD if is_one_word else _LEAST_SHARED):
        return
    for place in _weighed_places(one, value):
        line, form = output.lines[place], one.forms[place]
        spread = spread_of(line)
        beside = in_command.difference(terms_at.get(place, ()))
        has_number = claim.has_number and _DIGIT.search(form) is not None
        yield (
            place,
            LineFeatures(
                in_line=min(_MOST_SHARED, value.get(place, 0.0) / claim.whole / spread),
                in_command=min(_MOST_SHARED, sum(weights[term] for term in beside) / claim.whole),
                in_output=min(_MOST_SHARED, in_output),
                result=one.results.get(place, 0.0),
                error=float(place in one.errors),
                counts=float(has_number and place in one.counts),
                number=float(has_number),
                measure=float(any(lines.search(form) for lines in measures)),
                quotes=float(min(2, len(claim.quotes_in(line)))),
                last_line=float(place == len(output.lines) - 1),
                recent=one.recent,
                length=one.length,
            ),
        )


def _weighed_places(one: _WeighedOutput, value: Mapping[int, float]) -> list[int]:
    """Return the places of the lines that share most with a claim, those around them, and those that are always weighed."""
    best = sorted(value, key=lambda place: (-value[place], place))[:_MOST_PLACES]
    count = len(one.output.lines)
    places = set(one.always_weighed)
    for place in best:
        places.update(range(max(0, place - _NEAR), min(count, place + _NEAR + 1)))
    return sorted(places)
