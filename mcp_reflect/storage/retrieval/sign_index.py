"""The nearest vectors by their signs, a bit for each dimension: in memory, all rows are compared at once.

The signs preselect: only the rows that differ least are then compared by their whole vectors.
"""

import threading
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Final

from mcp_reflect.storage.repository import Reading
from mcp_reflect.storage.retrieval.vectors import QueryVector

_MOST_SCOPES: Final = 8  # scopes whose signs are kept in memory
MOST_TIED: Final = 200  # rows beyond a limit that differ as little from a question as the last one


def _digits_of_bit(bit: int) -> bytes:
    """Return the table that translates bytes into the digits "0" and "1" of one of their bits."""
    return bytes(ord("0") + (number >> bit & 1) for number in range(256))


_DIGIT_OF_BIT: Final = [_digits_of_bit(bit) for bit in range(8)]

Bits = int
"""An integer of arbitrary length as a set of places: a bit for each row, 1 where something holds of it."""


class NearestSigns:
    """The signs of vectors: for each dimension the `Bits` of the rows whose number is positive there.

    Whole dimensions are compared, not rows: an operation on two integers of 100,000 bits takes microseconds, a loop
    over 100,000 rows takes a tenth of a second. `last` is the number of the last vector that was read.
    """

    def __init__(self) -> None:
        self.last = 0
        self._row_at: list[int] = []  # by place
        self._place_of: dict[int, int] = {}  # by row
        self._dimensions: list[Bits] = []
        # A place whose row lost its vector, or got another one at a later place, is not in use.
        self._in_use: Bits = 0

    def add(self, rows: Sequence[int], signs: Sequence[bytes]) -> None:
        """Add the signs of rows, in place of those that they had."""
        start = len(self._row_at)
        for place, row in enumerate(rows, start):
            self.drop(row)
            self._place_of[row] = place
        self._row_at += rows
        self._in_use |= _ones(len(rows)) << start
        self._add_to_dimensions(signs, start)

    def _add_to_dimensions(self, signs: Sequence[bytes], start: int) -> None:
        """Write the signs of new rows into each dimension, from the place `start` on."""
        bytes_a_row = len(signs[0])
        if not self._dimensions:
            self._dimensions = [0] * (8 * bytes_a_row)
        last_row_first = b"".join(reversed(signs))  # the first digit of a number is its highest bit
        for dimension in range(8 * bytes_a_row):
            byte, bit = divmod(dimension, 8)
            of_all_rows = last_row_first[byte::bytes_a_row]
            digits = of_all_rows.translate(_DIGIT_OF_BIT[bit])
            self._dimensions[dimension] |= int(digits, 2) << start

    def drop(self, row: int) -> None:
        """Forget a row, if it is there."""
        place = self._place_of.pop(row, None)
        if place is not None:
            self._in_use ^= 1 << place

    def nearest(self, query: bytes, limit: int) -> list[int]:
        """Return `limit` rows whose signs differ least from the query's, and more that differ as little as the last.

        Of a bank of equal lessons all differ as little, and each that is returned is compared: only the newest are.
        """
        difference_counts = _count_ones(self._differences(query))
        nearer, tied = _smallest(difference_counts, self._in_use, limit)
        return self._rows_at(nearer, limit) + self._rows_at(tied, limit + MOST_TIED)

    def _differences(self, query: bytes) -> list[Bits]:
        """Return for each dimension the rows whose sign is not the query's."""
        all_places = _ones(len(self._row_at))
        differences: list[Bits] = []
        for dimension, positive_places in enumerate(self._dimensions):
            byte, bit = divmod(dimension, 8)
            query_is_positive = query[byte] >> bit & 1
            if query_is_positive:
                differences.append(positive_places ^ all_places)
            else:
                differences.append(positive_places)
        return differences

    def _rows_at(self, places: Bits, most: int) -> list[int]:
        """Return the rows at these places, the last added first, at most so many."""
        rows: list[int] = []
        while places and len(rows) < most:
            place = places.bit_length() - 1
            rows.append(self._row_at[place])
            places ^= 1 << place
        return rows


def _ones(count: int) -> Bits:
    """Return the first so many places."""
    return (1 << count) - 1


def _count_ones(columns: Sequence[Bits]) -> list[Bits]:
    """Return for each place in how many columns its bit is set: the binary digits of the counts, the lowest first.

    A full adder takes two columns to the running sum of a digit and gives a carry to the next one, for all places at
    once; so each digit is left with half as many columns as the one before.
    """
    digits: list[Bits] = []
    while columns:
        digit, carries = _sum_of_digit(columns)
        digits.append(digit)
        columns = carries
    return digits


def _sum_of_digit(columns: Sequence[Bits]) -> tuple[Bits, list[Bits]]:
    """Add columns of one binary digit; return the digit of the sum, and the carries to the next digit."""
    digit, *others = columns
    carries: list[Bits] = []
    for one, two in zip_longest(others[::2], others[1::2], fillvalue=0):
        either = one ^ two
        carries.append(one & two | digit & either)
        digit ^= either
    return digit, carries


def _smallest(digits: Sequence[Bits], places: Bits, limit: int) -> tuple[Bits, Bits]:
    """Return fewer than `limit` places with the smallest counts, and those that are next: their counts are equal.

    From the highest digit down: where enough places have a 0, the wanted ones are among them; else all of them are
    wanted, and the rest is chosen among those with a 1.
    """
    chosen: Bits = 0
    undecided = places
    for digit in reversed(digits):
        smaller = undecided & ~digit
        if (chosen | smaller).bit_count() >= limit:
            undecided = smaller
        else:
            chosen |= smaller
            undecided &= digit
    return chosen, undecided


class VectorIndex:
    """The signs of vectors in memory, by model and scope, brought up to date before each search.

    Signs only preselect: `Closeness` tells which rows have lost their vector since. The threads of a
    bank on a server take turns.
    """

    def __init__(self) -> None:
        self._signs: dict[tuple[int, int], NearestSigns] = {}
        self._lock = threading.Lock()

    def nearest(
        self, reading: Reading, query: QueryVector, scopes: Iterable[int], limit: int
    ) -> list[int]:
        """Return the rows of some scopes whose signs differ least from the query's, about `limit` for each scope."""
        rows: list[int] = []
        with self._lock:
            for scope in scopes:
                signs = self._up_to_date(reading, query.model, scope)
                rows += signs.nearest(query.signs, limit)
        return rows

    def forget(self, model: int, rows: Iterable[int]) -> None:
        """Drop rows that have lost their vector."""
        with self._lock:
            for (model_of_signs, _), signs in self._signs.items():
                if model_of_signs != model:
                    continue
                for row in rows:
                    signs.drop(row)

    def _up_to_date(self, reading: Reading, model: int, scope: int) -> NearestSigns:
        """Return the signs of a scope with those that were stored since it was read last.

        Where too many scopes are in memory all of them go: a process that serves so many reads each seldom.
        """
        if (model, scope) not in self._signs and len(self._signs) >= _MOST_SCOPES:
            self._signs.clear()
        known = self._signs.setdefault((model, scope), NearestSigns())
        values = {"embedder": model, "scope": scope, "after": known.last}
        new = reading.rows("vectors_after", values)
        if new:
            known.add([row["lesson"] for row in new], [row["signs"] for row in new])
            known.last = new[-1]["seq"]
        return known
