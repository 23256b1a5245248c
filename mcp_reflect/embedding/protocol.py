"""The seam to an embedder: texts in, vectors out, one method."""

from collections.abc import Sequence
from typing import Protocol

Vector = Sequence[float]
"""A unit vector; the cosine of two is the sum of their products."""


class Embedder(Protocol):
    """An embedding model, or a wrapper around one.

    `name` tells which: vectors under different names are never compared. `embed` returns a vector for each
    text, in order, all of one length, or raises an `LLMError`; it leaves nothing running when it is
    cancelled, but for a thread that ends by itself.
    """

    @property
    def name(self) -> str: ...

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector]: ...
