"""The line by which the call that a claim is about answers it, where the words of the claim are not those of the line.

"Installing it pulled in nine packages" is answered by "Installed 4 packages in 4ms": the command says what the line is on.
Of a work with few claims each may have one such line; beside many claims it would be one line too much.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mcp_reflect.evidence.bound_lines import BoundLine, spread_of
from mcp_reflect.evidence.claim_terms import ClaimTerms
from mcp_reflect.evidence.measures import measures_in
from mcp_reflect.evidence.outputs import HISTORY, MOST_FORM, Output
from mcp_reflect.evidence.result_lines import result_lines

_MOST_CALLS: Final = 40
_MOST_OF_LAST: Final = 2  # lines
_LEAST_OF_LAST: Final = 0.26
_LEAST_OF_OTHER: Final = 0.6
_LEAST_BESIDE_FIRST: Final = 0.6

# What counts for a line beside the words that it shares.
_OF_MEASURE: Final = 0.6
_OF_NUMBER: Final = 0.25
_OF_RESULT: Final = 0.4
_VERY_FEW_LINES: Final = 3

_DIGIT: Final = re.compile(r"\d")
_PLACE_IN_FILE: Final = re.compile(r"^(?:\d{1,6}(?:→|:|-)\s{0,200}|\S{1,200}:\d{1,6}:)")


@dataclass(frozen=True, slots=True)
class _AnswerLine:
    """A line of a call that may answer a claim: `about` is how much of the claim it and the call share."""

    place: int
    about: float
    value: float


class Answering:
    """The outputs of a session, as the calls behind them answer claims."""

    def __init__(self, outputs: Sequence[Output]) -> None:
        """Take the outputs, oldest first."""
        self._outputs = [one for one in outputs if one.lines and not one.is_plan]
        self._last = max((output.number for output in outputs), default=0)

    def lines_for(self, claim: ClaimTerms, bound: Sequence[BoundLine]) -> list[BoundLine]:
        """Return the line that answers a claim beside those that are bound to it; of the last output up to two.

        A call before the last one is asked only where nothing is bound, and one whose result is bound, or a line of the
        text that it shows, has answered.
        """
        if claim.is_open:
            return []
        for output in reversed(self._outputs[-_MOST_CALLS:]):
            if output.is_act_of_git and not claim.speaks_of_history:
                continue
            is_last = output.number == self._last
            if bound and not is_last:
                return []
            own = [line for line in bound if line.output is output]
            is_text = not (output.is_run or HISTORY in output.roles)
            if any(line.tells_result for line in own) or (own and is_text):
                return []
            lines = self._answers_of(output, claim, is_last=is_last)
            if lines:
                return lines
        return []

    def _answers_of(self, output: Output, claim: ClaimTerms, *, is_last: bool) -> list[BoundLine]:
        """Return the best lines of a call if it is about the claim, the last call by less than one before it.

        An edit that was rejected answers by its error, in whatever line the words of the claim stand.
        """
        answers = _answer_lines(output, claim)
        least = _LEAST_OF_LAST if is_last else _LEAST_OF_OTHER
        answers = [answer for answer in answers if answer.about >= least]
        answers.sort(key=lambda one: (-one.value, one.place))
        best = answers[: _MOST_OF_LAST if is_last else 1]
        if best and output.is_rejected:
            return [BoundLine(output, place, best[0].value) for place in output.why_rejected[:1]]
        return [
            BoundLine(output, one.place, one.value)
            for one in best
            if one.value >= _LEAST_BESIDE_FIRST * best[0].value
        ]


def _answer_lines(output: Output, claim: ClaimTerms) -> Iterator[_AnswerLine]:
    """Yield the lines of a call that share a word or a measure with a claim, or tell the result of a call that does."""
    weights = claim.related
    in_command = output.tool_terms & weights.keys()
    is_named = in_command or (claim.speaks_of_history and HISTORY in output.roles)
    measures = measures_in(claim.text)
    results = result_lines(output, claim)
    is_short = len(output.lines) <= _VERY_FEW_LINES
    for place, line in enumerate(output.lines):
        shared = output.terms_by_line[place] & weights.keys()
        own = sum(_weight_in(output, term, weights) for term in shared) / claim.whole
        own /= spread_of(line)
        form = _PLACE_IN_FILE.sub("", line[:MOST_FORM])
        if (shared or is_named) and any(lines.search(form) for lines in measures):
            own += _OF_MEASURE
        if (shared or is_short) and claim.has_number and _DIGIT.search(form):
            own += _OF_NUMBER
        of_command = sum(weights[term] for term in in_command - shared) / claim.whole
        of_result = _OF_RESULT * results.get(place, 0.0)
        yield _AnswerLine(place, about=of_command + own, value=own + of_result)


def _weight_in(output: Output, term: str, weights: Mapping[str, float]) -> float:
    """Return what a shared term weighs: less where most lines of the output have it."""
    count = len(output.lines)
    if count < 2:
        return weights[term]
    lines = len(output.places_of[term])
    return weights[term] * math.sqrt(math.log(1 + count / lines) / math.log(1 + count))
