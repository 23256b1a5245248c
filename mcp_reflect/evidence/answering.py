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
from mcp_reflect.evidence.line_marks import without_number_or_path
from mcp_reflect.evidence.measures import measures_in
from mcp_reflect.evidence.outputs import MOST_FORM, Output
from mcp_reflect.evidence.result_lines import result_lines
from mcp_reflect.evidence.roles import HISTORY

_MOST_CALLS: Final = 40  # the latest calls, which are asked
_MOST_LINES_OF_LAST: Final = 2  # lines of the last call that may answer
_LEAST_OF_LAST: Final = 0.26  # the part of a claim that the last call has to be about
_LEAST_OF_EARLIER: Final = 0.6  # the same of a call before it
_LEAST_BESIDE_FIRST: Final = 0.6  # the part of the best line's value that a second one has

# What counts for a line beside the words that it shares.
_FOR_MEASURE: Final = 0.6
_FOR_NUMBER: Final = 0.25
_FOR_RESULT: Final = 0.4
_VERY_FEW_LINES: Final = 3

_DIGIT: Final = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class _AnswerLine:
    """A line of a call that may answer a claim.

    `shared_part` is how much of the claim it and the call share, `value` that with what speaks for the line beside it.
    """

    line_index: int
    shared_part: float
    value: float


class Answering:
    """The outputs of a session, as the calls behind them answer claims."""

    def __init__(self, outputs: Sequence[Output]) -> None:
        """Take the outputs, oldest first."""
        self._outputs = [one for one in outputs if one.lines and not one.is_plan]
        self._last = max((output.number for output in outputs), default=0)

    def lines_for(self, claim: ClaimTerms, bound: Sequence[BoundLine]) -> list[BoundLine]:
        """Return the line that answers a claim beside those that are `bound` to it; of the last output up to two.

        The calls are asked from the last one on, until one answers:

        | the call                                              | is asked                                              |
        |-------------------------------------------------------|-------------------------------------------------------|
        | is a commit or the like, and the claim is on none     | no; the next one is                                   |
        | is not the last one, and lines are bound              | no, nor are those before it                           |
        | has a bound line that tells its result                | no, nor are those before it: it has answered          |
        | shows a text of which a line is bound                 | no, nor are those before it: it has answered          |
        | is any other                                          | yes                                                   |

        No output can decide an open claim, so that nothing answers it.
        """
        if claim.is_open:
            return []
        for output in reversed(self._outputs[-_MOST_CALLS:]):
            if output.is_act_of_git and not claim.speaks_of_history:
                continue
            is_last = output.number == self._last
            if bound and not is_last:
                return []
            if _has_answered(output, bound):
                return []
            lines = self._answers_of(output, claim, is_last=is_last)
            if lines:
                return lines
        return []

    def _answers_of(self, output: Output, claim: ClaimTerms, *, is_last: bool) -> list[BoundLine]:
        """Return the best lines of a call if it is about the claim, the last call by less than one before it.

        An edit that was rejected answers by its error, in whatever line the words of the claim stand.
        """
        least = _LEAST_OF_LAST if is_last else _LEAST_OF_EARLIER
        answers = [answer for answer in _answer_lines(output, claim) if answer.shared_part >= least]
        answers.sort(key=lambda answer: (-answer.value, answer.line_index))
        best = answers[: _MOST_LINES_OF_LAST if is_last else 1]
        if best and output.is_rejected:
            return [BoundLine(output, index, best[0].value) for index in output.why_rejected[:1]]
        return [
            BoundLine(output, one.line_index, one.value)
            for one in best
            if one.value >= _LEAST_BESIDE_FIRST * best[0].value
        ]


def _has_answered(output: Output, bound: Sequence[BoundLine]) -> bool:
    """Return whether a bound line of an output tells its result, or is of the text that it shows."""
    bound_in_output = [line for line in bound if line.output is output]
    is_text = not (output.is_run or HISTORY in output.roles)
    if is_text:
        return bool(bound_in_output)
    return any(line.tells_result for line in bound_in_output)


def _answer_lines(output: Output, claim: ClaimTerms) -> Iterator[_AnswerLine]:
    """Yield the lines of a call that share a word or a measure with a claim, or tell the result of a call that does."""
    weights = claim.related
    in_command = output.tool_terms & weights.keys()
    is_named = in_command or (claim.speaks_of_history and HISTORY in output.roles)
    measures = measures_in(claim.text)
    results = result_lines(output, claim)
    is_short = len(output.lines) <= _VERY_FEW_LINES
    for index, line in enumerate(output.lines):
        shared = output.terms_by_line[index] & weights.keys()
        weight_of_line = sum(_weight_in(output, term, weights) for term in shared)
        by_line = weight_of_line / claim.whole / spread_of(line)
        text = without_number_or_path(line[:MOST_FORM])
        if (shared or is_named) and any(pattern.search(text) for pattern in measures):
            by_line += _FOR_MEASURE
        if (shared or is_short) and claim.has_number and _DIGIT.search(text):
            by_line += _FOR_NUMBER
        by_command = sum(weights[term] for term in in_command - shared) / claim.whole
        by_result = _FOR_RESULT * results.get(index, 0.0)
        yield _AnswerLine(index, shared_part=by_command + by_line, value=by_line + by_result)


def _weight_in(output: Output, term: str, weights: Mapping[str, float]) -> float:
    """Return what a shared term weighs: less where most lines of the output have it."""
    count = len(output.lines)
    if count < 2:
        return weights[term]
    lines = len(output.places_of[term])
    return weights[term] * math.sqrt(math.log(1 + count / lines) / math.log(1 + count))
