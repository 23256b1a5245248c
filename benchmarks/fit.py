"""What each parameter of the score is worth: python -m benchmarks.fit --data DIR [--queries N].

For every set in DIR (as `benchmarks.recall` reads them), nDCG@10 of the lexical score before the gate, in all and
by halves of the queries (every second one), with the fitted parameters and with one of them changed at a time.
A choice counts where both halves of most sets agree. The rows of a query are gathered once, for no parameter moves
them; of a set with more than N queries, N are taken, evenly (300; that takes a minute or two).
"""

import argparse
import asyncio
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from benchmarks.recall import bank_of, rows_by_document
from benchmarks.retrieval import DEPTH, Asked, Judged, collections, ndcg
from mcp_reflect.models.common import Scope
from mcp_reflect.storage.retrieval.lexical import FITTED, Parameters, Question, gathered, matched
from mcp_reflect.storage.sqlite.database import Database
from mcp_reflect.storage.sqlite.statements import Reading

GRID: Final[dict[str, tuple[float, ...]]] = {
    "k1": (0.4, 0.6, 0.9, 1.2),
    "b": (0.3, 0.6, 0.75, 1.0),
    "stop": (0.0, 0.2, 0.6),
    "trigrams": (0.0, 0.5, 0.8, 1.4),
    "trigram_rows": (15, 60),
    "feedback": (0.0, 0.3, 0.8),
    "feedback_rows": (1, 5),
    "feedback_terms": (5, 20),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--queries", type=int, default=300, help="how many of a set are taken at most")
    given = parser.parse_args()
    sets = collections(given.data)
    if not sets:
        print("no data: there is no folder with docs.jsonl and queries.jsonl", file=sys.stderr)
        return 2
    asyncio.run(fit(sets, given.queries))
    return 0


async def fit(sets: Sequence[Judged], queries: int = 300) -> None:
    """Print a line for each setting, from at most so many `queries` of each set."""
    columns = [await _column(one, queries) for one in sets]
    print(f"{'':22}" + "".join(f"{one.name:>26}" for one in sets))
    for (name, _), *cells in zip(_settings(), *columns, strict=True):
        print(f"{name:22}" + "".join(f"{cell:>26}" for cell in cells), flush=True)


def _settings() -> Iterator[tuple[str, Parameters]]:
    yield "fitted", FITTED
    for name, values in GRID.items():
        for value in values:
            yield f"{name} {value}", replace(FITTED, **{name: value})


async def _column(one: Judged, queries: int) -> list[str]:
    """The figures of a set for every setting."""
    asked = one.queries[:: max(1, math.ceil(len(one.queries) / queries))]
    async with bank_of(one.documents) as engine:
        database, scope = Database(engine.bank.path), engine.scopes.own
        try:
            names = await rows_by_document(database, scope)
            gains = await database.look(lambda reading: [_gains(reading, scope, query, names) for query in asked])
        finally:
            await database.close()
    return [_cell([gain[place] for gain in gains]) for place in range(len(gains[0]))]


def _gains(reading: Reading, scope: Scope, query: Asked, names: dict[int, str]) -> list[float]:
    """nDCG@10 of one query for every setting."""
    found = gathered(reading, scope, Question(query.text))
    tops = [matched(found, parameters)[:DEPTH] if found else [] for _, parameters in _settings()]
    return [ndcg([names[match.row] for match in top], query.relevant) for top in tops]


def _cell(gains: Sequence[float]) -> str:
    """The mean, and the means of the halves."""
    means = [sum(half) / max(1, len(half)) for half in (gains, gains[::2], gains[1::2])]
    return f"{means[0]:.4f} ({means[1]:.3f} {means[2]:.3f})"


if __name__ == "__main__":
    sys.exit(main())
