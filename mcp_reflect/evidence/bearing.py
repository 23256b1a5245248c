"""The outputs that share most with the claims, each with the few lines that may decide one.

They stand beside the outputs that plainly decide a claim: a line that decides it in other words is most often in one of them.
A run that a newer one of the same command takes the place of is left out, as are rejected edits, plans and calls that a
person refused, unless the claim speaks of such.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from mcp_reflect.evidence.bound_lines import BoundLine
from mcp_reflect.evidence.claim_terms import ClaimTerms
from mcp_reflect.evidence.line_shares import LineShare, LineShares
from mcp_reflect.evidence.outputs import MOST_FORM, Output
from mcp_reflect.evidence.roles import MENDED, RAN
from mcp_reflect.evidence.terms import terms_of
from mcp_reflect.evidence.word_lists import pattern_of

_LEAST_SCORE: Final = 4.0
"""Of the best line for a claim: below it nothing tells, and nothing is shown."""
_LEAST_OF_OUTPUT: Final = 0.1
"""The least share of all that could decide a claim which the lines of an output have together."""
_TELLS: Final = 0.5
"""The share of an output that tells though none of its lines does by itself."""

_OF_LAST: Final = 0.05
"""The share of the last output, where it is shown for a word: the others stand before it."""
_WORDS_FOR_ONE: Final = 8
"""Words of a claim, of which the last output has to share one."""
_SHORT: Final = 6  # lines

_ENOUGH: Final = 0.9
_LEAST_BESIDE_BEST: Final = 0.1
"""The least part of the share of an output that a line of it has."""
_SURE: Final = 0.8

_EARLIER: Final = pattern_of("earlier words", "claim_kinds")
_REFUSAL: Final = pattern_of("refusal words", "claim_kinds")
_REFUSED: Final = pattern_of("refused call")


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """How much is shown for a claim: of a work with few claims more."""

    weighed: int  # outputs
    outputs: int
    lines: int  # of an output
    gap: int  # lines between two that are shown, up to which they are shown as well
    around: int  # lines before and behind each that is shown
    whole: int  # lines up to which a text is shown whole, where a line of it plainly decides
    behind: int  # lines behind each of a longer text that plainly decides
    is_last_asked: bool  # whether the last output is shown where it shares but a word


FOR_FEW: Final = Room(
    weighed=16, outputs=3, lines=4, gap=2, around=1, whole=8, behind=1, is_last_asked=True
)
FOR_MANY: Final = Room(
    weighed=6, outputs=2, lines=2, gap=1, around=0, whole=0, behind=0, is_last_asked=False
)


@dataclass(slots=True)
class BearingOutput:
    """An output that shares much with the claims, by its share in what could decide them, and the places of its lines."""

    output: Output
    share: float = 0.0
    places: set[int] = field(default_factory=set[int])


class BearingOutputs:
    """The outputs of a session as they bear on claims."""

    def __init__(self, outputs: Sequence[Output], newest: Iterable[Output]) -> None:
        """Take all outputs, oldest first, and those of them of which no newer one takes the place."""
        self._shares = LineShares(outputs)
        self._newest = frozenset(output.number for output in newest)
        told = [output for output in outputs if output.lines and not output.is_plan]
        self._last = told[-1] if told else None

    def outputs_for(
        self, claims: Mapping[int, ClaimTerms], bound: Mapping[int, Sequence[BoundLine]], room: Room
    ) -> list[BearingOutput]:
        """Return the outputs that bear on claims, by their numbers, those with the largest share first.

        `bound` has the lines that plainly decide a claim: nothing stands beside one that is surely the line.
        """
        found: dict[int, BearingOutput] = {}
        for number, claim in claims.items():
            outputs = [*self._outputs_for_claim(claim, bound[number], room)]
            if room.is_last_asked:
                outputs += self._last_output_for(claim, bound[number])
            for one in outputs:
                bearing = found.setdefault(one.output.number, BearingOutput(one.output))
                bearing.share += one.share
                bearing.places |= one.places
        return sorted(found.values(), key=lambda bearing: -bearing.share)

    def _outputs_for_claim(
        self, claim: ClaimTerms, bound: Sequence[BoundLine], room: Room
    ) -> Sequence[BearingOutput]:
        """Return the outputs that bear on one claim: none for a conjecture, a decided claim, or where nothing tells."""
        if claim.is_open:
            return ()
        lines = self._lines_for(claim, room.weighed)
        if not lines or _is_decided(claim, lines[0], bound):
            return ()
        outputs = list(_outputs_in(lines, room))
        if lines[0].score >= _LEAST_SCORE or (outputs and outputs[0].share >= _TELLS):
            return outputs
        return ()

    def _last_output_for(
        self, claim: ClaimTerms, bound: Sequence[BoundLine]
    ) -> Iterator[BearingOutput]:
        """Yield the last output if it is short and shares a telling word with a claim that no result decides.

        A work mostly speaks of what it saw last, and says it in words of its own. An edit stands by what it wrote alone.
        """
        last = self._last
        if claim.is_open or last is None or len(last.lines) > _SHORT:
            return
        if last.is_edit or last.is_rejected:
            return
        if any(line.tells_result or line.place is None for line in bound):
            return
        shared = last.terms & claim.related.keys()
        is_enough = _WORDS_FOR_ONE * len(shared) >= len(terms_of(claim.text))
        if is_enough and any(map(claim.tells, shared)):
            yield BearingOutput(last, _OF_LAST, set(range(len(last.lines))))

    def _lines_for(self, claim: ClaimTerms, most_outputs: int) -> list[LineShare]:
        """Return the lines that may decide a claim, of the outputs that count for it."""
        is_on_earlier = _EARLIER.search(claim.text) is not None
        is_on_refusal = _REFUSAL.search(claim.text) is not None

        def counts(output: Output) -> bool:
            if _is_refused(output):
                return is_on_refusal
            if output.is_act_of_git and not claim.speaks_of_history:
                return False
            is_past = output.number not in self._newest or output.is_rejected
            return is_on_earlier or not is_past

        return self._shares.lines_for(claim, counts, most_outputs)


def _is_decided(claim: ClaimTerms, likeliest: LineShare, bound: Sequence[BoundLine]) -> bool:
    """True where the claim has its line: the likeliest one plainly decides it, and surely, or as the end of a run.

    A claim that a run went well, or printed something, has it in any line on how that run ended. An empty output decides
    by that it is empty.
    """
    ends = [one for one in bound if one.tells_result]
    is_on_run = bool(claim.went_well or claim.roles & {RAN, MENDED})
    if any(one.place is None for one in bound) or (is_on_run and ends):
        return True
    same = [one for one in bound if one.output is likeliest.output and one.place == likeliest.place]
    return any(one.tells_result or likeliest.share >= _SURE for one in same)


def _outputs_in(lines: Sequence[LineShare], room: Room) -> Iterator[BearingOutput]:
    """Yield the outputs that have most of the share of the lines, each with its share and the places of its best lines."""
    by_output: defaultdict[int, list[LineShare]] = defaultdict(list)
    for line in lines:
        by_output[line.output.number].append(line)
    shares = {number: sum(line.share for line in own) for number, own in by_output.items()}
    so_far = 0.0
    for number in sorted(shares, key=lambda number: -shares[number])[: room.outputs]:
        if shares[number] < _LEAST_OF_OUTPUT or so_far >= _ENOUGH:
            return
        so_far += shares[number]
        own = by_output[number]
        places = _places_in(own, shares[number], room)
        yield BearingOutput(own[0].output, shares[number], places)


def _places_in(lines: Sequence[LineShare], whole: float, room: Room) -> set[int]:
    """Return the places of the best lines of an output; of a text with those around them, of an edit only what it wrote."""
    output = lines[0].output
    written = output.written_places
    lines = [line for line in lines if line.tells and (not written or line.place in written)]
    best = sorted(
        line.place for line in lines[: room.lines] if line.share >= _LEAST_BESIDE_BEST * whole
    )
    places = set(best)
    if written or output.is_run:
        return places
    count = len(output.lines)
    for place in best:
        places.update(range(max(0, place - room.around), min(count, place + room.around + 1)))
    for place, after in pairwise(best):
        if after - place <= room.gap + 1:
            places.update(range(place, after))
    return places


def _is_refused(output: Output) -> bool:
    """True for a call that a person or a host did not let run."""
    return any(_REFUSED.search(line[:MOST_FORM]) for line in output.lines[:2])
