"""How recall and store behave as a bank grows: python -m benchmarks.scale --sizes 1000,10000,100000 --data DIR.

A bank of each size is made through the public import: lessons of about thirty words drawn by Zipf's law from
50,000, one in ten a real text of the sets in DIR. Questions are drawn alike: of 5 to 12 words, one in five of
60 words, and real ones. A line for each size: the import, memory and the file, p50, p95 and p99 of recall and of
store in milliseconds, and, in turns with the same questions, those of plain FTS5 (porter, any of the words without
stop words, `ORDER BY rank LIMIT 10`) over the same texts.

`--direct` writes the lessons and the index in large transactions, past what an import looks for in each text (secrets,
orders, duplicates), for a bank of a million. With `--keep` it goes on where it was cut off.

`cpu_` figures are processor time, on a busy machine the only ones to trust; the ratio is of these. `--repeats N` takes
the best of so many times for each question: what other work on the machine adds is left out. `--plain N` asks plain
FTS5 only every so manieth question, for a large bank, where it takes seconds. `--keep DIR` keeps the banks there and
uses those it finds, which have to be of the newest schema; what a run stores stays in them.
"""

import argparse
import asyncio
import itertools
import json
import math
import random
import re
import resource
import sqlite3
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.recall import lesson_line
from benchmarks.retrieval import Document, Judged, collections
from mcp_reflect.clock import Clock
from mcp_reflect.config import Settings
from mcp_reflect.models.lesson import Source
from mcp_reflect.schemas.imported_lessons import ImportArguments
from mcp_reflect.schemas.reading import read
from mcp_reflect.security.injection import RULES_VERSION
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage import lesson_records, screening
from mcp_reflect.storage.sqlite.database import SqliteDatabase
from mcp_reflect.text.stemmer import STOP_WORDS

VOCABULARY: Final = 50_000
QUESTIONS: Final = 200
STORES: Final = 50
DIRECT: Final = 10_000  # lessons written in one transaction
PAGE: Final = 50_000  # lessons made at once
_SYLLABLES: Final = [
    one + two for one in "bcdfghjklmnprstvwz" for two in ("a", "e", "i", "o", "u", "ar", "en", "il")
]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--direct", action="store_true")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--plain", type=int, default=1)
    given = parser.parse_args()
    sets = collections(given.data)
    for size in map(int, given.sizes.split(",")):
        figures = measure(
            size,
            Texts(sets),
            given.keep,
            direct=given.direct,
            repeats=given.repeats,
            plain_step=given.plain,
        )
        print(json.dumps(asyncio.run(figures)), flush=True)
    return 0


