"""Vectors: the nearest signs, whatever was changed in between; cosines of packed vectors."""

import math
import random
from collections.abc import Sequence
from operator import mul

from mcp_reflect.storage.retrieval.sign_index import MOST_TIED, NearestSigns
from mcp_reflect.storage.retrieval.vectors import cosines, packed, unpacked


def test_a_cosine_with_a_packed_vector_is_that_of_the_numbers() -> None:
    chance = random.Random(20261122)
    for size in (8, 256, 384, 1536):
        rows = [[chance.gauss(0, 1) ** power for _ in range(size)] for power in (1, 1, 3, 3)]
        units = [[number / math.hypot(*row) for number in row] for row in rows]
        exact = [sum(map(mul, units[0], unit)) for unit in units]
        found = cosines(units[0], [unpacked(packed(unit)) for unit in units])
        assert (
            max(abs(one - other) for one, other in zip(found, exact, strict=True)) < 0.01
        )  # of 8 bits a number


def test_the_nearest_rows_are_found_whatever_was_added_changed_and_dropped() -> None:
    chance = random.Random(20261122)
    signs, kept = NearestSigns(), dict[int, bytes]()

    def put(rows: Sequence[int]) -> None:
        new = {row: chance.randbytes(32) for row in rows}
        signs.add(rows, list(new.values()))
        kept.update(new)

    put(range(3_000))
    for _ in range(4):
        query = chance.randbytes(32)
        away = {
            row: (int.from_bytes(bits) ^ int.from_bytes(query)).bit_count()
            for row, bits in kept.items()
        }
        rows = signs.nearest(query, 40)
        farthest = sorted(away.values())[39]
        assert set(rows) == {row for row, count in away.items() if count <= farthest}
        assert len(rows) == len(set(rows))
        for row in chance.sample(sorted(kept), 30):
            signs.drop(row)
            del kept[row]
        put([*chance.sample(sorted(kept), 30), 10_000 + len(kept)])


def test_of_many_equal_vectors_the_nearer_one_and_the_newest_are_returned() -> None:
    signs, query = NearestSigns(), bytes(32)
    signs.add([7], [query])
    signs.add(range(10, 20_010), [b"\x01" * 32] * 20_000)
    rows = signs.nearest(query, 40)
    assert (len(rows), rows[0], rows[1]) == (1 + 40 + MOST_TIED, 7, 20_009)
