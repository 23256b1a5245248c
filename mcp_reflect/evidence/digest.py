"""The outputs that bear on a work, each by the few lines that could decide a claim, within some 2,500 bytes.

Of the runs of one command the newest counts. Nothing is said of what the lines mean: the reader judges.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from mcp_reflect.evidence.answering import Answering
from mcp_reflect.evidence.bound_lines import BoundLine
from mcp_reflect.evidence.claim_terms import ClaimTerms, Rarity, claim_terms
from mcp_reflect.evidence.deciding import DecidingOutputs
from mcp_reflect.evidence.newest import EDITED, made_again
from mcp_reflect.evidence.outputs import Output, read_outputs_of
from mcp_reflect.evidence.shown_outputs import cut_around, short_tool, shown_once, within_bytes
from mcp_reflect.models.critique import Claim, ShownOutput, ToolResult

_MOST_CLAIMS: Final = 60
_MOST_SHOWN: Final = 12  # outputs
_FEW_CLAIMS: Final = 3
_LINES_OF_FEW: Final = 3  # for each claim
_LINES_OF_MANY: Final = 2


@dataclass(frozen=True, slots=True)
class Digest:
    """The outputs that are shown, and how many others there are.

    `places` has by a claim's number which of them are shown for it; `unproven` are the claims that say that something
    went well, of which no output is shown, or the newest run failed.
    """

    shown: tuple[ShownOutput, ...] = ()
    left_out: int = 0
    places: Mapping[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    unproven: frozenset[int] = frozenset()


class Outputs:
    """The outputs that were sent with a work, read once."""

    def __init__(self, results: Sequence[ToolResult], older: int = 0) -> None:
        """Read the outputs. `older` were sent before them and are only counted."""
        self.count = older + len(results)
        outputs = read_outputs_of(results, older)
        frequency = Counter(chain.from_iterable(output.terms for output in outputs))
        self._rarity = Rarity(frequency, len(outputs))
        newest = _newest_of_each(outputs)
        self._outputs = DecidingOutputs(newest)
        self._answering = Answering(newest)

    def digest(self, claims: Sequence[Claim]) -> Digest:
        """Return the outputs that could decide the claims, those that differ from what a claim says first."""
        most = _LINES_OF_FEW if len(claims) <= _FEW_CLAIMS else _LINES_OF_MANY
        chosen: dict[int, _ChosenOutput] = {}
        well: set[int] = set()
        for claim in claims[:_MOST_CLAIMS]:
            terms = claim_terms(claim.text, self._rarity)
            if terms.went_well:
                well.add(claim.number)
            lines = self._outputs.lines_for(terms, most)
            if len(claims) <= _FEW_CLAIMS:
                lines += self._answering.lines_for(terms, lines)
            for line in lines:
                output = chosen.setdefault(line.output.number, _ChosenOutput(line.output))
                output.take(claim.number, terms, line)
        ranked = sorted(chosen.values(), key=lambda one: (not one.failed_beside, -one.score))
        shown = [one.shown(self._outputs) for one in ranked[:_MOST_SHOWN]]
        shown = within_bytes(shown_once(shown))
        places = _places(ranked, shown)
        failed = set(chain.from_iterable(output.failed_beside for output in shown))
        unproven = frozenset((well - places.keys()) | failed)
        return Digest(tuple(shown), self.count - len(shown), places, unproven)


def _newest_of_each(outputs: Sequence[Output]) -> list[Output]:
    """Return the outputs without those that a newer one takes the place of, and without rejected edits made again."""
    latest = set({output.what_it_repeats: output.number for output in outputs}.values())
    again = made_again(outputs)
    return [
        output
        for output in outputs
        if output.number in latest
        and (output.lines or output.is_empty)
        and output.number not in again
    ]


@dataclass
class _ChosenOutput:
    """An output that is shown: how much it bears, by which lines, and on which claims."""

    output: Output
    score: float = 0.0
    places: set[int] = field(default_factory=set[int])
    claims: list[int] = field(default_factory=list[int])
    failed_beside: list[int] = field(default_factory=list[int])
    wanted: set[str] = field(default_factory=set[str])

    def take(self, claim: int, terms: ClaimTerms, line: BoundLine) -> None:
        """Add a line that bears on a claim."""
        self.score = max(self.score, line.score)
        self.wanted |= terms.weights.keys()
        if line.place is not None:
            self.places.add(line.place)
        if claim not in self.claims:
            self.claims.append(claim)
            if line.tells_result and any(map(self.output.failed, terms.went_well)):
                self.failed_beside.append(claim)

    def shown(self, outputs: DecidingOutputs) -> ShownOutput:
        """Return the output as it is shown."""
        lines = (self.output.lines[place] for place in sorted(self.places))
        return ShownOutput(
            result=self.output.number,
            tool=short_tool(self.output.tool),
            exit_code=self.output.result.exit_code,
            lines=tuple(cut_around(line, self.wanted) for line in lines),
            failed_beside=tuple(self.failed_beside),
            status=outputs.status_of(self.output) or (None if self.places else EDITED),
        )


def _places(
    chosen: Iterable[_ChosenOutput], shown: Iterable[ShownOutput]
) -> dict[int, tuple[int, ...]]:
    """Return by a claim's number the places, from 1, of the outputs that are shown for it."""
    place_of = {one.result: place for place, one in enumerate(shown, start=1)}
    places: defaultdict[int, tuple[int, ...]] = defaultdict(tuple)
    for one in chosen:
        if one.output.number in place_of:
            for claim in one.claims:
                places[claim] += (place_of[one.output.number],)
    return dict(places)
