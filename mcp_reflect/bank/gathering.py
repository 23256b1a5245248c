"""The first look: which rows of a scope share most of a question, whatever the size of the bank.

Every posting of every term counts, common or rare, for sums are made over whole blocks at once (see `slices`).
Weights are rounded to six bits, which is enough to choose the rows that get an exact score.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from typing import Final

from mcp_reflect.bank.features import HELD
from mcp_reflect.bank.postings import BLOCK, BLOCK_BITS, bits_of
from mcp_reflect.bank.slices import Sums, rows_of
from mcp_reflect.bank.sqlite.statements import Reading

HEAVIEST: Final = 63  # what the greatest weight is rounded to
Blocks = dict[int, dict[str, int]]
"""For each block, the newest first, the rows that hold each of some terms, as bits."""


@dataclass(frozen=True, slots=True)
class Look:
    """Which rows may be taken, and how many: those with one of the marks of each group, in quarantine or not."""

    limit: int
    within: tuple[tuple[str, ...], ...] = ()
    held: bool = False

    def among(self, rows: int, bits: Mapping[str, int]) -> int:
        """Those of some rows of a block that may be taken."""
        held = bits.get(HELD, 0) & rows
        rows = held if self.held else rows ^ held
        for marks in self.within:
            rows &= any_of(bits, marks)
        return rows


def gather(
    reading: Reading, number: int, places: int, weights: Mapping[str, float], looks: Sequence[Look]
) -> list[int]:
    """Places of a scope whose rows share most of the weight, of those that each look may take.

    `places` is how many the scope has handed out.
    """
    marks = {mark for look in looks for group in look.within for mark in group}
    return best_of(read_blocks(reading, number, places, {*weights, *marks, HELD}), weights, looks)


def best_of(blocks: Blocks, weights: Mapping[str, float], looks: Sequence[Look]) -> list[int]:
    """The places of the rows that share most of the weight, of those that each look may take, each place once."""
    heaviest = max(weights.values(), default=0.0)
    if heaviest <= 0:
        return []
    scaled = {term: max(1, round(HEAVIEST * weight / heaviest)) for term, weight in weights.items()}
    tops = [Top(look.limit) for look in looks]
    for block, bits in blocks.items():
        sums = Sums()
        for term, weight in scaled.items():
            if term in bits:
                sums.add(bits[term], weight)
        rows = sums.any()
        for look, top in zip(looks, tops, strict=True):
            top.take(block, sums, look.among(rows, bits), alone=len(blocks) == 1)
    return list(dict.fromkeys(place for top in tops for place in top.places()))


class Top:
    """The places with the greatest sums of several blocks, which come the newest first."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._found: list[tuple[int, int]] = []

    def take(self, block: int, sums: Sums, rows: int, *, alone: bool = False) -> None:
        """Take the best `rows` of a block; where it is `alone` their order does not matter."""
        if self._found and len(self._found) == self._limit:
            rows = sums.above(self._found[-1][0], rows)
        if rows:
            best = rows_of(sums.best(rows, self._limit))
            more = [(0 if alone else sums.of(row), (block << BLOCK_BITS) + row) for row in best]
            self._found = nlargest(self._limit, self._found + more)

    def places(self) -> list[int]:
        """The places, those with the greatest sums first."""
        return [place for _, place in self._found]


def read_blocks(reading: Reading, number: int, places: int, terms: Iterable[str]) -> Blocks:
    """The rows of a scope that hold each of some terms; blocks without any of them are left out."""
    newest = (places - 1) // BLOCK
    values = {"scope": number, "blocks": list(range(newest, -1, -1)), "terms": sorted(terms)}
    found: Blocks = {}
    for block, term, count, rows in reading.rows("index_postings", values):
        found.setdefault(block, {})[term] = bits_of(count, rows)
    return {block: found[block] for block in sorted(found, reverse=True)}


def any_of(bits: Mapping[str, int], terms: Iterable[str]) -> int:
    """The rows that hold any of some terms."""
    rows = 0
    for term in terms:
        rows |= bits.get(term, 0)
    return rows
