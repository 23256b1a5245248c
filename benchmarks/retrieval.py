"""Documents, queries and what is relevant: how sets are read, and how good a ranked list is."""

import json
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

DEPTH: Final = 10


@dataclass(frozen=True, slots=True)
class Document:
    """A text to find; `type` is its task type, where the set tells."""

    id: str
    text: str
    type: str | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """A query with the ids of the documents that are relevant."""

    id: str
    text: str
    relevant: frozenset[str]
    type: str | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """A set of documents and queries."""

    name: str
    documents: tuple[Document, ...]
    queries: tuple[Query, ...]


def collections(data: Path) -> list[Judged]:
    """The sets under a folder: itself, or every folder in it (or in its `recall`) with docs and queries."""
    places = [data, *sorted(data.glob("*")), *sorted((data / "recall").glob("*"))]
    return [
        _read(place)
        for place in places
        if (place / "docs.jsonl").is_file() and (place / "queries.jsonl").is_file()
    ]


def _read(place: Path) -> Judged:
    documents = [
        Document(line["id"], line["text"], line.get("type")) for line in lines(place / "docs.jsonl")
    ]
    queries = [
        Query(line["id"], line["text"], frozenset(line["relevant"]), line.get("type"))
        for line in lines(place / "queries.jsonl")
    ]
    return Judged(place.name, tuple(documents), tuple(query for query in queries if query.relevant))


def lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSONL file."""
    return [
        json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()
    ]


def recall(found: Sequence[str], relevant: Collection[str]) -> float:
    """The part of what is relevant that was found, 0..1."""
    return len(set(relevant).intersection(found)) / len(relevant)


def ndcg(found: Sequence[str], relevant: Collection[str]) -> float:
    """Normalised discounted cumulative gain of the first ten, with gains of one, 0..1."""
    gain = sum(1 / math.log2(rank + 2) for rank, row in enumerate(found[:DEPTH]) if row in relevant)
    return gain / sum(1 / math.log2(rank + 2) for rank in range(min(DEPTH, len(relevant))))


def reciprocal_rank(found: Sequence[str], relevant: Collection[str]) -> float:
    """One over the place of the first that is relevant, 0 where none is."""
    return next((1 / rank for rank, row in enumerate(found, start=1) if row in relevant), 0.0)
