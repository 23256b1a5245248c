"""The lines by which a run says how it ended."""

from collections.abc import Collection, Mapping
from typing import Final

from mcp_reflect.evidence.claim_terms import ClaimTerms
from mcp_reflect.evidence.kinds import ProofKind
from mcp_reflect.evidence.outputs import MOST_FORM, Output, tells_result
from mcp_reflect.evidence.roles import HISTORY, MENDED, RAN
from mcp_reflect.evidence.word_lists import pattern_of

_SHORT: Final = 3  # lines, of which the last one tells
_MOST_UNKNOWN: Final = 12  # lines of a run without a known ending, whose last one tells
_COMPARED: Final = 60  # characters

# How surely a line tells how the run ended.
_DECIDES: Final = 1.0
_SUMS_UP: Final = 0.8
_NAMES_ERROR: Final = 0.6
_IS_LAST: Final = 0.6
_IS_BESIDE_LAST: Final = 0.3

_OF_HISTORY: Final = pattern_of("history result")
_ENDED_EARLY: Final = pattern_of("ended early")
_LAST_LINES: Final = 3


def result_lines(output: Output, claim: ClaimTerms) -> Mapping[int, float]:
    """Return the indexes of the lines that tell how a run ended, each with how surely it does.

    These are the line that decides for each kind of run of which the claim speaks, the errors, and the summary of tests;
    beside a claim with a number any summary, which counts.
    """
    return results_of(output, claim.kinds, counts=claim.has_number)


def results_of(
    output: Output, kinds: Collection[ProofKind] = (), *, counts: bool = True
) -> Mapping[int, float]:
    """Return the indexes of the lines that tell how a run ended, whatever is claimed of it; `counts` asks for its summary."""
    if output.is_rejected:
        return dict.fromkeys(output.why_rejected[:1], _DECIDES)
    if HISTORY in output.roles:
        return _history_lines(output)
    results = _deciding_lines(output, kinds)
    summary = _last_summary(output, kinds)
    for index in output.error_places:
        if index != summary:
            results.setdefault(index, _NAMES_ERROR)
    if summary is not None and (not results or counts or ProofKind.TESTS in kinds):
        results.setdefault(summary, _SUMS_UP)
    return results or _last_lines(output)


def leading_line(output: Output, claim: ClaimTerms) -> int | None:
    """Return the index of the line that stands first where an output is shown, whatever its others share with a claim.

    Of a run it is how it was ended, else what sums it up, or an error behind that; of a rejected edit the error. A run of
    several checks, of which the claim speaks of one, has a line for that one.
    """
    if output.is_rejected:
        return next(iter(output.why_rejected), None)
    if output.roles.isdisjoint((RAN, MENDED, *claim.kinds)):
        return None
    is_of_several = len(output.roles.intersection(ProofKind)) > 1
    if is_of_several and _deciding_lines(output, claim.kinds):
        return None
    last = range(len(output.lines))[-_LAST_LINES:]
    ended = [index for index in last if _ENDED_EARLY.search(output.lines[index][:MOST_FORM])]
    if ended:
        return ended[0]
    summary = _last_summary(output, claim.kinds)
    indexes = [*output.error_places]
    if summary is not None:
        indexes.append(summary)
    return max(indexes, default=None)


def _deciding_lines(output: Output, kinds: Collection[ProofKind]) -> dict[int, float]:
    """Return the line that decides for each kind of proof: "All checks passed!" of a run of a linter and tests."""
    results: dict[int, float] = {}
    for kind in kinds:
        if kind not in output.roles:
            continue
        line = output.outcome_of(kind).line[:_COMPARED].strip(" =")
        indexes = (index for index, text in enumerate(output.lines) if line and line in text)
        index = next(indexes, None)
        if index is not None and tells_result(output.lines[index]):
            results[index] = _DECIDES
    return results


def _history_lines(output: Output) -> dict[int, float]:
    """Return the lines of a log or a commit that name what it did: each decides."""
    return {
        index: _DECIDES
        for index, line in enumerate(output.lines)
        if _OF_HISTORY.search(line[:MOST_FORM])
    }


def _last_summary(output: Output, kinds: Collection[ProofKind]) -> int | None:
    """Return the index of the last line that sums the run up, of tests where the claim speaks of them."""
    if ProofKind.TESTS in kinds and output.tests_summary_place is not None:
        return output.tests_summary_place
    return output.summary_place


def _last_lines(output: Output) -> Mapping[int, float]:
    """Return the last line of a run that says in no known form how it ended, if it printed little."""
    last = len(output.lines) - 1
    if len(output.lines) <= _SHORT:
        results = dict.fromkeys(range(last), _IS_BESIDE_LAST)
        return results | {last: _DECIDES}
    if output.roles and len(output.lines) <= _MOST_UNKNOWN:
        return {last: _IS_LAST}
    return {}
