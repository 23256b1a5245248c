"""The index of terms: postings in blocks, and sums over a block."""

import json
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from typing import Any, Final

from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson, State
from mcp_reflect.storage.retrieval.features import HELD, features_read, scope_number, terms_kept
from mcp_reflect.storage.sqlite.rows import features_from
from mcp_reflect.storage.sqlite.statements import Derived, Reading, Transaction, Writing

# Which rows of a block hold a term, in few bytes: a list of places where they are few, else a bit for each place.
#
# A block is 16,384 places of one scope, counted from 0 in the order in which lessons came. How many places there are
# says which of the two forms the bytes have, so nothing else need be kept.


BLOCK_BITS: Final = 14
BLOCK: Final = 1 << BLOCK_BITS
LISTED: Final = 64  # so many places are a list of two bytes each; a longer list would take longer to read than bits


def bits_of(found: int, places: bytes) -> int:
    """The `found` rows of a block that `places` names, as an integer with a bit for each."""
    if found > LISTED:
        return int.from_bytes(places, "little")
    listed = struct.unpack(f"<{found}H", places)
    if found <= 8:
        rows = 0
        for place in listed:
            rows |= 1 << place
        return rows
    buffer = bytearray((max(listed) >> 3) + 1)
    for place in listed:
        buffer[place >> 3] |= 1 << (place & 7)
    return int.from_bytes(buffer, "little")


def with_places(found: int, places: bytes, more: Iterable[int]) -> tuple[int, bytes]:
    """The posting with `more` rows, none of which it holds yet."""
    added = list(more)
    if found + len(added) <= LISTED:
        return found + len(added), places + struct.pack(f"<{len(added)}H", *added)
    rows = bytearray(places) if found > LISTED else bytearray()
    if found <= LISTED:
        added += struct.unpack(f"<{found}H", places)
        found = 0
    longest = (max(added) >> 3) + 1
    if len(rows) < longest:
        rows.extend(bytes(longest - len(rows)))
    for place in added:
        rows[place >> 3] |= 1 << (place & 7)
    return found + len(added), bytes(rows)


