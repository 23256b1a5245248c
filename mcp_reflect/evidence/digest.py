"""The outputs that bear on a work, each by its few telling lines, within some 2,500 bytes.

An output bears on a claim where it shares rare words or a name with it, or is the newest run of the kind that the claim
speaks of. Of the runs of one command the newest counts. Nothing is said of what the lines mean: the reader judges.
"""

import heapq
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from typing import Final

from mcp_reflect.evidence.kinds import ProofKind
from mcp_reflect.evidence.newest import Answering, NewestOutputs, made_again
from mcp_reflect.evidence.outputs import (
    CHANGED,
    HISTORY,
    MENDED,
    RAN,
    REMOVED,
    Output,
    read_outputs_of,
    roles_in,
    stands_for_itself,
    terms_of,
)
from mcp_reflect.evidence.shown_outputs import cut_around, short_tool, shown_once, within_bytes
from mcp_reflect.evidence.success_claims import claims_of
from mcp_reflect.evidence.telling_lines import LinesFor, weight_of
from mcp_reflect.models.critique import Claim, ShownOutput, ToolResult

_MOST_CLAIMS: Final = 60
_MOST_CLAIM: Final = 900  # characters of a claim
_MOST_SAID: Final = 300  # characters of a claim in which it is looked for what went well
_MOST_SHOWN: Final = 9  # outputs
_MOST_NEAR: Final = 5  # outputs that are compared for a claim
_MOST_FOR_A_CLAIM: Final = 3  # outputs, where the work has few claims; else one
_FEW_CLAIMS: Final = 2
_MOST_LINES_IN_ALL: Final = 10  # of an output

# What an output has to share with a claim, that a reader sees why it is shown.
_LEAST_COVERED: Final = 0.2
_LEAST_COVERED_BY_ONE: Final = 0.26  # word
_LEAST_COVERED_BEHIND: Final = 0.35  # by an output behind the first one
_LEAST_BESIDE_BEST: Final = 0.85
_MOST_OF_A_LINE: Final = 2.0
_MOST_OF_A_FORM: Final = 0.7  # is asked of a line of the newest run of its kind

# What bears on a claim. The parts were weighed on recorded claims.
_BY_TOOL: Final = 0.6
_BY_NEWEST: Final = 1.4
_BY_OLDER_RUN: Final = 1.0
_BY_EDIT: Final = 0.4
_BY_NAMED_FILE: Final = 0.5
_LEAST_OF_A_RUN: Final = 0.25  # of a claim's words, those of its command counted once more
_LEAST_SHARE: Final = 0.05  # of a claim's words
_BY_SHARE: Final = 1.7
_BY_BEST_LINE: Final = 0.3
_BY_PLACE: Final = 0.4
_BY_SUMMARY: Final = 0.2
_SMALL_NUMBER: Final = 0.5
_UNFOUND: Final = 0.5  # of a term that no output has, in what a claim's terms weigh together
_OF_A_NAMED_LINE: Final = 9.0
_BY_KIND: Final = frozenset((CHANGED, RAN, REMOVED))
_QUOTED: Final = re.compile(r"`([A-Za-z_]\w{0,80})(?:\(\))?`")

