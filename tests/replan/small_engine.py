"""A small search engine with tables, modes, filters and thresholds, to run plans against."""

import math
import re
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence

from mcp_reflect.models.search import Query

_WORD = re.compile(r"[^\W_]+")
_ALL_WORDS = {"boolean", "faceted", "keyword", "lexical"}
_ANY_WORD = {"bm25", "hybrid", "master", "semantic", "vector"}


def words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


class Engine:
    """FTS5 without stemming. Scores are cosines of tf-idf vectors in 0..1; a mode that is unknown finds nothing."""

    def __init__(self, tables: Mapping[str, Sequence[Mapping[str, str]]]) -> None:
        self._rows = {table: {row["id"]: row for row in rows} for table, rows in tables.items()}
        self._connection = sqlite3.connect(":memory:")
        for table, rows in tables.items():
            self._connection.execute(f"CREATE VIRTUAL TABLE {table} USING fts5(id UNINDEXED, text)")
            self._connection.executemany(f"INSERT INTO {table} VALUES (?, ?)", [(r["id"], r["text"]) for r in rows])  # noqa: S608

    def close(self) -> None:
        self._connection.close()

    def search(self, query: Query) -> list[str]:
        rows = self._rows.get(query.table, {})
        match = self._match(query)
        if not match or not rows:
            return []
        sql = f"SELECT id FROM {query.table} WHERE {query.table} MATCH ?"  # noqa: S608
        hits = [rows[row[0]] for row in self._connection.execute(sql, (match,))]
        kept = [row for row in hits if all(row.get(name) == value for name, value in query.filters.items())]
        scored = sorted((-self._score(query, row), row["id"]) for row in kept)
        least = query.score_threshold or 0.0
        return [row for score, row in scored if -score >= least][: query.limit or 10]

    def _match(self, query: Query) -> str:
        asked = words(query.query_text)
        if query.search_mode == "exact" or query.query_text.count('"') > 1:
            return f'"{" ".join(asked)}"' if asked else ""
        quoted = [f'"{word}"' for word in asked]
        if query.search_mode == "fuzzy":
            return " OR ".join(f'"{word[:4]}"*' for word in asked)
        if query.search_mode in _ALL_WORDS:
            return " AND ".join(quoted)
        return " OR ".join(quoted) if query.search_mode in _ANY_WORD else ""

    def _score(self, query: Query, row: Mapping[str, str]) -> float:
        rows = self._rows[query.table].values()
        known = Counter(word for other in rows for word in set(words(other["text"])))
        one = {word: math.log(1 + len(rows) / (1 + known[word])) for word in words(query.query_text)}
        other = {word: math.log(1 + len(rows) / (1 + known[word])) for word in words(row["text"])}
        product = sum(weight * other.get(word, 0.0) for word, weight in one.items())
        norm = math.sqrt(sum(w * w for w in one.values())) * math.sqrt(sum(w * w for w in other.values()))
        return product / norm if norm else 0.0
