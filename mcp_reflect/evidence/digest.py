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
from mcp_reflect.evidence.outputs import (
    HISTORY,
    MENDED,
    Output,
    is_common,
    read_outputs_of,
    roles_in,
    stands_for_itself,
    terms_of,
)
from mcp_reflect.evidence.success_claims import claims_of
from mcp_reflect.evidence.telling_lines import LinesFor
from mcp_reflect.models.critique import Claim, Shown, ToolResult

MOST_BYTES: Final = 2_400
"""Of a digest, the line about what is left out included."""

_MOST_CLAIMS: Final = 60
_MOST_CLAIM: Final = 900  # characters of a claim
_MOST_SAID: Final = 300  # characters of a claim in which it is looked for what went well
_MOST_SHOWN: Final = 7  # outputs
_MOST_FOR_A_CLAIM: Final = 3  # outputs
_MOST_LINES_IN_ALL: Final = 10  # of an output
_LONGEST_LINE: Final = 120
_LONG_ENOUGH: Final = 30
_LONGEST_TOOL: Final = 70
_LONG_PAGE: Final = 3_000  # characters
_FEW_CLAIMS: Final = 2

# An output is shown for a claim where it bears on it nearly as much as the best one does, and a line where it tells
# nearly as much as the best line of all: a work of many claims has weak ones, for which nothing is shown.
_LEAST_BESIDE_BEST: Final = 0.55
_LEAST_IN_WORK: Final = 0.5
_MOST_OF_A_LINE: Final = 2.0
_MOST_OF_A_FORM: Final = 0.7  # is asked of a line of the newest run of its kind

# What bears on a claim. The parts were weighed on recorded claims.
_BY_TOOL: Final = 0.6

_BY_NEWEST: Final = 1.4
_BY_EDIT: Final = 0.4
_LEAST_OF_A_RUN: Final = 0.25  # of a claim's words, those of its command counted once more
_LEAST_SHARE: Final = 0.05  # of a claim's words
_BY_SHARE: Final = 1.7
_BY_BEST_LINE: Final = 0.3
_BY_PLACE: Final = 0.4
_BY_SUMMARY: Final = 0.2
_SMALL_NUMBER: Final = 0.5
_UNFOUND: Final = 0.5  # of a term that no output has, in what a claim's terms weigh together
_QUOTED: Final = re.compile(r"`([A-Za-z_]\w{0,80})(?:\(\))?`")

_TERM: Final = re.compile(r"[\w./:-]+")
_LINE_NUMBER: Final = re.compile(r"^\d{1,6}(?:→|:|-)\s{0,200}")


@dataclass(frozen=True, slots=True)
class _Strictness:
    """How much has to bear on a claim to be shown for it.

    `most` are the lines of each of its outputs, the first one first, and `least` what they have to tell beside the best
    line of the work. `words` have to be shared by a line; one of a run of which the claim speaks may tell by its `form`
    instead. With `any_run`, every output may be such a run. `common` is the part that words of every work count for, and
    `by_role` what an older run counts for of a kind of which the claim speaks; the newest one counts whole.
    """

    most: tuple[int, ...]
    least: tuple[float, ...]
    words: int
    form: float
    any_run: bool
    common: float
    by_role: float


# A short work rests on few lines, which may use other words. In a long one many words are shared by chance.
_FOR_A_SHORT_WORK: Final = _Strictness(
    (10, 3, 3), (0.05, 0.25, 0.4), words=1, form=0.0, any_run=True, common=1.0, by_role=1.0
)
_FOR_A_LONG_WORK: Final = _Strictness(
    (5, 2, 2), (0.4, 0.5, 0.6), words=3, form=0.7, any_run=False, common=0.5, by_role=0.0
)


@dataclass(frozen=True, slots=True)
class Digest:
    """The outputs that are shown, and how many others there are.

    `places` has by a claim's number which of them are shown for it; `unproven` are the claims that say that something
    went well, of which no output is shown, or the newest run failed.
    """

    shown: tuple[Shown, ...] = ()
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


@dataclass(frozen=True, slots=True)
class _Bearing:
    """How much an output bears on a claim, and its lines as that claim sees them."""

    score: float
    output: Output
    lines: LinesFor
    is_newest_run: bool
    failed_beside_claim: bool


