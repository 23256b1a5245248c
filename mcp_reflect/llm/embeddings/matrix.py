"""An index of vectors on numpy: one row of signed bytes a vector."""

from collections.abc import Iterable
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from mcp_reflect.llm.embeddings.embedders import Vector
from mcp_reflect.llm.embeddings.vector_index import MOST_VECTORS, Packed

if TYPE_CHECKING:
    np: Any  # the extra need not be there where types are checked
    Array = Any
else:
    import numpy as np

    Array = np.ndarray

_FIRST: Final = 1024  # vectors that the first arrays hold
_PIECE: Final = 512  # vectors in a piece


class Matrix:
    """See `Index`."""

    def __init__(self, dims: int) -> None:
        self.most = MOST_VECTORS
        self._bytes: Array = np.empty((_FIRST, dims), dtype=np.int8)
        self._scales: Array = np.empty(_FIRST, dtype=np.float32)
        self._rows: Array = np.empty(_FIRST, dtype=np.int64)
        self._places: dict[int, int] = {}
        self._changing = Lock()  # recalls put and drop in several threads; reading waits for nobody

    def __len__(self) -> int:
        return len(self._places)

    def rows(self) -> list[int]:
        """Return the rows that have a vector, as they came."""
        with self._changing:
            return list(self._places)

    def put(self, vectors: Iterable[Packed]) -> None:
        """Keep vectors; one of a known row takes the place of the one before."""
        with self._changing:
            for row, scale, blob in vectors:
                place = self._places.get(row, len(self._places))
                if place == len(self._bytes):
                    self._grow()
                self._bytes[place] = np.frombuffer(blob, dtype=np.int8)
                self._scales[place] = scale
                self._rows[place] = row
                self._places[row] = place

    def _grow(self) -> None:
        size = 2 * len(self._bytes)
        self._bytes, self._scales, self._rows = (
            np.resize(old, (size, *old.shape[1:])) for old in (self._bytes, self._scales, self._rows)
        )

    def drop(self, rows: Iterable[int]) -> None:
        """Forget the vectors of rows: the last one takes the place of each."""
        with self._changing:
            for row in rows:
                place = self._places.pop(row, None)
                last = len(self._places)
                if place is not None and place != last:
                    for kept in (self._bytes, self._scales, self._rows):
                        kept[place] = kept[last]
                    self._places[int(self._rows[place])] = place

    def nearest(self, query: Vector, limit: int) -> list[int]:
        """Return the rows with the greatest cosines, the nearest first; the smaller row where two are alike."""
        count = len(self._places)
        cosines = np.empty(count, dtype=np.float32)
        asked = np.asarray(query, dtype=np.float32)
        for start in range(0, count, _PIECE):
            piece = slice(start, min(start + _PIECE, count))
            np.matmul(self._bytes[piece].astype(np.float32), asked, out=cosines[piece])
        cosines *= self._scales[:count]
        best = np.argpartition(-cosines, limit - 1)[:limit] if limit < count else np.arange(count)
        return self._rows[best[np.lexsort((self._rows[best], -cosines[best]))]].tolist()

    def cosines(self, query: Vector, rows: Iterable[int]) -> dict[int, float]:
        """Return the cosine (-1 to 1) of each of `rows` that has a vector."""
        places_of = {row: place for row in rows if (place := self._places.get(row)) is not None}
        places = list(places_of.values())
        found = self._bytes[places].astype(np.float32) @ np.asarray(query, dtype=np.float32) * self._scales[places]
        return dict(zip(places_of, found.tolist(), strict=True))

    def mean(self, rows: Iterable[int]) -> Vector:
        """Return the middle of the vectors of rows, all zero where none is known."""
        places = [place for row in rows if (place := self._places.get(row)) is not None]
        total = (self._bytes[places].astype(np.float32) * self._scales[places, None]).sum(axis=0)
        return (total / max(len(places), 1)).tolist()