def without_place(found: int, places: bytes, place: int) -> tuple[int, bytes]:
    """The posting without one row that it holds."""
    rows = bits_of(found, places) & ~(1 << place)
    if found - 1 > LISTED:
        return found - 1, rows.to_bytes((rows.bit_length() + 7) // 8, "little")
    kept = [one for one in range(rows.bit_length()) if rows >> one & 1]
    return found - 1, struct.pack(f"<{found - 1}H", *kept)


# Sums for many rows at once, a bit at a time: what a whole block of rows shares with a question costs microseconds.
#
# A set of rows is an integer with a bit for each. A sum is kept as slices: the first holds the lowest bit of every
# row's sum, the next the second bit, and so on, so that adding a term's weight to all rows that hold it is a few
# operations on such integers (O'Neil & Quass 1997, "Improved query performance with variant indexes").


class Sums:
    """The sum of weights for each row of a block; rows are counted from 0."""

    def __init__(self) -> None:
        self._slices: list[int] = []

    def add(self, rows: int, weight: int) -> None:
        """Add `weight` (at least 0) to the sum of each of `rows`."""
        slices, first = self._slices, 0
        slices.extend([0] * (weight.bit_length() - len(slices)))
        while weight:
            if weight & 1:
                place, carried = first, rows  # of a block's rows ever fewer carry a bit on
                while carried:
                    if place == len(slices):
                        slices.append(carried)
                        break
                    held = slices[place]
                    slices[place] = held ^ carried
                    carried &= held
                    place += 1
            weight >>= 1
            first += 1

    def any(self) -> int:
        """The rows with a sum above 0."""
        rows = 0
        for bits in self._slices:
            rows |= bits
        return rows

    def above(self, least: int, among: int) -> int:
        """Those of the rows `among` whose sum is greater than `least`."""
        if least >> len(self._slices):
            return 0
        more, equal = 0, among
        for place in range(len(self._slices) - 1, -1, -1):
            having = equal & self._slices[place]
            if least >> place & 1:
                equal = having
            else:
                more |= having
                equal ^= having
        return more

    def best(self, among: int, limit: int) -> int:
        """The rows `among` with the greatest sums, at most `limit`; of equal ones the later."""
        if among.bit_count() <= limit:
            return among
        surely, perhaps = 0, among
        for bits in reversed(self._slices):
            having = perhaps & bits
            count = (surely | having).bit_count()
            if count > limit:
                perhaps = having
                continue
            surely |= having
            if count == limit:
                return surely
            perhaps ^= having
        left = limit - surely.bit_count()
        for row in rows_of(perhaps):
            if not left:
                break
            surely |= 1 << row
            left -= 1
        return surely

    def of(self, row: int) -> int:
        """The sum of one row."""
        probe = 1 << row
        return sum(1 << place for place, bits in enumerate(self._slices) if bits & probe)


def rows_of(rows: int) -> Iterator[int]:
    """The numbers of the rows, the last first."""
    while rows:
        row = rows.bit_length() - 1
        yield row
        rows ^= 1 << row


# The first look: which rows of a scope share most of a question, whatever the size of the bank.
#
# Every posting of every term counts, common or rare, for sums are made over whole blocks at once (see `slices`).
# Weights are rounded to six bits, which is enough to choose the rows that get an exact score.


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


# The index: what makes active records findable, kept with them in the same transaction.


@dataclass(frozen=True, slots=True)
class Entry:
    """What goes into the index for one record: its id, its scope's number and its terms.

    `length` is how many terms tell something, `written` the terms as they are kept.
    """

    id: str
    number: int
    length: float
    terms: tuple[str, ...]
    written: Derived


def entry(scope: Scope, lesson: Lesson) -> Entry | None:
    """A record as the index will hold it; null for one that is not active. The scope's tenant counts.

    It takes as long as writing it: who writes many makes them before the lock is taken.
    """
    if lesson.state is not State.ACTIVE:
        return None
    kept = Derived(terms_kept(lesson))
    features = features_read(0, kept)
    return Entry(lesson.id, _number(scope, lesson), features.length, tuple(features.counts), kept)


async def remove(tx: Transaction, record_id: str) -> None:
    """Take a record out of the index, with the words that only it held; one that is not in it stays out."""
    await tx.at_once(lambda writing: _remove(writing, record_id))


async def renew(tx: Transaction, scope: Scope, lesson: Lesson) -> None:
    """Bring the index up to a changed record; where its words are the same, nothing is written."""
    made = entry(scope, lesson)
    await tx.at_once(lambda writing: _renew(writing, lesson.id, made))


def add_at_once(writing: Writing, made: Sequence[Entry]) -> None:
    """Make stored records findable, where one is on the bank's thread already."""
    by_scope: dict[int, list[Entry]] = {}
    for entry in made:
        by_scope.setdefault(entry.number, []).append(entry)
    for number, group in by_scope.items():
        sizes = writing.rows("index_sizes", {"scopes": [number]})
        _place(writing, number, sizes[0]["places"] if sizes else 0, group)
        _resize(writing, number, group, places=len(group))


def _renew(writing: Writing, record_id: str, made: Entry | None) -> None:
    before = writing.rows("index_of", {"id": record_id})
    if not before or made is None:
        _remove(writing, record_id)
        add_at_once(writing, [made] if made else [])
    elif before[0]["terms"] != made.written:
        _remove(writing, record_id)
        if before[0]["scope"] == made.number:  # its place is free: a new one would only cost room
            _place(writing, made.number, before[0]["place"], [made])
            _resize(writing, made.number, [made])
        else:
            add_at_once(writing, [made])


def _number(scope: Scope, lesson: Lesson) -> int:
    return scope_number(Scope(scope.tenant, lesson.project))


def _place(writing: Writing, number: int, first: int, made: Sequence[Entry]) -> None:
    """Write entries of a scope at places from `first` on."""
    writing.run_many(
        "index_add_features",
        [
            {"id": Derived(entry.id), "scope": number, "place": place, "terms": entry.written}
            for place, entry in enumerate(made, first)
        ],
    )
    blocks: dict[int, dict[str, list[int]]] = {}
    for place, entry in enumerate(made, first):
        terms = blocks.setdefault(place >> BLOCK_BITS, {})
        for term in entry.terms:
            terms.setdefault(term, []).append(place % BLOCK)
    for block, terms in blocks.items():
        _post(writing, number, block, terms)
    _count(writing, "index_count", number, (entry.terms for entry in made))


def _post(writing: Writing, number: int, block: int, terms: Mapping[str, Sequence[int]]) -> None:
    """Write that places of a block, counted from its first, hold terms."""
    scope = {"scope": number, "block": block}
    changed: list[dict[str, Any]] = []
    there: set[str] = set()
    for row, term, before, listed in writing.rows("index_held", {**scope, "terms": list(terms)}):
        there.add(term)
        found, places = with_places(before, listed, terms[term])
        changed.append({"row": row, "found": found, "places": places})
    new: list[dict[str, Any]] = []
    for term in sorted(terms.keys() - there):  # in the order of their index, so that neighbours are written together
        found, places = with_places(0, b"", terms[term])
        new.append({**scope, "term": Derived(term), "found": found, "places": places})
    writing.run_many("index_change_posting", changed)
    writing.run_many("index_add_posting", new)


def _remove(writing: Writing, record_id: str) -> None:
    for row in writing.rows("index_of", {"id": record_id}):
        features, number, place = features_from(row), row["scope"], row["place"]
        terms = list(features.counts)
        block, offset = place >> BLOCK_BITS, place % BLOCK
        for posting in writing.rows("index_held", {"scope": number, "block": block, "terms": terms}):
            if posting["found"] == 1:
                writing.run("index_drop_posting", {"row": posting["row"]})
            else:
                found, places = without_place(posting["found"], posting["places"], offset)
                writing.run("index_change_posting", {"row": posting["row"], "found": found, "places": places})
        writing.run("index_remove_features", {"row": features.row})
        _count(writing, "index_uncount", number, [terms])
        writing.run("index_forget", {"scope": number, "terms": terms})
        told = HELD not in features.counts
        values = {"scope": number, "found": -told, "length": -told * round(features.length), "places": 0}
        writing.run("index_resize", values)


def _resize(writing: Writing, number: int, made: Sequence[Entry], *, places: int = 0) -> None:
    """Count rows that came into a scope, and the places handed out: what is in quarantine has no more than a place."""
    lengths = [round(entry.length) for entry in made if HELD not in entry.terms]
    writing.run("index_resize", {"scope": number, "found": len(lengths), "length": sum(lengths), "places": places})


def _count(writing: Writing, name: str, number: int, changed: Iterable[Sequence[str]]) -> None:
    """Count the rows that terms came into or left, of which each is given once for a row.

    What is in quarantine is not counted: it would make the words of others common, and its own ones known.
    """
    terms = Counter[str]()
    for held in changed:
        if HELD not in held:
            terms.update(held)
    # In the order of the table, so that neighbours are written together; one statement for all of a scope.
    counted = Derived(json.dumps(dict(sorted(terms.items())), ensure_ascii=False))
    writing.run(name, {"scope": number, "terms": counted})