class Outputs:
    """The outputs that were sent with a work, read once."""

    def __init__(self, results: Sequence[ToolResult]) -> None:
        self.count = len(results)
        outputs = read_outputs_of(results)
        self._frequency = Counter(chain.from_iterable(output.terms for output in outputs))
        self._read = len(outputs)
        newest = {output.command: output.number for output in outputs}
        latest = set(newest.values())
        self._outputs = [output for output in outputs if output.number in latest and output.lines]
        self._newest_run: dict[str, int] = {}
        for output in self._outputs:
            self._newest_run.update(dict.fromkeys(output.roles, output.number))

    def digest(self, claims: Sequence[Claim]) -> Digest:
        """Return the outputs that bear on the claims, those that bear most first."""
        strictness = _FOR_A_LONG_WORK
        if len(claims) <= _FEW_CLAIMS:
            strictness = _FOR_A_SHORT_WORK
        wanted = [self._wanted(claim, strictness) for claim in claims[:_MOST_CLAIMS]]
        bearings = {one.claim.number: self._bearings(one, strictness) for one in wanted}
        chosen = _chosen(bearings, strictness)
        shown = _within_bytes(_shown_once([one.shown(claims) for one in chosen]))
        places = _places(chosen, shown)
        failed = set(chain.from_iterable(output.failed_beside for output in shown))
        well = {one.claim.number for one in wanted if one.went_well}
        unproven = frozenset((well - places.keys()) | failed)
        return Digest(tuple(shown), self.count - len(shown), places, unproven)

    def _wanted(self, claim: Claim, strictness: _Strictness) -> _Wanted:
        text = claim.text[:_MOST_CLAIM]
        weights: dict[str, float] = {}
        terms = terms_of(text)
        for term in sorted(terms):
            if self._frequency[term]:
                rarity = math.log(1 + self._read / self._frequency[term]) / math.log(1 + self._read)
                weights[term] = rarity * _part_of(term, strictness)
        whole = sum(weights.values()) + _UNFOUND * len(terms - weights.keys())
        named = frozenset(chain.from_iterable(map(terms_of, _QUOTED.findall(text))))
        roles, went_well = _said_in(text[:_MOST_SAID])
        return _Wanted(claim, weights, roles, whole or 1.0, named, went_well)

    def _bearings(self, wanted: _Wanted, strictness: _Strictness) -> list[_Bearing]:
        """Return the few outputs that bear most on a claim, the first one first."""
        found = [self._bearing(output, wanted, strictness) for output in self._outputs]
        bearing = [one for one in found if one is not None]
        return heapq.nlargest(_MOST_FOR_A_CLAIM, bearing, key=lambda one: one.score)

    def _bearing(self, output: Output, wanted: _Wanted, strictness: _Strictness) -> _Bearing | None:
        """Return how much an output bears on a claim; None where it shares nothing but a small number."""
        shared = output.terms & wanted.weights.keys()
        is_newest = any(
            self._newest_run[role] == output.number for role in output.roles & wanted.roles
        )
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
        is_run = not output.is_listing and (
            is_newest or is_named or (strictness.any_run and by_tool + share >= _LEAST_OF_A_RUN)
        )
        lines = LinesFor(
            output,
            weights,
            wanted.named,
            is_run,
            strictness.words,
            strictness.form,
            ProofKind.TESTS in wanted.roles,
        )
        weight = _weight_of(lines)
        score = weight / math.log(10 + len(output.content) / 200)
        score += _BY_TOOL * by_tool + _BY_PLACE * output.number / self.count
        score += _BY_SHARE * weight / wanted.whole
        score += _BY_BEST_LINE * lines.best
        if is_newest:
            score += _BY_NEWEST
        elif output.roles & wanted.roles:
            score += strictness.by_role
        if output.is_edit:
            score += _BY_EDIT
        if output.sums_up:
            score += _BY_SUMMARY
        differs = is_newest and any(output.failed(kind) for kind in wanted.went_well)
        return _Bearing(score, output, lines, is_newest, differs)


@lru_cache(maxsize=500)
def _said_in(text: str) -> tuple[frozenset[str], frozenset[ProofKind]]:
    """Return the roles of commands of which a claim speaks, and the kinds of runs of which it says that they went well."""
    roles = roles_in(text)
    well = set(chain.from_iterable(claim.kinds for claim in claims_of(text)))
    if MENDED in roles:
        well.add(ProofKind.ANY)
    return roles, frozenset(well)


def _part_of(term: str, strictness: _Strictness) -> float:
    """Return the part of its rarity that a term counts for."""
    if not stands_for_itself(term):
        return _SMALL_NUMBER
    return strictness.common if is_common(term) else 1.0


def _weight_of(lines: LinesFor) -> float:
    """Return what the shared terms of an output weigh: of a long page those of its tool and its two best lines alone.

    A page that speaks of everything shares many words with any work, each on a line of its own.
    """
    output, weights = lines.output, lines.weights
    if len(output.content) <= _LONG_PAGE:
        return sum(weights.values())
    rare = lines.by_rarity
    best = heapq.nlargest(2, lines.shared, key=lambda terms: sum(rare[term] for term in terms))
    together = (output.tool_terms & weights.keys()).union(*best)
    return sum(weights[term] for term in together)


