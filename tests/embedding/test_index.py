"""Many vectors in memory: the nearest are the nearest, with numpy and without."""

import math
import random
from importlib.util import find_spec

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.llm.embeddings.embedders import Vector
from mcp_reflect.llm.embeddings.vector_index import (
    UNRELATED,
    Index,
    PlainIndex,
    alikeness,
    background,
    moved,
    open_index,
    packed,
    unpacked,
)

DIMS = 24
needs_numpy = pytest.mark.skipif(find_spec("numpy") is None, reason="the extra `embeddings` is not installed")
vectors = st.lists(st.floats(-1, 1), min_size=2, max_size=64).filter(lambda one: math.hypot(*one) > 0.01)


def units(count: int, seed: int) -> list[Vector]:
    chance = random.Random(seed)
    made = [[chance.gauss(0, 1) for _ in range(DIMS)] for _ in range(count)]
    return [[number / math.hypot(*one) for number in one] for one in made]


def filled(index: Index, count: int) -> list[Vector]:
    kept = units(count, seed=1)
    index.put((row, *packed(one)) for row, one in enumerate(kept))
    return kept


@given(vectors)
def test_packing_moves_no_number_by_more_than_half_a_step(vector: list[float]) -> None:
    scale, blob = packed(vector)
    assert len(blob) == len(vector)
    assert all(abs(number - scale * byte) <= scale * 0.51 for number, byte in zip(vector, unpacked(blob), strict=True))


@pytest.mark.parametrize("make", [PlainIndex, pytest.param(open_index, marks=needs_numpy)])
def test_the_nearest_are_the_nearest_also_after_some_took_another_s_place(make: "type[PlainIndex]") -> None:
    index = make(DIMS)
    kept = dict(enumerate(filled(index, 2500)))
    (query, other, *_) = units(5, seed=2)
    index.drop([7, 2499, 3, 9999])
    for row in (7, 2499, 3):
        del kept[row]
    index.put([(11, *packed(query)), (9000, *packed(other))])
    kept |= {11: query, 9000: other}
    assert len(index) == len(kept) == 2498
    cosines = {row: sum(a * b for a, b in zip(query, one, strict=True)) for row, one in kept.items()}
    found = index.nearest(query, 20)
    assert found[0] == 11
    assert [cosines[row] for row in found] == pytest.approx(sorted(cosines.values(), reverse=True)[:20], abs=0.02)
    assert index.cosines(query, [9000, 7, 12]) == pytest.approx({row: cosines[row] for row in (9000, 12)}, abs=0.01)
    assert index.mean([11, 7, 9000]) == pytest.approx(
        [(a + b) / 2 for a, b in zip(query, other, strict=True)], abs=0.01
    )
    assert index.mean([7]) == [0.0] * DIMS


@needs_numpy
def test_numpy_and_plain_python_find_the_same() -> None:
    plain, fast = PlainIndex(DIMS), open_index(DIMS)
    for index in (plain, fast):
        filled(index, 1500)
    for query in units(10, seed=3):
        assert plain.nearest(query, 30) == fast.nearest(query, 30)
        assert plain.cosines(query, range(40)) == pytest.approx(fast.cosines(query, range(40)), abs=1e-5)


def test_a_question_moves_towards_what_was_found_and_stays_a_unit_vector() -> None:
    assert moved([1.0, 0.0], [0.0, 1.0], 1.0) == pytest.approx([0.5**0.5, 0.5**0.5])
    assert moved([1.0, 0.0], [-1.0, 0.0], 1.0) == [1.0, 0.0]


def test_the_background_of_a_model_is_what_unrelated_texts_have_and_never_all() -> None:
    count = len(UNRELATED)
    assert background([[1.0, 0.0]] * count) == 0.9
    assert background([[float(row == column) for column in range(count)] for row in range(count)]) == 0.0


@pytest.mark.parametrize("make", [PlainIndex, pytest.param(open_index, marks=needs_numpy)])
def test_how_alike_vectors_are_is_the_mean_cosine_of_two_of_them(make: "type[PlainIndex]") -> None:
    index = make(DIMS)
    kept = filled(index, 40)
    pairs = [sum(a * b for a, b in zip(one, other, strict=True)) for one in kept for other in kept if one is not other]
    assert index.rows() == list(range(40))
    assert alikeness(index, index.rows()) == pytest.approx(sum(pairs) / len(pairs), abs=0.01)
    index.put((row, *packed(kept[0])) for row in range(40))
    assert alikeness(index, index.rows()) == pytest.approx(1.0, abs=0.02)
    assert alikeness(index, [3]) == alikeness(index, []) == 0.0
