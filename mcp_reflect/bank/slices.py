"""Sums for many rows at once, a bit at a time: what a whole block of rows shares with a question costs microseconds.

A set of rows is an integer with a bit for each. A sum is kept as slices: the first holds the lowest bit of every
row's sum, the next the second bit, and so on, so that adding a term's weight to all rows that hold it is a few
operations on such integers (O'Neil & Quass 1997, "Improved query performance with variant indexes").
"""

from collections.abc import Iterator


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
