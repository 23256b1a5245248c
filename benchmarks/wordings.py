"""Lessons in other words, and lessons that only look alike: `python -m benchmarks.wordings`.

The pairs are tests/data/lesson_pairs.jsonl, half kept aside by a hash. The first of all pairs are in one bank; each
second one is stored into it, and either merges, or its answer names a lesson. A look-alike may be named, never merged.
"""

import asyncio
import hashlib
import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, Final

from mcp_reflect.config import Settings
from mcp_reflect.services.engine import Engine

OWN: Final = Path(__file__).parent.parent / "tests" / "data" / "lesson_pairs.jsonl"


def sent(pair: list[str]) -> dict[str, Any]:
    return {"mistake": pair[0], "correction": pair[1]}


async def measure() -> Counter[tuple[str, bool, str]]:
    pairs: list[dict[str, Any]] = [
        json.loads(line) for line in OWN.read_text(encoding="utf-8").splitlines()
    ]
    counts: Counter[tuple[str, bool, str]] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        async with Engine(
            Settings(bank=Path(folder) / "bank.db", project="pairs", log_level="error")
        ) as engine:
            first = [(await engine.store_lesson(**sent(pair["one"]))).lesson_id for pair in pairs]
            for pair, lesson_id in zip(pairs, first, strict=True):
                half = (
                    "aside"
                    if hashlib.sha256(json.dumps(pair["one"]).encode()).digest()[0] % 2
                    else "open"
                )
                stored = await engine.store_lesson(**sent(pair["other"]))
                way = "neither"
                if stored.lesson_id in first:
                    way = "merged" if stored.lesson_id == lesson_id else "merged with another"
                elif stored.similar:
                    way = "named" if stored.similar[0] == lesson_id else "another named"
                counts[half, pair["same"], way] += 1
                if stored.lesson_id not in first:
                    await engine.forget_lesson(lesson_id=stored.lesson_id)
    return counts


def main() -> None:
    for (half, same, way), count in sorted(asyncio.run(measure()).items()):
        print(f"{half:6} {'other words' if same else 'look alike':12} {way:20} {count:3}")


if __name__ == "__main__":
    main()