@dataclass
class _Chosen:
    """An output that is shown: how much it bears, by which lines, and on which claims."""

    output: Output
    score: float = 0.0
    lines: dict[int, float] = field(default_factory=dict[int, float])
    claims: list[int] = field(default_factory=list[int])
    failed_beside: list[int] = field(default_factory=list[int])

    def shown(self, claims: Sequence[Claim]) -> Shown:
        """Return the output as it is shown."""
        best = heapq.nlargest(_MOST_LINES_IN_ALL, self.lines, key=lambda at: (self.lines[at], -at))
        own = [claim.text[:_MOST_CLAIM] for claim in claims if claim.number in self.claims]
        wanted = set[str]().union(*map(terms_of, own))
        lines = (_cut(self.output.lines[at], _LONGEST_LINE, wanted) for at in sorted(best))
        return Shown(
            result=self.output.number,
            tool=_short_tool(self.output.tool),
            exit_code=self.output.result.exit_code,
            lines=tuple(lines),
            failed_beside=tuple(self.failed_beside),
        )


def _chosen(bearings: Mapping[int, Sequence[_Bearing]], strictness: _Strictness) -> list[_Chosen]:
    """Return the outputs to show: those that differ from what a claim says, then those that bear most on any."""
    best_in_work = max((found[0].score for found in bearings.values() if found), default=0.0)
    every = chain.from_iterable(bearings.values())
    best_line = max((one.lines.best for one in every), default=0.0)
    best_line = min(best_line, _MOST_OF_A_LINE)
    chosen: dict[int, _Chosen] = {}
    for claim, found in bearings.items():
        for one, most, least in zip(found, strictness.most, strictness.least, strict=False):
            is_near = one.score >= _LEAST_BESIDE_BEST * found[0].score
            is_weak = one.score < _LEAST_IN_WORK * best_in_work and not one.is_newest_run
            if not is_near or is_weak:
                break
            asked = least * best_line
            if one.is_newest_run:
                asked = min(asked, _MOST_OF_A_FORM)
            lines = one.lines.choose(most, asked)
            if not lines:
                continue
            output = chosen.setdefault(one.output.number, _Chosen(one.output))
            output.score = max(output.score, one.score)
            output.claims.append(claim)
            if one.failed_beside_claim:
                output.failed_beside.append(claim)
            for at, value in lines.items():
                output.lines[at] = max(output.lines.get(at, 0.0), value)
    return heapq.nlargest(
        _MOST_SHOWN, chosen.values(), key=lambda one: (bool(one.failed_beside), one.score)
    )


def _places(chosen: Iterable[_Chosen], shown: Iterable[Shown]) -> dict[int, tuple[int, ...]]:
    """Return by a claim's number the places, from 1, of the outputs that are shown for it."""
    place_of = {one.result: place for place, one in enumerate(shown, start=1)}
    places: defaultdict[int, tuple[int, ...]] = defaultdict(tuple)
    for one in chosen:
        for claim in one.claims:
            if one.output.number in place_of:
                places[claim] += (place_of[one.output.number],)
    return dict(places)


def _cut(line: str, most: int, wanted: Iterable[str]) -> str:
    """Return a line, or of a long one the part around the first word that the claims share."""
    if len(line) <= most:
        return line
    terms = set(wanted)
    words = _TERM.finditer(line[:20_000])
    place = next((found.start() for found in words if terms_of(found[0]) & terms), 0)
    start = max(0, min(place - most // 3, len(line) - most))
    piece = line[start : start + most - 2]
    if start:
        piece = f"…{piece}"
    if start + most < len(line):
        piece = f"{piece}…"
    return piece


def _short_tool(name: str) -> str:
    """Return the start of a command without `cd FOLDER &&`, or the end of a path."""
    name = re.sub(r"^(?:\(?\s*+cd\s[^;&|\n]{1,300}(?:&&|;)\s*+)+(?=\S)", "", " ".join(name.split()))
    if len(name) <= _LONGEST_TOOL:
        return name
    if " " not in name and "/" in name:
        return f"…{name[1 - _LONGEST_TOOL :]}"
    return f"{name[: _LONGEST_TOOL - 1]}…"


def _shown_once(shown: Iterable[Shown]) -> list[Shown]:
    """Return the outputs without the long lines that stand in one before; none of which nothing is left.

    A short line may be the result of two runs.
    """
    seen: set[str] = set()
    found: list[Shown] = []
    for one in shown:
        lines = tuple(line for line in one.lines if _LINE_NUMBER.sub("", line) not in seen)
        seen.update(_LINE_NUMBER.sub("", line) for line in lines if len(line) >= _LONG_ENOUGH)
        if lines:
            found.append(replace(one, lines=lines))
    return found


def _within_bytes(shown: Sequence[Shown]) -> list[Shown]:
    """Return the first of them that fit."""
    found: list[Shown] = []
    left = MOST_BYTES - 80
    for one in shown:
        size = len(one.text.encode()) + 6
        if size > left and found:
            break
        found.append(one)
        left -= size
    return found
