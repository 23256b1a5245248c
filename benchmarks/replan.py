"""How well the mechanical plan finds what an empty search missed, and what a call costs.

    python -m benchmarks.replan --data DIR [--mode NAME]
    python -m benchmarks.replan --failed        (see `failed_searches`; needs no data folder)

Each record is one search that found nothing, planned once: at most three new queries, run against a
full-text index (SQLite FTS5, porter stemming, BM25) that takes any word (OR) or asks for all (AND), with
and without the index's words in the catalog. The planner is not told which engine it plans for; `--mode`
is the name of the one mode in the catalog, and no common name changes the figures much.

Merging: each row counts with the best BM25 score that any of the plan's queries gave it, and rows are read
from the best down. `turns` reads a row of each query in turn instead. `halves` are the first figure of the
set (recall@10, of react_titles recall@5) over the records whose id's CRC-32 is even, and over the others.

Times of a plan are of the processor, in milliseconds; the first plan over a word list indexes it (ms_max).
The last lines are calls of the tool through the engine, with a bank on disk (see `replan_calls`).
"""

import argparse
import json
import re
import sqlite3
import sys
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from benchmarks.replan_calls import Call, calls
from benchmarks.retrieval import DEPTH, lines, ndcg, recall
from mcp_reflect.models.search import CatalogEntry, Query, SearchRequest, SearchState
from mcp_reflect.replan import attempts
from mcp_reflect.replan.failed_search import MOST_QUERIES
from mcp_reflect.replan.planner import plan
from tests.replan.failed_searches import measure as measure_failed

Operator = Literal["OR", "AND"]
_WORD = re.compile(r"[^\W_]+")
_MODE = "search"


@dataclass(frozen=True)
class Record:
    """An empty search: what was asked, what was searched, what the tool suggested, what would have been right."""

    id: str
    message: str
    text: str
    suggestions: tuple[str, ...]
    relevant: frozenset[str]


class Index:
    """Documents in memory. `words` is what a catalog would list."""

    def __init__(self, documents: Sequence[dict[str, str]]) -> None:
        self._connection = sqlite3.connect(":memory:")
        self._connection.execute(
            "CREATE VIRTUAL TABLE d USING fts5(id UNINDEXED, text, tokenize='porter unicode61 remove_diacritics 2')"
        )
        self._connection.executemany(
            "INSERT INTO d VALUES (?, ?)", [(doc["id"], doc["text"]) for doc in documents]
        )
        self.words = tuple(
            sorted({word for doc in documents for word in _WORD.findall(doc["text"].lower())})
        )

    def __del__(self) -> None:
        self._connection.close()

    def search(self, query: Query, operator: Operator) -> list[tuple[str, float]]:
        """Rows with their scores, higher is better."""
        words = [f'"{word}"' for word in _WORD.findall(query.query_text)]
        if not words:
            return []
        sql = "SELECT id, -bm25(d) FROM d WHERE d MATCH ? ORDER BY bm25(d), id LIMIT ?"
        rows = self._connection.execute(sql, (f" {operator} ".join(words), query.limit or DEPTH))
        return [(row[0], row[1]) for row in rows]


