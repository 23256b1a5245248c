"""The nearest signs: rows one by one and in columns give the same answer, whatever was changed in between."""

import random

from mcp_reflect.storage.retrieval.vectors import NearestSigns


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
