"""How many searches that failed for one reason each are mended within two calls of the planner, by rules alone.

The 120 searches of tests/replan/cases/failed were written before the planner knew families, operators and tools, by an
author who had not seen it. Half of them (`aside`) was never looked at while it was written. Real engines answer: grep,
SQLite, FTS5, and the cosine of weighted words. The planner is told the message, the query, the tool's name, and the
vocabulary or catalog where the record has one; it is told neither the reason nor what was wanted.

A search is mended where all wanted rows are among those of new queries that return at most a third of the corpus. Where
the first plan does not find them, the second call reports 0 rows of use.
"""

import json
import math
import os
import re
import sqlite3
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mcp_reflect.models.search import Query, SearchRequest, SearchState
from mcp_reflect.replan import attempts
from mcp_reflect.replan.planner import plan
from mcp_reflect.schemas.search import read_catalog, read_queries

CASES = Path(__file__).parent / "cases" / "failed"
CALLS = 2
_WORD = re.compile(r"\w+")


class Corpus:
    """Documents behind one engine. `search` gives the ids of what a query finds; a bad query finds nothing."""

    def __init__(self, name: str, content: dict[str, Any], folder: Path) -> None:
        self.docs: dict[str, dict[str, Any]] = content["docs"]
        self._engine: str = content["engine"]
        self._folder = folder / name
        self._connection = sqlite3.connect(":memory:")
        self._indexed: list[str] = content.get("indexed", [])
        self.tables = {doc["table"] for doc in self.docs.values() if doc.get("table")}
        if self._engine == "grep":
            for path, doc in self.docs.items():
                file = self._folder / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(doc["text"])
        elif self._engine == "sqlite":
            for table in self.tables:
                rows = [doc["fields"] for doc in self.docs.values() if doc["table"] == table]
                self._connection.execute(f"CREATE TABLE {table} ({','.join(rows[0])})")
                marks = ",".join("?" * len(rows[0]))
                values = [list(row.values()) for row in rows]
                self._connection.executemany(f"INSERT INTO {table} VALUES ({marks})", values)  # noqa: S608 - our own
        elif self._engine == "fts5":
            columns = ",".join(self._indexed)
            self._connection.execute(
                f"CREATE VIRTUAL TABLE f USING fts5(docid UNINDEXED,{columns})"
            )
            for id_, doc in self.docs.items():
                marks = ",".join("?" * (len(self._indexed) + 1))
                row = [id_, *(doc["fields"][name] for name in self._indexed)]
                self._connection.execute(f"INSERT INTO f VALUES ({marks})", row)  # noqa: S608 - our own

    def __del__(self) -> None:
        self._connection.close()

    def search(self, query: Query) -> list[str]:
        engines = {
            "grep": self._grep,
            "sqlite": self._sqlite,
            "fts5": self._fts5,
            "vector": self._vector,
        }
        with suppress(sqlite3.Error, ValueError):
            return engines[self._engine](query)
        return []

    def _grep(self, query: Query) -> list[str]:
        command = ["grep", "-rlZ", "-e", query.query_text]
        if include := query.filters.get("include"):
            command.append(f"--include={include}")
        ran = subprocess.run(
            [*command, "."], cwd=self._folder, capture_output=True, text=True, check=False
        )
        return [name[2:] for name in ran.stdout.split("\0") if name]

    def _sqlite(self, query: Query) -> list[str]:
        if query.query_text.upper().startswith("SELECT"):
            match = re.search(r"\bFROM (\w+)", query.query_text)
            cursor = self._connection.execute(query.query_text)
            names = [column[0] for column in cursor.description]
            return [f"{match[1]}/{row[names.index('id')]}" for row in cursor] if match else []
        if query.table not in self.tables:
            return []
        columns = [row[1] for row in self._connection.execute(f"PRAGMA table_info({query.table})")]
        where, values = list[str](), list[Any]()
        if query.query_text:
            where.append(f"({' OR '.join(f'{name} LIKE ?' for name in columns)})")
            values += [f"%{query.query_text}%"] * len(columns)
        for name, value in query.filters.items():
            where.append(f"{name} = ?")
            values.append(value)
        sql = f"SELECT id FROM {query.table} WHERE {' AND '.join(where)}"  # noqa: S608 - our own
        return [f"{query.table}/{row[0]}" for row in self._connection.execute(sql, values)]

    def _fts5(self, query: Query) -> list[str]:
        rows = self._connection.execute("SELECT docid FROM f WHERE f MATCH ?", [query.query_text])
        return [row[0] for row in rows if self._passes(row[0], query)]

    def _vector(self, query: Query) -> list[str]:
        """The three nearest by cosine of word counts weighted by rarity."""
        texts = {
            id_: Counter(_words(" ".join(doc["fields"][name] for name in self._indexed)))
            for id_, doc in self.docs.items()
        }
        rows = Counter(word for words in texts.values() for word in words)

        def weighted(words: Counter[str]) -> dict[str, float]:
            return {
                word: count * math.log(1 + len(texts) / (rows[word] or 0.5))
                for word, count in words.items()
            }

        asked = weighted(Counter(_words(query.query_text)))
        scores = [
            (_cosine(asked, weighted(texts[id_])), id_) for id_ in texts if self._passes(id_, query)
        ]
        least = query.score_threshold or 0.0
        return [id_ for score, id_ in sorted(scores, reverse=True) if score >= least][:3]

    def _passes(self, id_: str, query: Query) -> bool:
        doc = self.docs[id_]
        in_table = query.table not in self.tables or doc.get("table") == query.table
        return in_table and all(
            doc["fields"].get(name) == value for name, value in query.filters.items()
        )


