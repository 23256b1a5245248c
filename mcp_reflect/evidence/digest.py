"""The outputs that bear on a work, each by the few lines that could decide a claim, within some 2,500 bytes.

Of the runs of one command the newest counts. Nothing is said of what the lines mean: the reader judges.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from mcp_reflect.evidence.answering import Answering
from mcp_reflect.evidence.bearing import (
    FOR_FEW,
    FOR_MANY,
    BearingOutput,
    BearingOutputs,
    Room,
)
from mcp_reflect.evidence.bound_lines import BoundLine
from mcp_reflect.evidence.claim_terms import ClaimTerms, Rarity, claim_terms
from mcp_reflect.evidence.deciding import DecidingOutputs, Effort
from mcp_reflect.evidence.newest import EDITED, made_again
from mcp_reflect.evidence.outputs import Output, read_outputs_of
from mcp_reflect.evidence.particulars import has_particular
from mcp_reflect.evidence.roles import HISTORY
from mcp_reflect.evidence.shown_outputs import (
    MOST_BYTES,
    pieces_of,
    short_tool,
    shown_beside,
    shown_once,
    within_bytes,
)
from mcp_reflect.models.critique import Claim, ShownOutput, ToolResult

_MOST_CLAIMS: Final = 60
_MOST_SHOWN: Final = 12  # outputs
_FEW_CLAIMS: Final = 3
_LINES_OF_FEW: Final = 3  # for each claim
_LINES_OF_MANY: Final = 2


@dataclass(frozen=True, slots=True)
class Digest:
    """The outputs that are shown, and how many others there are.

    `deciding` are plainly about a claim, `bearing` share most with the claims beside those. `places` has by a claim's
    number which of the deciding ones are for it. `unproven` are the claims that say that something went well, of which no
    output is plainly about it, or the newest run failed.
    """

    deciding: tuple[ShownOutput, ...] = ()
    bearing: tuple[ShownOutput, ...] = ()
    left_out: int = 0
    places: Mapping[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    unproven: frozenset[int] = frozenset()

    @property
    def shown(self) -> tuple[ShownOutput, ...]:
        """All that are shown, the deciding ones first."""
        return (*self.deciding, *self.bearing)


class Outputs:
    """The outputs that were sent with a work, read once."""

    def __init__(self, results: Sequence[ToolResult], older: int = 0) -> None:
        """Read the outputs. `older` were sent before them and are only counted."""
        self.count = older + len(results)
        outputs = read_outputs_of(results, older)
        frequency = Counter(chain.from_iterable(output.terms for output in outputs))
        self._rarity = Rarity(frequency, len(outputs))
        self._newest = _newest_of_each(outputs)
        self._answering = Answering(self._newest)
        self._bearing = BearingOutputs(outputs, self._newest)

    def digest(self, claims: Sequence[Claim]) -> Digest:
        """Return the outputs that could decide the claims, those that differ from what a claim says first."""
        terms = {
            claim.number: claim_terms(claim.text, self._rarity) for claim in claims[:_MOST_CLAIMS]
        }
        is_few = len(claims) <= _FEW_CLAIMS
        room = FOR_FEW if is_few else FOR_MANY
        outputs = DecidingOutputs(self._newest, Effort.of(len(terms)))
        bound = {
            number: self._bound_lines(claim, outputs, is_few=is_few)
            for number, claim in terms.items()
        }
        chosen = _chosen_outputs(terms, bound)
        others = self._bearing.outputs_for(terms, bound, room)
        for other in others:
            if other.output.number in chosen:
                chosen[other.output.number].beside |= other.places
        ranked = sorted(chosen.values(), key=lambda one: (not one.failed_beside, -one.score))
        deciding = [one.shown(outputs, room) for one in ranked[:_MOST_SHOWN]]
        deciding = within_bytes(shown_once(deciding), MOST_BYTES)
        bearing = _beside(deciding, others, terms, outputs)
        places = _places(ranked, deciding)
        well = {number for number, claim in terms.items() if claim.went_well}
        failed = set(chain.from_iterable(output.failed_beside for output in deciding))
        return Digest(
            deciding=tuple(deciding),
            bearing=tuple(bearing),
            left_out=self.count - len({one.result for one in (*deciding, *bearing)}),
            places=places,
            unproven=frozenset((well - places.keys()) | failed),
        )

    def _bound_lines(
        self, claim: ClaimTerms, outputs: DecidingOutputs, *, is_few: bool
    ) -> list[BoundLine]:
        """Return the lines that are plainly about a claim: they have what it is on in particular, or answer it."""
        lines = outputs.lines_for(claim, _LINES_OF_FEW if is_few else _LINES_OF_MANY)
        answers = self._answering.lines_for(claim, lines) if is_few else []
        return [*(line for line in lines if has_particular(line, claim)), *answers]


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
    beside: set[int] = field(default_factory=set[int])
    claims: list[int] = field(default_factory=list[int])
    failed_beside: list[int] = field(default_factory=list[int])
    wanted: dict[str, float] = field(default_factory=dict[str, float])

    def take(self, claim: int, terms: ClaimTerms, line: BoundLine) -> None:
        """Add a line that bears on a claim."""
        self.score = max(self.score, line.score)
        self.wanted |= terms.weights
        if line.place is not None:
            self.places.add(line.place)
        if claim not in self.claims:
            self.claims.append(claim)
        is_failure = line.tells_result and any(map(self.output.failed, terms.went_well))
        if is_failure and claim not in self.failed_beside:
            self.failed_beside.append(claim)

    def shown(self, outputs: DecidingOutputs, room: Room) -> ShownOutput:
        """Return the output as it is shown."""
        places = _shown_places(self.output, self.places, room) | self.beside
        return ShownOutput(
            result=self.output.number,
            tool=short_tool(self.output.tool),
            exit_code=self.output.result.exit_code,
            lines=pieces_of(self.output.lines, places, self.wanted),
            failed_beside=tuple(self.failed_beside),
            status=outputs.status_of(self.output) or (None if self.places else EDITED),
        )


def _shown_places(output: Output, deciding: AbstractSet[int], room: Room) -> AbstractSet[int]:
    """Return the places of the lines that are shown of an output, some of which decide a claim.

    A short text is shown whole, of a longer one the line behind each as well: the first line of a function tells what its
    next one says. What a run or a commit printed, and what an edit wrote or says of its fault, stand by themselves.
    """
    is_change = bool(output.written_places or output.is_rejected)
    is_text = not (output.is_run or is_change or HISTORY in output.roles)
    if not (deciding and is_text):
        return deciding
    count = len(output.lines)
    if count <= room.whole and not output.is_edit:
        return set(range(count))
    behind = (range(place, min(count, place + room.behind + 1)) for place in deciding)
    return set(chain.from_iterable(behind))


def _chosen_outputs(
    terms: Mapping[int, ClaimTerms], bound: Mapping[int, Iterable[BoundLine]]
) -> dict[int, _ChosenOutput]:
    """Return by its number each output that is plainly about a claim."""
    chosen: dict[int, _ChosenOutput] = {}
    for number, lines in bound.items():
        for line in lines:
            output = chosen.setdefault(line.output.number, _ChosenOutput(line.output))
            output.take(number, terms[number], line)
    return chosen


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


def _beside(
    deciding: Sequence[ShownOutput],
    others: Iterable[BearingOutput],
    terms: Mapping[int, ClaimTerms],
    outputs: DecidingOutputs,
) -> list[ShownOutput]:
    """Return the outputs that are shown beside those that plainly decide a claim."""
    seen = {one.result for one in deciding}
    wanted: dict[str, float] = {}
    for claim in terms.values():
        wanted |= claim.weights
    shown = [
        ShownOutput(
            result=one.output.number,
            tool=short_tool(one.output.tool),
            exit_code=one.output.result.exit_code,
            lines=pieces_of(one.output.lines, one.places, wanted),
            status=outputs.status_of(one.output),
            is_plain=False,
        )
        for one in others
        if one.output.number not in seen
    ]
    return shown_beside(deciding, shown)