_NUMBER: Final = re.compile(
    r"\d|\b(?:no|none|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Lines:
    """How many lines of an output are shown for a claim, and what they have to tell beside the claim's best one."""

    most: int
    least: float


# Of the output that bears most on a claim, by how many claims the work has: many claims share the bytes.
_OF_FIRST_OUTPUT: Final = {1: _Lines(10, 0.05), 2: _Lines(6, 0.15)}
_OF_FIRST_OUTPUT_AMONG_MANY: Final = _Lines(3, 0.6)
_OF_OTHER_OUTPUT: Final = _Lines(2, 0.4)


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


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a claim asks of outputs: its terms that any of them has, by how rare they are, and roles of commands.

    `whole` is what all of its terms weigh, `named` are those that it sets as code.
    """

    claim: Claim
    weights: Mapping[str, float]
    roles: frozenset[str]
    whole: float
    named: frozenset[str]
    went_well: frozenset[ProofKind]
    counts: bool
    answering: Answering


@dataclass(frozen=True, slots=True)
class _Bearing:
    """How much an output bears on a claim, and its lines as that claim sees them.

    `covered` is the part of the claim that one line has with its command, and `has_number` says that both have a number
    of three digits or more: a reader sees by them why the output is shown. `answers_claim` marks the newest run beside a
    claim that it went well.
    """

    score: float
    covered: float
    has_number: bool
    output: Output
    lines: LinesFor
    is_newest_run: bool
    answers_claim: bool
    failed_beside_claim: bool
    is_of_kind: bool
    named_lines: tuple[int, ...]


class Outputs:
    """The outputs that were sent with a work, read once."""

    def __init__(self, results: Sequence[ToolResult], older: int = 0) -> None:
        """Read the outputs. `older` were sent before them and are only counted."""
        self.count = older + len(results)
        outputs = read_outputs_of(results, older)
        self._frequency = Counter(chain.from_iterable(output.terms for output in outputs))
        self._read = len(outputs)
        newest = {output.what_it_repeats: output.number for output in outputs}
        latest = set(newest.values())
        again = made_again(outputs)
        self._outputs = [
            output
            for output in outputs
            if output.number in latest
            and (output.lines or output.is_empty)
            and output.number not in again
        ]
        self._newest = NewestOutputs(self._outputs)

    def digest(self, claims: Sequence[Claim]) -> Digest:
        """Return the outputs that bear on the claims, those that bear most first."""
        wanted = [self._wanted(claim) for claim in claims[:_MOST_CLAIMS]]
        bearings = {one.claim.number: self._bearings(one) for one in wanted}
        chosen = _chosen(bearings)
        shown = within_bytes(shown_once([one.shown(claims, self._newest) for one in chosen]))
        places = _places(chosen, shown)
        failed = set(chain.from_iterable(output.failed_beside for output in shown))
        well = {one.claim.number for one in wanted if one.went_well}
        unproven = frozenset((well - places.keys()) | failed)
        return Digest(tuple(shown), self.count - len(shown), places, unproven)

    def _wanted(self, claim: Claim) -> _Wanted:
        text = claim.text[:_MOST_CLAIM]
        weights: dict[str, float] = {}
        terms = terms_of(text)
        for term in sorted(terms):
            if self._frequency[term]:
                rarity = math.log(1 + self._read / self._frequency[term]) / math.log(1 + self._read)
                weights[term] = rarity * _part_of(term)
        whole = sum(weights.values()) + _UNFOUND * len(terms - weights.keys())
        named = frozenset(chain.from_iterable(map(terms_of, _QUOTED.findall(text))))
        roles, went_well = _said_in(text[:_MOST_SAID])
        return _Wanted(
            claim,
            weights,
            roles,
            whole or 1.0,
            named,
            went_well,
            bool(_NUMBER.search(text)),
            self._newest.answering(text, roles, weights),
        )

    def _bearings(self, wanted: _Wanted) -> list[_Bearing]:
        """Return the few outputs that bear most on a claim, the first one first."""
        found = [self._bearing(output, wanted) for output in self._outputs]
        bearing = [one for one in found if one is not None]
        near = heapq.nlargest(_MOST_NEAR, bearing, key=lambda one: (one.is_of_kind, one.score))
        return _edits_before_reads(near)

    def _bearing(self, output: Output, wanted: _Wanted) -> _Bearing | None:
        """Return how much an output bears on a claim; None where it shares too little."""
        shared = output.terms & wanted.weights.keys()
        is_newest = output.number in wanted.answering.numbers
        if output.is_empty and not is_newest:
            return None
        words = {term for term in shared if stands_for_itself(term)}
        share = sum(wanted.weights[term] for term in words) / wanted.whole
        if share < _LEAST_SHARE and not is_newest:
            return None
        weights = {term: wanted.weights[term] for term in shared}
        by_tool = min(1.0, sum(weights[term] for term in output.tool_terms & words))
        names = {
            term for term in output.tool_terms & words if term[0] == "=" or term in wanted.named
        }
        is_named = bool(names) and HISTORY not in output.roles
        is_run = output.is_rejected or (
            not (output.is_listing or output.is_look_at_file)
            and (is_newest or is_named or by_tool + share >= _LEAST_OF_A_RUN)
        )
        lines = LinesFor(
            output,
            weights,
            wanted.named,
            is_run,
            ProofKind.TESTS in wanted.roles,
            wanted.counts,
        )
        weight = weight_of(lines)
        score = weight / math.log(10 + len(output.content) / 200)
        score += _BY_TOOL * by_tool + _BY_PLACE * output.number / self.count
        score += _BY_SHARE * weight / wanted.whole
        score += _BY_BEST_LINE * lines.best
        if is_newest:
            score += _BY_NEWEST
        elif output.roles & wanted.roles:
            score += _BY_OLDER_RUN
        if output.is_edit:
            score += _BY_EDIT
        if output.is_of_file and names:
            score += _BY_NAMED_FILE
        if output.sums_up:
            score += _BY_SUMMARY
        differs = is_newest and any(output.failed(kind) for kind in wanted.went_well)
        covered = lines.covered(wanted.weights) / wanted.whole
        if len(words) == 1 and covered < _LEAST_COVERED_BY_ONE:
            covered = 0.0
        named_lines = output.why_rejected or wanted.answering.lines.get(output.number, ())
        is_of_kind = is_newest and bool(output.roles & wanted.roles & _BY_KIND or named_lines)
        answers = is_of_kind or (is_newest and bool(wanted.went_well))
        has_number = any(term[0].isdigit() for term in words)
        return _Bearing(
            score,
            covered,
            has_number,
            output,
            lines,
            is_newest,
            answers,
            differs,
            is_of_kind,
            named_lines,
        )


@lru_cache(maxsize=500)
def _said_in(text: str) -> tuple[frozenset[str], frozenset[ProofKind]]:
    """Return the roles of commands of which a claim speaks, and the kinds of runs of which it says that they went well."""
    roles = roles_in(text)
    well = set(chain.from_iterable(claim.kinds for claim in claims_of(text)))
    if MENDED in roles:
        well.add(ProofKind.ANY)
    return roles, frozenset(well)


def _part_of(term: str) -> float:
    """Return the part of its rarity that a term counts for."""
    return 1.0 if stands_for_itself(term) else _SMALL_NUMBER


def _edits_before_reads(bearings: Sequence[_Bearing]) -> list[_Bearing]:
    """Return the outputs with a newer change of a file before an older look at it: what was read may be gone."""
    ordered: list[_Bearing] = []
    for one in bearings:
        older = (
            place
            for place, other in enumerate(ordered)
            if one.output.is_edit
            and not other.output.is_edit
            and one.output.is_newer_of_same_file(other.output)
        )
        place = next(older, None)
        if place is None:
            ordered.append(one)
        else:
            ordered.insert(place, replace(one, score=ordered[place].score))
    return ordered


@dataclass
class _Chosen:
    """An output that is shown: how much it bears, by which lines, and on which claims."""

    output: Output
    score: float = 0.0
    lines: dict[int, float] = field(default_factory=dict[int, float])
    claims: list[int] = field(default_factory=list[int])
    failed_beside: list[int] = field(default_factory=list[int])

    def take(self, claim: int, bearing: _Bearing, lines: Mapping[int, float]) -> None:
        """Add the lines that bear on a claim."""
        self.score = max(self.score, bearing.score)
        self.claims.append(claim)
        if bearing.failed_beside_claim:
            self.failed_beside.append(claim)
        for at, value in lines.items():
            self.lines[at] = max(self.lines.get(at, 0.0), value)

    def shown(self, claims: Sequence[Claim], newest: NewestOutputs) -> ShownOutput:
        """Return the output as it is shown."""
        best = heapq.nlargest(_MOST_LINES_IN_ALL, self.lines, key=lambda at: (self.lines[at], -at))
        own = [claim.text[:_MOST_CLAIM] for claim in claims if claim.number in self.claims]
        wanted = set[str]().union(*map(terms_of, own))
        lines = (cut_around(self.output.lines[at], wanted) for at in sorted(best))
        return ShownOutput(
            result=self.output.number,
            tool=short_tool(self.output.tool),
            exit_code=self.output.result.exit_code,
            lines=tuple(lines),
            failed_beside=tuple(self.failed_beside),
            status=newest.status_of(self.output),
        )


def _chosen(bearings: Mapping[int, Sequence[_Bearing]]) -> list[_Chosen]:
    """Return the outputs to show: those that differ from what a claim says, then those that bear most on any."""
    chosen: dict[int, _Chosen] = {}
    for claim, found in bearings.items():
        best_line = min(max((one.lines.best for one in found), default=0.0), _MOST_OF_A_LINE)
        most = _MOST_FOR_A_CLAIM if len(bearings) <= _FEW_CLAIMS else 1
        for place, one in enumerate(_those_that_bear(found)[:most]):
            wanted = _lines_for(place, len(bearings))
            least = wanted.least * best_line
            if one.is_newest_run:
                least = min(least, _MOST_OF_A_FORM)
            lines = dict.fromkeys(one.named_lines, _OF_A_NAMED_LINE)
            lines = lines or one.lines.choose(wanted.most, least)
            if not lines and not one.output.is_empty:
                continue
            output = chosen.setdefault(one.output.number, _Chosen(one.output))
            output.take(claim, one, lines)
    return heapq.nlargest(
        _MOST_SHOWN, chosen.values(), key=lambda one: (bool(one.failed_beside), one.score)
    )


def _those_that_bear(found: Sequence[_Bearing]) -> list[_Bearing]:
    """Return the newest run of which a claim speaks, the output that bears most, and those that bear nearly as much.

    Of each but a newest run a line has to share a part of the claim, so that a reader sees why it is shown.
    """
    bearing: list[_Bearing] = []
    for one in found:
        least = _LEAST_COVERED_BEHIND if bearing else _LEAST_COVERED
        is_near = one.score >= _LEAST_BESIDE_BEST * found[0].score
        is_seen = one.is_newest_run or one.has_number or one.covered >= least
        if is_seen and (is_near or one.answers_claim):
            bearing.append(one)
    return bearing


def _lines_for(place: int, claims: int) -> _Lines:
    """Return how many lines of an output are shown, by its place under a claim and how many claims there are."""
    if place:
        return _OF_OTHER_OUTPUT
    return _OF_FIRST_OUTPUT.get(claims, _OF_FIRST_OUTPUT_AMONG_MANY)


def _places(chosen: Iterable[_Chosen], shown: Iterable[ShownOutput]) -> dict[int, tuple[int, ...]]:
    """Return by a claim's number the places, from 1, of the outputs that are shown for it."""
    place_of = {one.result: place for place, one in enumerate(shown, start=1)}
    places: defaultdict[int, tuple[int, ...]] = defaultdict(tuple)
    for one in chosen:
        for claim in one.claims:
            if one.output.number in place_of:
                places[claim] += (place_of[one.output.number],)
    return dict(places)
