"""How well recall finds what fits, by default settings: python -m benchmarks.recall --data DIR.

For DIR, or each folder in it (or in its `recall`), with docs.jsonl `{id, text}` and queries.jsonl `{id, text,
relevant[]}`: the documents are imported as lessons (the first sentence as the mistake, the rest as the correction),
and every query is a recall_lessons call for ten. A line for each set: nDCG@10, recall@5, recall@10, MRR, the part of
queries with a strong hit, the part of strong hits that are relevant, and milliseconds a call. `--typed` gives the
type of task, where the set has one. `--embed` names an embedder as MCP_REFLECT_EMBEDDINGS does.

With more than one set, a line for each pair: the part of the tasks of one set that get a strong hit from the bank of
another.

`--lessons` asks for each of two sets of lessons in tests/storage/cases in near words and by a symptom, among others,
and for tasks that have nothing to do with the bank. Both were written without sight of the ranking. A line has their
sum. The last two say how many lessons unrelated tasks draw from a bank of mixed lessons, by default settings.
"""

import argparse
import asyncio
import json
import os
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.retrieval import (
    DEPTH,
    Document,
    Judged,
    collections,
    lines,
    ndcg,
    recall,
    reciprocal_rank,
)
from mcp_reflect.config import Settings
from mcp_reflect.llm.embedders import Embedder
from mcp_reflect.services.engine import Engine

PASSAGE: Final = 5_000  # characters that a mistake or a correction may have
STRANGERS: Final = 200  # tasks of another set that are tried on a bank
CASES: Final = Path(__file__).parents[1] / "tests" / "storage" / "cases"
OWN_SETS: Final = ("recall_lessons", "recall_lessons_second", "recall_lessons_third")
FIRST: Final = 5


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument(
        "--typed", action="store_true", help="give the task's type, where the set has one"
    )
    parser.add_argument(
        "--embed", metavar="EMBEDDER", default="words", help="the value of MCP_REFLECT_EMBEDDINGS"
    )
    parser.add_argument("--lessons", action="store_true", help="our own lessons in place of DIR")
    arguments = parser.parse_args()
    if arguments.lessons:
        total: Counter[str] = Counter()
        for name in OWN_SETS:
            counts = asyncio.run(own_lessons(name, arguments.embed))
            print(json.dumps({"set": name, **counts}), flush=True)
            total.update(counts)
        print(json.dumps({"set": "both", **total}))
        for half in ("worked on", "kept aside"):
            print(
                json.dumps(
                    {"unrelated": half, **asyncio.run(unrelated_hits(half, arguments.embed))}
                )
            )
        return 0
    sets = collections(arguments.data)
    if not sets:
        print(
            f"no data: neither {arguments.data} nor a folder in it has docs.jsonl and queries.jsonl",
            file=sys.stderr,
        )
        return 2
    asyncio.run(measure(sets, typed=arguments.typed, embed=arguments.embed))
    return 0


async def measure(sets: Sequence[Judged], *, typed: bool, embed: str = "words") -> None:
    """Print the figures of each set, then how often the tasks of other sets get a strong hit."""
    foreign: list[dict[str, Any]] = []
    for judged in sets:
        async with bank_of(judged.documents, typed=typed, embed=embed) as engine:
            print(json.dumps(await figures(engine, judged, typed=typed)), flush=True)
            foreign += [
                await _strangers(engine, judged, other) for other in sets if other is not judged
            ]
    for line in foreign:
        print(json.dumps(line), flush=True)


@asynccontextmanager
async def bank_of(
    documents: Sequence[Document], *, typed: bool = False, embed: str = "words"
) -> AsyncGenerator[Engine]:
    """Open an engine over a new bank with these documents, imported as `mcp-reflect import` does."""
    async with engine_over(
        [lesson_line(document, typed=typed) for document in documents], embed
    ) as engine:
        yield engine


@asynccontextmanager
async def engine_over(
    lessons: Sequence[dict[str, Any]], embed: str | Embedder = "words"
) -> AsyncGenerator[Engine]:
    """Open an engine over a new bank with these lines of an import, all of them embedded."""
    with TemporaryDirectory() as folder:
        settings = Settings(bank=Path(folder) / "bank.db", project="benchmark", **options_of(embed))
        async with Engine(settings, embedder=opened(embed)) as engine:
            async for _ in engine.import_lessons(enumerate(lessons, 1)):
                pass
            await embed_all(engine)
            yield engine


def opened(embed: str | Embedder) -> Embedder | None:
    """Return the embedder that is open already, None where the settings name one."""
    return None if isinstance(embed, str) else embed


def options_of(embed: str | Embedder) -> dict[str, Any]:
    """Return the settings of a bank with an embedder: what is found is measured, not who is in time."""
    return {
        "embeddings": embed if isinstance(embed, str) else "words",
        "embeddings_seconds": 600.0,
        "provider_env": dict(os.environ),
    }


async def embed_all(engine: Engine) -> None:
    """Give every lesson its vector, where an embedder is named; say how long one takes."""
    embeddings = engine.bank.embeddings
    if embeddings is None:
        return
    start, cpu = time.perf_counter(), time.process_time()
    total = sum([done async for done in embeddings.embed_all()])
    if embeddings.embedder.problem:
        raise SystemExit(embeddings.embedder.problem)
    each = {
        "ms": (time.perf_counter() - start) / max(1, total),
        "cpu_ms": (time.process_time() - cpu) / max(1, total),
    }
    print(
        json.dumps(
            {"embedded": total, **{name: round(1000 * value, 1) for name, value in each.items()}}
        ),
        flush=True,
    )


