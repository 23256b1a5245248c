"""Vectors: the nearest signs, one by one and in columns, whatever was changed in between; cosines of packed vectors."""

import math
import random
from operator import mul

from mcp_reflect.storage.retrieval.vectors import NearestSigns, cosines, packed, unpacked


def test_a_cosine_with_a_packed_vector_is_that_of_the_numbers() -> None:
    chance = random.Random(20261122)
    for size in (8, 256, 384, 1536):
        rows = [[chance.gauss(0, 1) ** power for _ in range(size)] for power in (1, 1, 3, 3)]
        units = [[number / math.hypot(*row) for number in row] for row in rows]
        exact = [sum(map(mul, units[0], unit)) for unit in units]
        found = cosines(units[0], [unpacked(packed(unit)) for unit in units])
        assert max(abs(one - other) for one, other in zip(found, exact, strict=True)) < 0.01  # of 8 bits a number


def test_the_nearest_rows_are_found_in_columns_and_among_changed_rows() -> None:
    chance = random.Random(20261122)
    signs, kept = NearestSigns(), dict[int, int]()
    for row in range(3_000):
        kept[row] = chance.getrandbits(256)
        signs.put(row, kept[row])
    for _ in range(4):
        query = chance.getrandbits(256)
        differences = sorted((bits ^ query).bit_count() for bits in kept.values())
        rows = signs.nearest(query, 40)
        assert {row for row, bits in kept.items() if (bits ^ query).bit_count() <= differences[39]} <= set(rows)
        assert len(rows) == len(set(rows)) < 150
        for row in chance.sample(sorted(kept), 30):
            signs.put(row, None)
            del kept[row]
        for row in chance.sample(sorted(kept), 30):
            kept[row] = chance.getrandbits(256)
            signs.put(row, kept[row])
