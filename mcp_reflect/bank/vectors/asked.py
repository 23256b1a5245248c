"""A question as a vector, beside the lessons of its scope."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mcp_reflect.bank.sqlite.statements import Reading
from mcp_reflect.llm.embeddings.embedders import Vector
from mcp_reflect.llm.embeddings.vector_index import Index, moved, open_index


@dataclass(frozen=True, slots=True)
class Asked:
    """`query` is a unit vector of the model `embedder`, `index` the vectors of the scope, `near` the nearest rows.

    Where there are too many to hold (`beyond`), the index is empty, and so is `near`. `background` is the cosine
    that unrelated texts have in this model. `alike` is how close the lessons of the scope are to one another, 0..1.
    """

    query: Vector
    embedder: int
    index: Index
    background: float
    near: tuple[int, ...] = ()
    beyond: bool = False
    alike: float = 0.0

    def beside(self, reading: Reading, rows: Sequence[int]) -> "Asked":
        """The same as `reading` sees it, with the vectors of `rows` at hand.

        They are read where there were too many to hold; else, of what is near, only what the bank still has counts:
        a lesson that was forgotten, changed or put into quarantine by any process leaves the index here.
        """
        if not self.beyond:
            return replace(self, near=self._kept(reading))
        index = open_index(len(self.query))
        kept = reading.rows("vectors_of", {"embedder": self.embedder, "lessons": list(rows)})
        index.put((row["lesson"], row["scale"], row["vector"]) for row in kept)
        return replace(self, index=index)

    def closeness(self, rows: Sequence[int]) -> Mapping[int, float]:
        """How close the question is to each of `rows` that has a vector: 0 for unrelated, 1 for the same."""
        cosines = self.index.cosines(self.query, rows)
        return {row: closeness(cosine, self.background) for row, cosine in cosines.items()}

    def moved(self, rows: Sequence[int], weight: float) -> "Asked":
        """The question moved towards the middle of `rows`."""
        return replace(self, query=moved(self.query, self.index.mean(rows), weight))

    def _kept(self, reading: Reading) -> tuple[int, ...]:
        """The nearest rows that have their vector in the bank; others come up where some have lost it."""
        near = self.near
        while True:
            values = {"embedder": self.embedder, "lessons": near}
            there = {row["lesson"] for row in reading.rows("vectors_kept", values)}
            gone = [row for row in near if row not in there]
            if not gone:
                return near
            self.index.drop(gone)
            near = tuple(self.index.nearest(self.query, len(near)))


def closeness(cosine: float, background: float) -> float:
    """A cosine on the scale from unrelated (0) to the same (1) of its model."""
    return min(max((cosine - background) / (1 - background), 0.0), 1.0)