def searches() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CASES / "searches.jsonl").read_text().splitlines()]


def corpora(folder: Path) -> dict[str, Corpus]:
    content = json.loads((CASES / "corpora.json").read_text())
    return {name: Corpus(name, corpus, folder) for name, corpus in content.items()}


def request_of(search: dict[str, Any]) -> SearchRequest:
    """What the planner is told: neither the reason, nor what was wanted."""
    failed: dict[str, Any] = (
        {"text": search["query"]} if isinstance(search["query"], str) else search["query"]
    )
    table: str = failed.get("table") or search["tool"]
    catalog: list[dict[str, Any]] = [dict(entry) for entry in search.get("catalog", ())]
    if "vocabulary" in search:
        entry: dict[str, Any] = next(
            (entry for entry in catalog if entry["table"] == table), {"table": table}
        )
        catalog = [
            *(other for other in catalog if other is not entry),
            {**entry, "vocabulary": search["vocabulary"]},
        ]
    query = {**failed, "table": table, "tool": search["tool"]}
    return SearchRequest(
        search_id=search["message"],
        user_message=search["message"],
        queries=read_queries([query]),
        results={table: 0},
        catalog=read_catalog(catalog),
    )


def mended_at(search: dict[str, Any], corpus: Corpus) -> tuple[int, list[Query]]:
    """The call whose plan found what was wanted, 0 for none; and all queries that ran."""
    request, state = request_of(search), SearchState(search_id=search["message"])
    found, ran = set[str](), list[Query]()
    most = max(3, len(corpus.docs) // 3)
    for call in range(1, CALLS + 1):
        planned = plan(request, state)
        state = attempts.record(state, request, planned)
        for query in planned.new_queries:
            rows = corpus.search(query)
            found |= set(rows) if len(rows) <= most else set()
            ran.append(query)
        if found >= set(search["wanted"]):
            return call, ran
        request = replace(
            request, queries=planned.new_queries, results={q.table: 0 for q in planned.new_queries}
        )
    return 0, ran


def measure() -> Iterator[dict[str, object]]:
    """One line for each reason and half, then one for each half: searches, mended by the first and by two calls."""
    tallies: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    with TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        known = corpora(Path(folder))
        for search in searches():
            call, _ = mended_at(search, known[search["docs"]["corpus"]])
            for reason in (search["reason"], "all"):
                tallies[reason, search["half"]].append(call)
    for (reason, half), calls in sorted(tallies.items()):
        first, second = sum(call == 1 for call in calls), sum(call > 0 for call in calls)
        yield {
            "reason": reason,
            "half": half,
            "searches": len(calls),
            "first_call": first,
            "two_calls": second,
        }


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _cosine(one: dict[str, float], other: dict[str, float]) -> float:
    product = sum(weight * other.get(word, 0.0) for word, weight in one.items())
    norms = sum(w * w for w in one.values()) * sum(w * w for w in other.values())
    return product / math.sqrt(norms) if norms else 0.0
