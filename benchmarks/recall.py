"""How well recall finds what fits, and stays silent where nothing does: python -m benchmarks.recall --data DIR.

For DIR, or each folder in it (or in its `recall`), with docs.jsonl `{id, text}` and queries.jsonl `{id, text,
relevant[]}`: the documents are imported as lessons (the first sentence as the mistake, the rest as the
correction), and every query is a recall_lessons call for ten. A line of figures for each set: nDCG@10,
recall@5, recall@10, MRR, the part of empty answers, and milliseconds a call. `--typed` gives the type of task
with documents and queries, where the set has one. `--embed` names an embedder as MCP_REFLECT_EMBEDDINGS does;
then a line says how long a text takes.

Then, with more than one set, who is answered: tasks of each set against each bank (`empty` is the part that
gets an empty list), with tasks whose documents were left out of their own set's bank as `unknown`, and the
same over the height of the gate.
"""

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.retrieval import DEPTH, Asked, Document, Judged, collections, ndcg, recall, reciprocal_rank
from mcp_reflect.config import Settings
from mcp_reflect.models.common import Scope
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.recalls import NEAR
from mcp_reflect.storage.retrieval.candidates import Meant, fused
from mcp_reflect.storage.retrieval.lexical import BAR, Match, Question, gate_for, matches
from mcp_reflect.storage.sqlite.database import Database
from mcp_reflect.storage.sqlite.statements import Reading

PASSAGE: Final = 5_000  # characters that a mistake or a correction may have
BARS: Final = (0.4, 0.6, 0.8, 0.9, BAR, 1.1, 1.2, 1.4, 1.7, 2.0)
STRANGERS: Final = 200  # tasks of another set that are tried on a bank


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--typed", action="store_true", help="give the task's type, where the set has one")
    parser.add_argument("--embed", metavar="EMBEDDER", default="off", help="what MCP_REFLECT_EMBEDDINGS says")
    given = parser.parse_args()
    sets = collections(given.data)
    if not sets:
        print(f"no data: neither {given.data} nor a folder in it has docs.jsonl and queries.jsonl", file=sys.stderr)
        return 2
    asyncio.run(measure(sets, typed=given.typed, embed=given.embed))
    return 0


async def measure(sets: Sequence[Judged], *, typed: bool, embed: str = "off") -> None:
    """Print the figures of each set, then who is answered by whose bank."""
    shown: list[dict[str, Any]] = []
    for one in sets:
        async with bank_of(one.documents, typed=typed, embed=embed) as engine:
            print(json.dumps(await figures(engine, one, typed=typed)), flush=True)
            shown.extend(await answered(engine, one, sets))
        shown.append(await _unknown(one, embed))
    for line in shown:
        print(json.dumps(line), flush=True)


@asynccontextmanager
async def bank_of(documents: Sequence[Document], *, typed: bool = False, embed: str = "off") -> AsyncGenerator[Engine]:
    """An engine over a new bank with these documents, imported as `mcp-reflect import` does, and embedded."""
    with TemporaryDirectory() as folder:
        named: dict[str, Any] = {"embeddings": embed, "embeddings_seconds": 60.0, "provider_env": dict(os.environ)}
        async with Engine(Settings(bank=Path(folder) / "bank.db", project="benchmark", **named)) as engine:
            numbered = [(place, lesson_line(document, typed=typed)) for place, document in enumerate(documents, 1)]
            async for _ in engine.import_lessons(engine.import_drafts(numbered)):
                pass
            await _embedded(engine)
            yield engine


async def _embedded(engine: Engine) -> None:
    """Give every lesson its vector, where an embedder is named; say how long one takes."""
    meaning = engine.bank.vectors
    if meaning is None:
        return
    start, cpu = time.perf_counter(), time.process_time()
    total = sum([done async for done in meaning.caught_up()])
    if meaning.problem:
        raise SystemExit(meaning.problem)
    each = {"ms": (time.perf_counter() - start) / max(1, total), "cpu_ms": (time.process_time() - cpu) / max(1, total)}
    print(json.dumps({"embedded": total, **{name: round(1000 * one, 1) for name, one in each.items()}}), flush=True)


def lesson_line(document: Document, *, typed: bool = False) -> dict[str, Any]:
    """A document as a line of an import."""
    head, sign, tail = document.text.partition(". ")
    if not tail.strip():
        head, sign, tail = document.text, "", "-"
    line = {"mistake": (head + sign.strip())[:PASSAGE], "correction": tail[:PASSAGE], "external_id": document.id}
    return {**line, "task_type": document.type} if typed and document.type else line