@dataclass
class Tally:
    """Sums over records; `figures` are the means."""

    records: int = 0
    depth: int = DEPTH
    recall5: float = 0.0
    recall10: float = 0.0
    ndcg10: float = 0.0
    turns: float = 0.0
    halves: list[list[float]] = field(default_factory=lambda: [[], []])
    zero: int = 0
    repeats: int = 0
    queries: int = 0
    seconds: list[float] = field(default_factory=list[float])

    def add(self, record: Record, lists: Sequence[Sequence[tuple[str, float]]]) -> None:
        found, relevant = merge(lists), record.relevant
        self.records += 1
        self.turns += recall(in_turns(lists)[: self.depth], relevant)
        self.halves[zlib.crc32(record.id.encode()) % 2].append(
            recall(found[: self.depth], relevant)
        )
        self.recall5 += recall(found[:5], relevant)
        self.recall10 += recall(found[:DEPTH], relevant)
        self.ndcg10 += ndcg(found, relevant)
        self.zero += not found

    def figures(self) -> dict[str, float | int | list[float]]:
        count = max(1, self.records)
        return {
            "records": self.records,
            "recall@5": round(self.recall5 / count, 4),
            "recall@10": round(self.recall10 / count, 4),
            "ndcg@10": round(self.ndcg10 / count, 4),
            f"turns@{self.depth}": round(self.turns / count, 4),
            "halves": [round(sum(half) / max(1, len(half)), 4) for half in self.halves],
            "still_zero": round(self.zero / count, 4),
            "repeats": self.repeats,
            "queries": round(self.queries / count, 2),
            "ms_median": round(1000 * sorted(self.seconds)[len(self.seconds) // 2], 3),
            "ms_p95": round(1000 * sorted(self.seconds)[int(0.95 * len(self.seconds))], 3),
            "ms_max": round(1000 * max(self.seconds), 3),
        }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--mode", default=_MODE)
    parser.add_argument(
        "--failed", action="store_true", help="searches that failed for one reason each"
    )
    sent = parser.parse_args()
    if sent.failed:
        for line in measure_failed():
            print(json.dumps(line), flush=True)
        return 0
    data: Path = sent.data
    if not (data / "replan").is_dir():
        print(f"no data: {data / 'replan'} is not a folder", file=sys.stderr)
        return 2
    for line in chain(measure(data, sent.mode), measure_calls(data, sent.mode)):
        print(json.dumps(line), flush=True)
    return 0


@dataclass(frozen=True)
class Task:
    """A set of records over an index; `depth` is where its first figure is read."""

    name: str
    records: Sequence[Record]
    index: Index
    depth: int


def tasks(data: Path) -> tuple[Task, ...]:
    """The sets of empty searches. Those of cranfield are the questions that find nothing where all words must match."""
    banking = list(_banking(lines(data / "replan/banking77_zero.jsonl")))
    titles = list(_titles(lines(data / "replan/react_titles_queries.jsonl")))
    abstracts = Index(lines(data / "recall/cranfield/docs.jsonl"))
    questions = _banking(lines(data / "recall/cranfield/queries.jsonl"))
    cranfield = [record for record in questions if not abstracts.search(_any(record.text), "AND")]
    return (
        Task("cranfield_zero", cranfield, abstracts, DEPTH),
        Task("banking77_zero", banking, Index(lines(data / "recall/banking77/docs.jsonl")), DEPTH),
        Task("react_titles", titles, Index(lines(data / "replan/react_titles_docs.jsonl")), 5),
    )


def measure(data: Path, mode: str = _MODE) -> Iterator[dict[str, object]]:
    """One line of figures for each set, engine and catalog."""
    for task in tasks(data):
        with_suggestions = (
            (False, True) if any(record.suggestions for record in task.records) else (False,)
        )
        for suggestions in with_suggestions:
            for operator in ("OR", "AND"):
                for words in (False, True):
                    tally = run(task, operator, mode, words=words, suggestions=suggestions)
                    setting = {
                        "set": task.name,
                        "engine": operator,
                        "vocabulary": words,
                        "suggestions": suggestions,
                    }
                    yield {**setting, **tally.figures()}


def measure_calls(data: Path, mode: str = _MODE) -> Iterator[dict[str, object]]:
    """One line of times for each set, of calls with its vocabulary in the catalog."""
    for task in tasks(data):
        entry = {"table": "documents", "search_modes": [mode], "vocabulary": list(task.index.words)}
        sent = [
            Call(record.message, {**_query(record, mode), "table": "documents"})
            for record in task.records
        ]
        yield {"set": task.name, "words": len(task.index.words), **calls(sent, [entry])}


def run(task: Task, operator: Operator, mode: str, *, words: bool, suggestions: bool) -> Tally:
    """Plan each record once and search what the plan says."""
    vocabulary = task.index.words if words else ()
    entry = CatalogEntry(table="documents", search_modes=(mode,), vocabulary=vocabulary)
    tally = Tally(depth=task.depth)
    for record in task.records:
        request = SearchRequest(
            search_id=record.id,
            user_message=record.message,
            queries=(Query(table="documents", **_query(record, mode)),),
            catalog=(entry,),
            suggestions=record.suggestions if suggestions else (),
        )
        start = time.process_time()
        new = plan(request, SearchState(search_id=record.id)).new_queries
        tally.seconds.append(time.process_time() - start)
        tally.queries, tally.repeats = (
            tally.queries + len(new),
            tally.repeats + _repeats(request, new),
        )
        if len(new) > MOST_QUERIES:
            raise AssertionError(f"{len(new)} queries for record {record.id}")
        tally.add(record, [task.index.search(query, operator) for query in new])
    return tally


def _any(text: str) -> Query:
    return Query(table="documents", query_text=text)


def _query(record: Record, mode: str) -> dict[str, Any]:
    return {"search_mode": mode, "query_text": record.text, "limit": DEPTH}


def in_turns(lists: Sequence[Sequence[tuple[str, float]]]) -> list[str]:
    """Rows one of each query in turn, each row once."""
    longest = max(map(len, lists), default=0)
    return list(
        dict.fromkeys(
            rows[place][0] for place in range(longest) for rows in lists if place < len(rows)
        )
    )


def merge(lists: Sequence[Sequence[tuple[str, float]]]) -> list[str]:
    """Rows by the best score that any query gave them; ties keep the order of the plan."""
    best: dict[str, float] = {}
    for rows in lists:
        for row, score in rows:
            best[row] = max(score, best.get(row, score))
    return sorted(best, key=lambda row: -best[row])


def _repeats(request: SearchRequest, new: Sequence[Query]) -> int:
    """Queries with the key of another one or of the failed one; a wider limit is no excuse here."""
    keys = [attempts.key(query) for query in (*request.queries, *new)]
    return len(keys) - len(set(keys))


def _banking(lines: Sequence[dict[str, Any]]) -> Iterator[Record]:
    for line in lines:
        yield Record(line["id"], line["text"], line["text"], (), frozenset(line["relevant"]))


def _titles(lines: Sequence[dict[str, Any]]) -> Iterator[Record]:
    for line in lines:
        yield Record(
            line["id"],
            line["question"],
            line["text"],
            tuple(line["similar"]),
            frozenset(line["relevant"]),
        )


if __name__ == "__main__":
    sys.exit(main())