class Texts:
    """Texts and questions, the same in every run, whether the bank was there or is made in it."""

    def __init__(self, sets: Sequence[Judged]) -> None:
        self._chance = random.Random(20261121)  # noqa: S311 - the same texts in every run
        made = itertools.product(_SYLLABLES, repeat=3)
        self._words = [
            "".join(parts)
            for parts in itertools.islice(made, 0, None, len(_SYLLABLES) ** 3 // VOCABULARY)
        ]
        self._chance.shuffle(self._words)
        self._weights = list(
            itertools.accumulate(1 / (rank + 2.7) for rank in range(len(self._words)))
        )
        self._documents = [document.text for one in sets for document in one.documents]
        self._queries = [query.text for one in sets for query in one.queries]

    def lesson(self, place: int) -> dict[str, Any]:
        """A line of an import; every tenth is a real text where there are any."""
        real = self._documents and place % 10 == 0
        text = (
            self._documents[place // 10 % len(self._documents)]
            if real
            else f"{self._drawn(14)}. {self._drawn(14)}"
        )
        return lesson_line(Document(str(place), text))

    def questions(self) -> list[str]:
        """Short ones, one in five long, one in five real where there are any."""
        self._chance.seed(20261122)
        lengths = (
            60 if place % 5 == 0 else self._chance.randint(5, 12) for place in range(QUESTIONS)
        )
        drawn = [self._drawn(length) for length in lengths]
        real = self._queries[:: max(1, 5 * len(self._queries) // QUESTIONS)]
        return [text for pair in itertools.zip_longest(drawn, real) for text in pair if text][
            : QUESTIONS + len(real)
        ]

    def _drawn(self, count: int) -> str:
        return " ".join(self._chance.choices(self._words, cum_weights=self._weights, k=count))


async def measure(
    size: int,
    texts: Texts,
    keep: Path | None,
    *,
    direct: bool = False,
    repeats: int = 1,
    plain_step: int = 1,
) -> dict[str, Any]:
    """The figures of one size; plain FTS5 is asked every `plain_step`th question."""
    with TemporaryDirectory() as folder:
        path = (keep or Path(folder)) / f"{size}.db"
        line: dict[str, Any] = {"lessons": size}
        async with Engine(Settings(bank=path, project="scale")) as engine:
            scope = engine.scopes.own
            stored = (await engine.bank.lessons.projects(scope.tenant)).get(scope.project, 0)
            if direct and stored < size:
                line.update(await _written(engine, range(stored + 1, size + 1), texts))
            elif not stored:
                line.update(await _imported(engine, size, texts))
        questions = texts.questions()
        plain = PlainSearch(path)
        async with Engine(Settings(bank=path, project="scale")) as engine:
            asked = questions[::plain_step]
            for question, other in zip(questions[:20], asked, strict=False):
                await engine.recall(
                    task=question
                )  # what is read once stays with the operating system
                plain.search(other)
            line["recall"] = await _timed(
                questions, lambda question: engine.recall(task=question), repeats
            )
            line["plain_fts5"] = await _timed(asked, plain.searched, repeats)
            line["times_faster_p95"] = round(
                line["plain_fts5"]["cpu_p95"] / line["recall"]["cpu_p95"], 1
            )
            news = [texts.lesson(size + place * 10 + 1) for place in range(STORES)]
            line["store"] = await _timed(news, lambda one: _store(engine, one))
        line["memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        line["file_mb"] = round(path.stat().st_size / 1e6, 1)
        return line


async def _imported(engine: Engine, size: int, texts: Texts) -> dict[str, float]:
    start, used, batches = time.perf_counter(), time.process_time(), list[float]()
    for first in range(1, size + 1, PAGE):
        numbers = range(first, min(first + PAGE, size + 1))
        lines = [(place, texts.lesson(place)) for place in numbers]
        last = time.perf_counter()
        async for _ in engine.import_lessons(lines):
            batches.append(1000 * (time.perf_counter() - last))
            last = time.perf_counter()
    return {
        "import_s": round(time.perf_counter() - start, 1),
        "import_cpu_s": round(time.process_time() - used, 1),
        "import_batch_ms_p95": _parts(batches)["p95"],
    }


async def _written(engine: Engine, places: range, texts: Texts) -> dict[str, float]:
    start, own, clock = time.perf_counter(), engine.scopes.own, Clock()
    for place in range(1, places.start):
        texts.lesson(place)  # draws what was drawn for the lessons that are there
    database = SqliteDatabase(engine.bank.path)
    for first in places[::DIRECT]:
        numbers = range(first, min(first + DIRECT, places.stop))
        drafts = [
            read(ImportArguments, texts.lesson(place)).draft(Source.IMPORT) for place in numbers
        ]
        records = [
            replace(screening.record_of(draft, own, clock), rules_version=RULES_VERSION)
            for draft in drafts
        ]
        rows = [lesson_records.lesson_rows(own, record) for record in records]
        await database.write(own.tenant, lambda tx, rows=rows: lesson_records.insert_rows(tx, rows))
    await database.close()
    return {"direct_s": round(time.perf_counter() - start, 1)}


async def _store(engine: Engine, line: dict[str, Any]) -> object:
    return await engine.store_lesson(mistake=line["mistake"], correction=line["correction"])


async def _timed(
    things: Sequence[Any], work: Callable[[Any], Awaitable[object]], repeats: int = 1
) -> dict[str, float]:
    """Milliseconds that `work` took on each thing: of the clock, and of the processor in all threads.

    Of several `repeats`, all things in turn, the best of each: other work on the machine only adds to it.
    """
    took, cpu = [math.inf] * len(things), [math.inf] * len(things)
    for _ in range(repeats):
        for place, one in enumerate(things):
            start, used = time.perf_counter(), time.process_time()
            await work(one)
            cpu[place] = min(cpu[place], 1000 * (time.process_time() - used))
            took[place] = min(took[place], 1000 * (time.perf_counter() - start))
    return {**_parts(took), **{f"cpu_{name}": value for name, value in _parts(cpu).items()}}


class PlainSearch:
    """What most would do: the texts in FTS5, any of a question's words, SQLite's own ranking."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path.with_suffix(".plain"))
        found = self._connection.execute(
            "SELECT name FROM sqlite_master WHERE name = 'd'"
        ).fetchone()
        if found is None:
            self._connection.execute(
                "CREATE VIRTUAL TABLE d USING fts5(text, tokenize = 'porter unicode61')"
            )
            self._connection.execute("ATTACH ? AS bank", (str(path),))
            self._connection.execute(
                "INSERT INTO d (rowid, text) SELECT row, text FROM bank.lessons"
            )
            self._connection.commit()
            self._connection.execute("DETACH bank")

    def search(self, question: str) -> None:
        """One search."""
        words = [word for word in re.findall(r"\w+", question.lower()) if word not in STOP_WORDS]
        match = " OR ".join(f'"{word}"' for word in dict.fromkeys(words)) or '""'
        self._connection.execute(
            "SELECT rowid FROM d WHERE d MATCH ? ORDER BY rank LIMIT 10", (match,)
        ).fetchall()

    async def searched(self, question: str) -> None:
        """The same, for a clock that awaits."""
        self.search(question)


def _parts(took: Sequence[float]) -> dict[str, float]:
    ordered = sorted(took)
    return {
        f"p{part}": round(ordered[min(len(ordered) - 1, len(ordered) * part // 100)], 2)
        for part in (50, 95, 99)
    }


if __name__ == "__main__":
    sys.exit(main())
