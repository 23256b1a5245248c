"""The outputs that answer a claim by their kind and their place: the newest run, edit, removal or look of which it speaks.

What was shared by chance does not count here: a claim that the code was updated is answered by the latest edit, one that
names a line by the latest look at that line.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from mcp_reflect.evidence.outputs import CHANGED, RAN, REMOVED, Output, is_common, stands_for_itself

EMPTY_OUTPUT: Final = "empty output"
REJECTED_EDIT: Final = "rejected edit"
BEFORE_LAST_EDIT: Final = "before the last edit"

_MOST_NAMED_LINES: Final = 3  # of an output
_LEAST_BESIDE_BEST: Final = 0.6
_MOST_TRIES: Final = 12  # edits, in which a rejected one is made again
_LEAST_SHARED: Final = 0.2  # of a claim's telling words
_NAMED_LINES: Final = re.compile(r"\blines? (\d{1,6})(?: ?[-\u2013] ?(\d{1,6}))?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Answering:
    """The numbers of the outputs that answer a claim by their kind; of some, the places of the lines that it names."""

    numbers: frozenset[int] = frozenset()
    lines: Mapping[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])


class NewestOutputs:
    """The newest output of each kind, looked up for a claim."""

    def __init__(self, outputs: Sequence[Output]) -> None:
        """Take the outputs, oldest first."""
        self._newest: dict[str, int] = {}
        for output in outputs:
            self._newest.update(dict.fromkeys(output.roles, output.number))
        self._by_role = {
            role: [output for output in outputs if role in output.roles]
            for role in (CHANGED, REMOVED)
        }
        self._looks = [output for output in outputs if output.numbered]
        accepted = (output.number for output in outputs if output.is_edit)
        self._last_edit = max(accepted, default=0)

    def status_of(self, output: Output) -> str | None:
        """Return what the lines of an output do not say of it."""
        if output.is_rejected:
            return REJECTED_EDIT
        if output.is_empty:
            return EMPTY_OUTPUT
        if RAN in output.roles and output.number < self._last_edit:
            return BEFORE_LAST_EDIT
        return None

    def answering(
        self, text: str, roles: frozenset[str], weights: Mapping[str, float]
    ) -> Answering:
        """Return the outputs that answer a claim. `weights` are of its terms, by how rare they are."""
        numbers = {
            self._newest[role] for role in roles - {CHANGED, REMOVED} if role in self._newest
        }
        for role in roles & {CHANGED, REMOVED}:
            numbers.update(_newest_that_shares(self._by_role[role], weights))
        named = self._named_lines(text, weights)
        for output in self._by_role[CHANGED]:
            if output.number in numbers and (places := _written_about(output, weights)):
                named.setdefault(output.number, places)
        return Answering(frozenset(numbers | named.keys()), named)

    def _named_lines(self, text: str, weights: Mapping[str, float]) -> dict[int, tuple[int, ...]]:
        """Return the newest look at the lines that a claim names, if these or the file share a word with it."""
        found = _NAMED_LINES.search(text)
        if found is None:
            return {}
        first, last = int(found[1]), int(found[2] or found[1])
        for output in reversed(self._looks):
            wanted = range(first, min(last, first + _MOST_NAMED_LINES - 1) + 1)
            places = [output.numbered[number] for number in wanted if number in output.numbered]
            terms = output.tool_terms.union(*(output.terms_by_line[place] for place in places))
            if places and any(_tells(term) for term in terms & weights.keys()):
                return {output.number: tuple(places)}
        return {}


def made_again(outputs: Sequence[Output]) -> frozenset[int]:
    """Return the numbers of the rejected edits that were made again and accepted: the fault is gone."""
    edits = [output for output in outputs if output.is_edit or output.is_rejected]
    return frozenset(
        edit.number
        for place, edit in enumerate(edits)
        if edit.is_rejected
        and any(later.is_instead_of(edit) for later in edits[place + 1 : place + _MOST_TRIES])
    )


def _newest_that_shares(outputs: Sequence[Output], weights: Mapping[str, float]) -> Iterator[int]:
    """Yield the newest output that shares nearly as much with a claim as any: a change or a removal of what it names.

    What shares a part of the claim's words alone, or none of the names in it, is a change of something else.
    """
    names = {term for term in weights if term[0] == "=" and not term[1:].isdigit()}
    of_names = [output for output in outputs if names & output.terms]
    shares = {output.number: _share(output, weights) for output in of_names or outputs}
    most = max(shares.values(), default=0.0)
    whole = sum(weight for term, weight in weights.items() if _tells(term))
    if most > _LEAST_SHARED * whole and (of_names or not names):
        yield max(number for number, share in shares.items() if share >= _LEAST_BESIDE_BEST * most)


def _written_about(output: Output, weights: Mapping[str, float]) -> tuple[int, ...]:
    """Return the places of the lines that an edit wrote and a claim shares a word with."""
    places = [
        place
        for place in output.written_places
        if any(_tells(term) for term in output.terms_by_line[place] & weights.keys())
    ]
    return tuple(places[:_MOST_NAMED_LINES])


def _share(output: Output, weights: Mapping[str, float]) -> float:
    """Return what the telling terms weigh that an output shares: of a removal, those of its command alone."""
    terms = output.tool_terms if REMOVED in output.roles else output.terms
    return sum(weights[term] for term in terms & weights.keys() if _tells(term))


def _tells(term: str) -> bool:
    return not is_common(term) and stands_for_itself(term)
