"""What each part of the score is worth: python -m benchmarks.fit --data DIR [--queries N] [--lessons].

For every set in DIR (as `benchmarks.recall` reads them), nDCG@10 of the score with the fitted weights, and with one
of them changed at a time. The last column is the mean over all sets, and the two lines at the end say which setting
of this list is best for the other sets when one set is left out, and what it gives on that one. Candidates are
searched once for each query, for no weight changes them; of a set with more than N queries, N are taken, evenly.

`--lessons` takes our own sets in place of DIR, each by its near words and by its symptoms: there `behind`,
`in_words`, `behind_alone` and `few_words` were fitted.
"""

import argparse
import asyncio
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from benchmarks.recall import CASES, OWN_SETS, among_others, engine_over, lesson_line
from benchmarks.retrieval import DEPTH, Judged, Query, collections, lines, ndcg
from mcp_reflect.models.common import Scope
from mcp_reflect.models.recall import RecallQuery
from mcp_reflect.storage.repository import Reading
from mcp_reflect.storage.retrieval.scoring import FITTED, Search, Weights
from mcp_reflect.storage.retrieval.sign_index import VectorIndex
from mcp_reflect.storage.retrieval.vectors import words_query
from mcp_reflect.storage.sqlite.database import SqliteDatabase

GRID: Final[dict[str, tuple[float, ...]]] = {
    "k1": (0.4, 1.2),
    "b": (0.3, 0.6, 0.75),
    "stop": (0.0, 0.2, 0.6),
    "closeness": (0.0, 0.3, 0.5, 0.75, 1.25, 1.5),
    "plain_length": (10.0, 20.0, 1_000.0),
    "behind": (0.0, 0.125, 0.5),
    "in_words": (0.1, 0.15, 0.2),
    "behind_alone": (0.25, 0.75, 2.0),
    "few_words": (0.15, 0.35),
    "said": (0.0, 0.25, 0.5),
    "apart": (0.0, 0.1, 0.3),
    "feedback": (0.0, 0.4, 0.6, 0.8, 1.2),
    "feedback_rows": (1, 3, 5),
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument(
        "--queries", type=int, default=300, help="how many of a set are taken at most"
    )
    parser.add_argument("--lessons", action="store_true", help="our own lessons in place of DIR")
    arguments = parser.parse_args()
    if arguments.lessons:
        sets = [one for name in OWN_SETS for one in own_sets(name)]
    else:
        sets = [_as_lessons(judged) for judged in collections(arguments.data)]
    if not sets:
        print("no data: there is no folder with docs.jsonl and queries.jsonl", file=sys.stderr)
        return 2
    asyncio.run(fit(sets, arguments.queries))
    return 0


@dataclass(frozen=True, slots=True)
class Lessons:
    """A bank as lines of an import, and the queries that are asked of it."""

    name: str
    bank: Sequence[dict[str, Any]]
    queries: Sequence[Query]


def own_sets(name: str) -> list[Lessons]:
    """Return a set of our own lessons asked for in near words, and by their symptoms."""
    wanted = lines(CASES / f"{name}.jsonl")
    bank = among_others(wanted)
    return [
        Lessons(
            f"{name.removeprefix('recall_lessons')} {kind}".lstrip(" _"),
            bank,
            [Query(line["id"], line[kind], frozenset([line["id"]])) for line in wanted],
        )
        for kind in ("near", "symptom")
    ]


def _as_lessons(judged: Judged) -> Lessons:
    """Return a judged set as the lessons that `benchmarks.recall` makes of its documents."""
    return Lessons(judged.name, [lesson_line(one) for one in judged.documents], judged.queries)


async def fit(sets: Sequence[Lessons], queries: int = 300) -> None:
    """Print a line for each setting, from at most so many `queries` of each set."""
    settings = [("fitted", FITTED)]
    settings += [
        (f"{name} {value}", replace(FITTED, **{name: value}))
        for name, some in GRID.items()
        for value in some
    ]
    columns = [
        await _column(judged, queries, [weights for _, weights in settings]) for judged in sets
    ]
    print(f"{'':18}" + "".join(f"{judged.name:>14}" for judged in sets) + f"{'mean':>14}")
    rows = list(zip(*columns, strict=True))
    for (name, _), cells in zip(settings, rows, strict=True):
        print(
            f"{name:18}" + "".join(f"{cell:14.4f}" for cell in (*cells, sum(cells) / len(cells))),
            flush=True,
        )
    for place, judged in enumerate(sets):
        others = [sum(cells) - cells[place] for cells in rows]
        best = max(range(len(others)), key=others.__getitem__)
        print(
            f"without {judged.name}: best is {settings[best][0]}, which gives it {rows[best][place]:.4f}"
        )


async def _column(judged: Lessons, queries: int, settings: Sequence[Weights]) -> list[float]:
    """The figures of a set for every setting."""
    some = judged.queries[:: max(1, math.ceil(len(judged.queries) / queries))]
    async with engine_over(judged.bank) as engine:
        database, scope = SqliteDatabase(engine.bank.path), engine.scopes.own
        try:
            names = await rows_by_document(database, scope)
            gains = await database.look(
                scope.tenant,
                lambda reading: [_gains(reading, scope, query, names, settings) for query in some],
            )
        finally:
            await database.close()
    return [sum(column) / len(some) for column in zip(*gains, strict=True)]


def _gains(
    reading: Reading, scope: Scope, query: Query, names: dict[int, str], settings: Sequence[Weights]
) -> list[float]:
    """nDCG@10 of one query for every setting."""
    vectors = [vector for vector in (words_query(query.text),) if vector]
    search = Search(
        reading, scope, RecallQuery(task=query.text, limit=DEPTH), vectors, VectorIndex()
    )
    return [
        ndcg([names[match.row] for match in search.matches(weights)[:DEPTH]], query.relevant)
        for weights in settings
    ]


async def rows_by_document(database: SqliteDatabase, scope: Scope) -> dict[int, str]:
    """Return the id of the document that each row of a bank was made of."""
    page = {"held": 0, "kind": None, "state": None, "limit": 10**9, "offset": 0}
    rows = await database.rows(
        "lesson_list", {"tenant": scope.tenant, "project": scope.project, **page}
    )
    return {row["row"]: row["external_id"] for row in rows}


if __name__ == "__main__":
    sys.exit(main())
