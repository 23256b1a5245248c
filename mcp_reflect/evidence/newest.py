"""What is known of an output by its place among the others: rejected edits that were made again, what was changed since."""

import re
from collections.abc import Sequence
from typing import Final

from mcp_reflect.evidence.claim_terms import ClaimTerms
from mcp_reflect.evidence.outputs import Output
from mcp_reflect.evidence.roles import RAN, REMOVED

EDITED: Final = "edited"
EMPTY_OUTPUT: Final = "empty output"
REJECTED_EDIT: Final = "rejected edit"
BEFORE_LAST_EDIT: Final = "before the last edit"

_MOST_NAMED_LINES: Final = 3  # lines that a claim names by their numbers
_MOST_TRIES: Final = 12  # edits from a rejected one on, in which it is made again
_NAMED_LINES: Final = re.compile(r"\blines? (\d{1,6})(?: ?[-\u2013] ?(\d{1,6}))?\b", re.IGNORECASE)


class NewestOutputs:
    """The newest output of each kind."""

    def __init__(self, outputs: Sequence[Output]) -> None:
        """Take the outputs, oldest first."""
        self._removals = [output for output in outputs if REMOVED in output.roles]
        self._looks = [output for output in outputs if output.numbered]
        accepted = (output.number for output in outputs if output.is_edit)
        self._last_edit = max(accepted, default=0)

    def status_of(self, output: Output) -> str | None:
        """Return what the lines of an output do not say of it: that it was rejected, is empty, or is older than an edit."""
        if output.is_rejected:
            return REJECTED_EDIT
        if output.is_empty:
            return EMPTY_OUTPUT
        if RAN in output.roles and output.number < self._last_edit:
            return BEFORE_LAST_EDIT
        return None

    def removals_of(self, claim: ClaimTerms) -> frozenset[int]:
        """Return the newest command that removes what a claim says to be removed; by its words where it has no name."""
        if REMOVED not in claim.roles:
            return frozenset()
        names = {term for term in claim.weights if claim.is_name(term)}
        wanted = names or {term for term in claim.weights if claim.tells(term)}
        for output in reversed(self._removals):
            if output.tool_terms & wanted:
                return frozenset((output.number,))
        return frozenset()

    def named_lines(self, claim: ClaimTerms) -> dict[int, tuple[int, ...]]:
        """Return the newest look at the lines that a claim names ("lines 12-14"), by its number, with their indexes.

        The lines or the file have to share a word with the claim: another file has a line 12 as well.
        """
        named = _NAMED_LINES.search(claim.text)
        if named is None:
            return {}
        first, last = int(named[1]), int(named[2] or named[1])
        wanted = range(first, min(last, first + _MOST_NAMED_LINES - 1) + 1)
        for output in reversed(self._looks):
            indexes = [output.numbered[number] for number in wanted if number in output.numbered]
            terms = output.tool_terms.union(*(output.terms_by_line[index] for index in indexes))
            if indexes and any(map(claim.tells, terms & claim.weights.keys())):
                return {output.number: tuple(indexes)}
        return {}


def made_again(outputs: Sequence[Output]) -> frozenset[int]:
    """Return the numbers of the rejected edits that were made again and accepted: the fault is gone."""
    edits = [output for output in outputs if output.is_edit or output.is_rejected]
    numbers: set[int] = set()
    for index, edit in enumerate(edits):
        next_edits = edits[index + 1 : index + _MOST_TRIES]
        if edit.is_rejected and any(later.is_instead_of(edit) for later in next_edits):
            numbers.add(edit.number)
    return frozenset(numbers)