async def figures(engine: Engine, one: Judged, *, typed: bool) -> dict[str, Any]:
    """Means over the queries of a set; times are of the clock, so they want a quiet machine."""
    sums = dict.fromkeys(("ndcg@10", "recall@5", "recall@10", "mrr", "empty"), 0.0)
    took: list[float] = []
    for query in one.queries:
        more = {"task_type": query.type} if typed and query.type else {}
        start = time.perf_counter()
        answer = await engine.recall(task=query.text, limit=DEPTH, max_chars=100_000, **more)
        took.append(1000 * (time.perf_counter() - start))
        found = [str(hit.external_id) for hit in answer.lessons]
        sums["ndcg@10"] += ndcg(found, query.relevant)
        sums["recall@5"] += recall(found[:5], query.relevant)
        sums["recall@10"] += recall(found, query.relevant)
        sums["mrr"] += reciprocal_rank(found, query.relevant)
        sums["empty"] += not found
    took.sort()
    means = {name: round(total / len(one.queries), 4) for name, total in sums.items()}
    times = {f"ms_p{part}": round(took[min(len(took) - 1, len(took) * part // 100)], 2) for part in (50, 95)}
    return {"set": one.name, "typed": typed, "documents": len(one.documents), "queries": len(took), **means, **times}


async def answered(engine: Engine, bank: Judged, sets: Sequence[Judged]) -> list[dict[str, Any]]:
    """Who gets an answer from a bank, over the height of the gate.

    Of its own set's tasks, the part of relevant hits among the first ten that the gate keeps; of those of other
    sets, the part that gets an empty list.
    """
    database = Database(engine.bank.path)
    try:
        found = {one.name: await _found(database, engine, one.queries, own=one is bank) for one in sets}
        rows = await rows_by_document(database, engine.scopes.own)
    finally:
        await database.close()
    lines: list[dict[str, Any]] = []
    for bar in BARS:
        line: dict[str, Any] = {"bank": bank.name, "bar": bar}
        for one in sets:
            if one is bank:
                line["own_hits_kept"] = _kept(found[one.name], rows, bar)
            else:
                line[f"empty_for_{one.name}"] = _empty([top for _, top in found[one.name]], bar)
        lines.append(line)
    return lines


Tops = list[tuple[Asked, list[Match]]]


async def _found(database: Database, engine: Engine, queries: Sequence[Asked], *, own: bool) -> Tops:
    """The ten best rows for each query, before the gate."""
    scope, meaning = engine.scopes.own, engine.bank.vectors
    tops: Tops = []
    for query in queries[:: 1 if own else max(1, len(queries) // STRANGERS)]:
        meant = await meaning.ask(scope, query.text, NEAR) if meaning else None
        tops.append((query, (await database.look(partial(_matched, scope, query.text, meant)))[:DEPTH]))
    return tops


def _matched(scope: Scope, text: str, meant: Meant | None, reading: Reading) -> list[Match]:
    """The rows as recall has them before the gate."""
    found = matches(reading, scope, Question(text))
    return fused(found, meant.beside(reading, [match.row for match in found])) if meant else found


async def rows_by_document(database: Database, scope: Scope) -> dict[int, str]:
    """The id of the document that each row of a bank was made of."""
    page = {"held": 0, "kind": None, "state": None, "limit": 10**9, "offset": 0}
    rows = await database.rows("lesson_list", {"tenant": scope.tenant, "project": scope.project, **page})
    return {row["row"]: row["external_id"] for row in rows}


def _kept(tops: Tops, names: dict[int, str], bar: float) -> float:
    all_hits = kept = 0
    for query, top in tops:
        gate = gate_for(top, bar)
        hits = [match for match in top if names[match.row] in query.relevant]
        all_hits += len(hits)
        kept += sum(map(gate.lets_in, hits))
    return round(kept / max(1, all_hits), 4)


def _empty(tops: Sequence[Sequence[Match]], bar: float) -> float:
    silent = sum(not any(map(gate_for(top, bar).lets_in, top)) for top in tops)
    return round(silent / max(1, len(tops)), 4)


async def _unknown(one: Judged, embed: str) -> dict[str, Any]:
    """The part of a set's tasks that get an empty list where their documents are not in the bank.

    The documents of a tenth of the tasks are left out, with all that is relevant to the same tasks.
    """
    asked = one.queries[:: max(1, len(one.queries) // max(1, min(20, len(one.queries) // 10)))]
    gone = frozenset[str]().union(*(query.relevant for query in asked))
    async with bank_of([document for document in one.documents if document.id not in gone], embed=embed) as engine:
        answers = [await engine.recall(task=query.text, max_chars=100_000) for query in asked]
    empty = sum(not answer.lessons for answer in answers) / max(1, len(asked))
    return {"bank": one.name, "unknown_topics": len(asked), "left_out": len(gone), "empty": round(empty, 4)}


if __name__ == "__main__":
    sys.exit(main())