def lesson_line(document: Document, *, typed: bool = False) -> dict[str, Any]:
    """A document as a line of an import."""
    head, sign, tail = document.text.partition(". ")
    if not tail.strip():
        head, sign, tail = document.text, "", "-"
    line = {
        "mistake": (head + sign.strip())[:PASSAGE],
        "correction": tail[:PASSAGE],
        "external_id": document.id,
    }
    return {**line, "task_type": document.type} if typed and document.type else line


async def figures(engine: Engine, judged: Judged, *, typed: bool) -> dict[str, Any]:
    """Means over the queries of a set; times are of the clock, so they want a quiet machine."""
    sums = dict.fromkeys(("ndcg@10", "recall@5", "recall@10", "mrr", "with_strong"), 0.0)
    strong = relevant = 0
    took: list[float] = []
    for query in judged.queries:
        more = {"task_type": query.type} if typed and query.type else {}
        start = time.perf_counter()
        answer = await engine.recall(task=query.text, limit=DEPTH, max_chars=100_000, **more)
        took.append(1000 * (time.perf_counter() - start))
        ids = [str(hit.external_id) for hit in answer.lessons]
        sure = [str(hit.external_id) for hit in answer.lessons if hit.fit == "strong"]
        strong, relevant = strong + len(sure), relevant + len(query.relevant.intersection(sure))
        sums["ndcg@10"] += ndcg(ids, query.relevant)
        sums["recall@5"] += recall(ids[:FIRST], query.relevant)
        sums["recall@10"] += recall(ids, query.relevant)
        sums["mrr"] += reciprocal_rank(ids, query.relevant)
        sums["with_strong"] += bool(sure)
    took.sort()
    means = {name: round(total / len(judged.queries), 4) for name, total in sums.items()}
    times = {
        f"ms_p{part}": round(took[min(len(took) - 1, len(took) * part // 100)], 2)
        for part in (50, 95)
    }
    head = {
        "set": judged.name,
        "typed": typed,
        "documents": len(judged.documents),
        "queries": len(took),
    }
    return {**head, **means, "strong_relevant": round(relevant / max(1, strong), 4), **times}


async def _strangers(engine: Engine, bank: Judged, other: Judged) -> dict[str, Any]:
    """The part of another set's tasks that get a strong hit."""
    tasks = other.queries[:: max(1, len(other.queries) // STRANGERS)]
    strong = [await _strong(engine, query.text) for query in tasks]
    return {
        "bank": bank.name,
        "tasks": other.name,
        "with_strong": round(sum(strong) / max(1, len(strong)), 4),
    }


async def _strong(engine: Engine, task: str) -> bool:
    answer = await engine.recall(task=task, limit=DEPTH, max_chars=100_000)
    return any(hit.fit == "strong" for hit in answer.lessons)


def among_others(wanted: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the lessons of a set among the two hundred others, as lines of an import."""
    return [
        {"mistake": line["mistake"], "correction": line["correction"], "external_id": line["id"]}
        for line in (*wanted, *lines(CASES / "recall_others.jsonl"))
    ]


async def own_lessons(lessons: str, embed: str | Embedder = "words") -> dict[str, int]:
    """How many lessons of a set are first, and among the first five, by near words and by a symptom.

    Then how many of the tasks that have nothing to do with the bank get no strong hit.
    """
    wanted = lines(CASES / f"{lessons}.jsonl")
    bank = among_others(wanted)
    tasks = [line["task"] for line in lines(CASES / "recall_foreign_tasks.jsonl")]
    counts = {"lessons": len(wanted), "among": len(bank)}
    async with engine_over(bank, embed) as engine:
        for kind in ("near", "symptom"):
            hits = [
                (
                    line["id"],
                    (await engine.recall(task=line[kind], limit=FIRST, max_chars=10_000)).lessons,
                )
                for line in wanted
            ]
            own = [[hit.external_id for hit in some] for _, some in hits]
            counts[f"{kind}_first"] = sum(
                ids[:1] == [name] for (name, _), ids in zip(hits, own, strict=True)
            )
            counts[f"{kind}_in_{FIRST}"] = sum(
                name in ids for (name, _), ids in zip(hits, own, strict=True)
            )
            counts[f"{kind}_strong"] = sum(
                any(hit.external_id == name and hit.fit == "strong" for hit in some)
                for name, some in hits
            )
        silent = [not await _strong(engine, task) for task in tasks]
    return {**counts, "foreign": len(tasks), "foreign_without_strong": sum(silent)}


async def unrelated_hits(half: str, embed: str | Embedder = "words") -> dict[str, int]:
    """How many lessons of a mixed bank half of the unrelated tasks draw, and how its own tasks in other words do."""
    wanted = lines(CASES / "recall_mixed_lessons.jsonl")
    tasks = [
        line["task"]
        for line in lines(CASES / "recall_unrelated_tasks.jsonl")
        if line["half"] == half
    ]
    bank = [
        {name: line[name] for name in ("mistake", "correction")} | {"external_id": line["id"]}
        for line in wanted
    ]
    async with engine_over(bank, embed) as engine:
        drawn = [hit for task in tasks for hit in (await engine.recall(task=task)).lessons]
        own = [(line["id"], (await engine.recall(task=line["near"])).lessons) for line in wanted]
    found = [next((hit for hit in hits if hit.external_id == name), None) for name, hits in own]
    return {
        "tasks": len(tasks),
        "hits": len(drawn),
        "strong": sum(hit.fit == "strong" for hit in drawn),
        "lessons": len(wanted),
        "found": sum(hit is not None for hit in found),
        "found_strong": sum(hit is not None and hit.fit == "strong" for hit in found),
    }


if __name__ == "__main__":
    sys.exit(main())
