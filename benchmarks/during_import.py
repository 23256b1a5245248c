"""What others notice of an import: python -m benchmarks.during_import --data DIR [--lessons 20000].

A bank of 10,000 lessons. A process of its own recalls and stores in turns, as an agent's server does: first while
nothing else is done, for as many seconds as `--alone` says, then while `mcp-reflect import` brings lessons into the
same bank. Printed are p50, p95 and the longest of both in milliseconds, by the clock and of that process's processor
time, how long the import took by the clock, and the machine's load. A recall is the whole call with its note in the
ledger, a store one durable commit. An import takes all cores that it can get, so by the clock both also share the
machine.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.retrieval import collections
from benchmarks.scale import Texts
from mcp_reflect.config import Settings
from mcp_reflect.services.engine import Engine

BEFORE: Final = 10_000  # lessons that are there
STORE_EVERY: Final = 4  # of so many calls one stores
PAUSE: Final = 0.01  # seconds between two calls: an agent thinks
PROJECT: Final = "during"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lessons", type=int, default=20_000)
    parser.add_argument("--alone", type=float, default=20)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--calls", nargs=2, help=argparse.SUPPRESS)  # the other process: a bank, and a file to end at
    given = parser.parse_args()
    texts = Texts(collections(given.data))
    if given.calls:
        bank, end = map(Path, given.calls)
        print(json.dumps(asyncio.run(calls(bank, texts, end.exists))), flush=True)
        return 0
    with TemporaryDirectory() as folder:
        print(json.dumps(measure(Path(folder), texts, given)), flush=True)
    return 0


def measure(folder: Path, texts: Texts, given: argparse.Namespace) -> dict[str, Any]:
    """The figures alone, and beside an import."""
    bank, end = folder / "bank.db", folder / "end"
    _import(bank, _file(folder / "before.jsonl", texts, 1, BEFORE))
    more = _file(folder / "more.jsonl", texts, BEFORE + 1, given.lessons)
    other = _calling(given, bank, end)
    time.sleep(given.alone)
    end.touch()
    line: dict[str, Any] = {"alone": json.loads(other.communicate()[0])}
    end.unlink()
    other = _calling(given, bank, end)
    line["import_s"] = _import(bank, more)
    end.touch()
    line["beside_import"] = json.loads(other.communicate()[0])
    return {"lessons": given.lessons, **line, "load": os.getloadavg()[0], "cores": os.cpu_count()}


def _file(path: Path, texts: Texts, first: int, many: int) -> Path:
    path.write_text(
        "\n".join(json.dumps(texts.lesson(place)) for place in range(first, first + many)), encoding="utf-8"
    )
    return path


def _import(bank: Path, file: Path) -> float:
    """Import by the command, and how many seconds it took by the clock."""
    start = time.perf_counter()
    env = {**os.environ, "MCP_REFLECT_BANK": str(bank), "MCP_REFLECT_PROJECT": PROJECT}
    command = [sys.executable, "-m", "mcp_reflect", "import", str(file)]
    subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return round(time.perf_counter() - start, 1)


def _calling(given: argparse.Namespace, bank: Path, end: Path) -> subprocess.Popen[str]:
    """The other process, from when its first call was answered."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.during_import",
        "--data",
        str(given.data),
        "--calls",
        str(bank),
        str(end),
    ]
    other = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert other.stderr is not None  # noqa: S101 - asked for above
    other.stderr.readline()
    return other


async def calls(bank: Path, texts: Texts, over: Callable[[], bool]) -> dict[str, Any]:
    """Recall and store until it is `over`: what they took."""
    took: dict[str, list[tuple[float, float]]] = {"recall": [], "store": []}
    questions = texts.questions()
    async with Engine(Settings(bank=bank, project=PROJECT)) as engine:
        for question in questions[:20]:  # what is read once stays with the operating system
            await engine.recall(task=question)
        print("ready", file=sys.stderr, flush=True)
        place = 0
        while not over():
            place += 1
            if place % STORE_EVERY:
                question = questions[place % len(questions)]
                took["recall"].append(await _timed(lambda task=question: engine.recall(task=task)))
            else:
                new = texts.lesson(10_000_000 + place * 10 + 1)
                words = {"mistake": new["mistake"], "correction": new["correction"]}
                took["store"].append(await _timed(lambda lesson=words: engine.store_lesson(**lesson)))
            await asyncio.sleep(PAUSE)
    return {name: {"calls": len(all_of), **_parts(all_of)} for name, all_of in took.items()}


async def _timed(work: Callable[[], Awaitable[object]]) -> tuple[float, float]:
    """Milliseconds by the clock, and of this process's processor time."""
    start, used = time.perf_counter(), time.process_time()
    await work()
    return 1000 * (time.perf_counter() - start), 1000 * (time.process_time() - used)


def _parts(took: list[tuple[float, float]]) -> dict[str, float]:
    """p50, p95 and the longest, of both clocks."""
    parts: dict[str, float] = {}
    for name, ordered in (("", sorted(one for one, _ in took)), ("cpu_", sorted(one for _, one in took))):
        for part, at in (("p50", len(ordered) // 2), ("p95", len(ordered) * 95 // 100), ("max", len(ordered) - 1)):
            parts[name + part] = round(ordered[min(at, len(ordered) - 1)], 1) if ordered else 0.0
    return parts


if __name__ == "__main__":
    sys.exit(main())
