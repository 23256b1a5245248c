"""Whatever an embedder returns or raises, what comes out here is unit vectors, or an `LLMError`."""

import math
from collections.abc import Sequence
from typing import cast

from mcp_reflect.embedding.protocol import Embedder, Vector
from mcp_reflect.llm.errors import GarbledReplyError, LLMError

_LEAST_LENGTH = 1e-6  # a shorter vector has no direction


class Checked:
    """Stands around every embedder. `maker` is who wrote it, for a person who reports a fault."""

    def __init__(self, embedder: Embedder, maker: str = "this server") -> None:
        self._embedder = embedder
        self._maker = maker
        self.name = embedder.name

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """A unit vector for each text, all of one length."""
        try:
            given: object = await self._embedder.embed(texts)
        except LLMError:
            raise
        except Exception as error:  # noqa: BLE001 - may be code that is not ours: its words may hold the texts
            fault = f"{self._maker} raised {type(error).__name__}"
        else:
            vectors = unit_vectors(given, len(texts))
            if not isinstance(vectors, str):
                return vectors
            fault = f"{self._maker} gave {vectors}"
        raise GarbledReplyError(self.name, fault, "Name another embedding model, or write to its makers")


def unit_vectors(given: object, count: int) -> list[Vector] | str:
    """`given` as that many unit vectors of one length; else what it is instead, in a few words."""
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        return "no list of vectors"
    items = cast("Sequence[object]", given)
    if len(items) != count:
        return f"{len(items)} vectors for {count} texts"
    vectors: list[Vector] = []
    for item in items:
        if not isinstance(item, Sequence) or not all(
            type(number) in (int, float) for number in cast("list[object]", item)
        ):
            return "a vector that is no list of numbers"
        vector = cast("Sequence[float]", item)
        try:
            length = math.hypot(*vector)
        except OverflowError:
            length = math.inf
        if not _LEAST_LENGTH < length < math.inf:
            return "a vector without a direction (empty, zero, or not finite)"
        if vectors and len(vectors[0]) != len(vector):
            return f"vectors of different lengths ({len(vectors[0])} and {len(vector)})"
        vectors.append([number / length for number in vector])
    return vectors
