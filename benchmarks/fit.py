"""What each parameter of the score is worth: python -m benchmarks.fit --data DIR.

For every set in DIR (as `benchmarks.recall` reads them), nDCG@10 of the lexical score before the gate, in all and
by halves of the queries (every second one), with the fitted parameters and with one of them changed at a time.
A choice counts where both halves of most sets agree.
"""

import argparse
import asyncio
import sys
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final

from benchmarks.recall import bank_of, rows_by_document
from benchmarks.retrieval import DEPTH, Judged, collections, ndcg
from mcp_reflect.bank.lexical import Question, matches
from mcp_reflect.bank.scoring import FITTED, Parameters
from mcp_reflect.bank.sqlite.database import Database
from mcp_reflect.records.scope import Scope

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
    sets = collections(parser.parse_args().data)
    if not sets:
        print("no data: there is no folder with docs.jsonl and queries.jsonl", file=sys.stderr)
        return 2
    asyncio.run(fit(sets))
    return 0


async def fit(sets: Sequence[Judged]) -> None:
    """Print a line for each setting."""
    async with AsyncExitStack() as stack:
        banks = [(one, await stack.enter_async_context(bank_of(one.documents))) for one in sets]
        print(f"{'':22}" + "".join(f"{one.name:>26}" for one in sets))
        for name, parameters in _settings():
            cells: list[str] = []
            for one, engine in banks:
                database = Database(engine.bank.path)
                try:
                    cells.append(await _cell(database, engine.scopes.own, one, parameters))
                finally:
                    await database.close()
            print(f"{name:22}" + "".join(f"{cell:>26}" for cell in cells), flush=True)


def _settings() -> Iterator[tuple[str, Parameters]]:
    yield "fitted", FITTED
    for name, values in GRID.items():
        for value in values:
            yield f"{name} {value}", replace(FITTED, **{name: value})


async def _cell(database: Database, scope: Scope, one: Judged, parameters: Parameters) -> str:
    names = await rows_by_document(database, scope)
    halves: tuple[list[float], list[float]] = ([], [])
    found = await database.look(
        lambda reading: [matches(reading, scope, Question(query.text), parameters)[:DEPTH] for query in one.queries]
    )
    for place, (query, top) in enumerate(zip(one.queries, found, strict=True)):
        halves[place % 2].append(ndcg([names[match.row] for match in top], query.relevant))
    parts = [sum(half) / max(1, len(half)) for half in halves]
    return f"{sum(map(sum, halves)) / len(one.queries):.4f} ({parts[0]:.3f} {parts[1]:.3f})"


if __name__ == "__main__":
    sys.exit(main())
