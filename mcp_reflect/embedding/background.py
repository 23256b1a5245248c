"""What a cosine of nothing in particular is: models differ, one gives unrelated texts .0 and another .7."""

from collections.abc import Sequence
from itertools import combinations
from operator import mul
from typing import Final

from mcp_reflect.embedding.protocol import Vector

UNRELATED: Final = (
    "The migration locked the orders table for an hour.",
    "Whisk the eggs before you fold in the flour.",
    "Our flight to Lisbon leaves from another gate.",
    "The tenant has to give three months' notice.",
    "A violin string breaks when it is wound too tight.",
    "Glaciers carve valleys in the shape of a U.",
    "The goalkeeper was sent off before half time.",
    "Vaccines train the immune system without the disease.",
    "Rotate the logs before the disk is full.",
    "She inherited a stamp collection from her uncle.",
    "Bees dance to tell where the flowers are.",
    "Interest on the loan is due every quarter.",
)
"""Sentences that have no subject in common."""

_MOST: Final = 0.9  # a model that tells nothing apart shall not divide by zero


def background(vectors: Sequence[Vector]) -> float:
    """The mean cosine of the vectors of UNRELATED, 0 to .9."""
    cosines = [sum(map(mul, one, other)) for one, other in combinations(vectors, 2)]
    return min(max(sum(cosines) / len(cosines), 0.0), _MOST)
