"""How lessons mature, through the real bank: `python -m benchmarks.learning [--seeds 20] [--lessons 50]`.

A population of lessons with known true worth is used 20 times each; a use succeeds with the probability of its
lesson's worth, and a test proves which it was. Printed is Kendall's tau-b between the order of recall and the true
worth: each score is divided by the same lesson's score before its first use, for made-up words never fit a task
quite equally. What recall holds back as harmful comes last, by its posterior. Beside it stand ranking by the sample
mean, and what becomes of a harmful lesson, of a good one that starts badly, and of one that only its agent praises.
"""

import argparse
import asyncio
import math
import random
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from mcp_reflect.clock import Clock
from mcp_reflect.config import Settings
from mcp_reflect.models.recall import Recall
from mcp_reflect.services.engine import Engine

USES: Final = 20
TASK: Final = "deploy the orders service"
POPULATIONS: Final = ((0.0, 1.0), (0.2, 0.9))
PASSED: Final = {
    "evidence": "test",
    "tool_results": [{"tool": "pytest", "content": "ok", "exit_code": 0}],
}
FAILED: Final = {
    "evidence": "test",
    "tool_results": [{"tool": "pytest", "content": "1 failed", "exit_code": 1}],
}


class _StillClock(Clock):
    """The real clock, standing still: age must not tell lessons apart."""

    def now(self) -> float:
        return 1_800_000_000.0


def kendall(one: Sequence[float], other: Sequence[float]) -> float:
    """Kendall's tau-b, -1..1, of two equally long sequences; ties count for neither side."""
    agree = tied_one = tied_other = 0
    for place in range(len(one)):
        for before in range(place):
            first = _sign(one[place] - one[before])
            second = _sign(other[place] - other[before])
            agree += first * second
            tied_one += first == 0
            tied_other += second == 0
    pairs = len(one) * (len(one) - 1) // 2
    return agree / math.sqrt((pairs - tied_one) * (pairs - tied_other))


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


async def population(engine: Engine, count: int) -> list[str]:
    """`count` lessons that fit the task equally well; their ids, in order."""
    lines = [
        {
            "mistake": f"Deployed the orders service without {_word(number)}",
            "correction": f"Check {_word(number)}",
        }
        for number in range(count)
    ]
    return [
        stored.lesson_id
        async for batch in engine.import_lessons(enumerate(lines, start=1))
        for stored in batch
    ]


def _word(number: int) -> str:
    """A word that no other lesson has: six consonants."""
    letters = "bcdfghjklmnpqrstvwxz"
    return "".join(letters[(number * 7919 + 104_729) // 20**place % 20] for place in range(6))


async def told(engine: Engine, ids: Sequence[str], *, success: bool) -> None:
    """A proven outcome of lessons."""
    for start in range(0, len(ids), 20):  # as many as one call may name
        some = list(ids[start : start + 20])
        await engine.record_outcome(
            success=success, lesson_ids=some, **(PASSED if success else FAILED)
        )


async def recalled(engine: Engine, limit: int = 50) -> Recall:
    return await engine.recall(task=TASK, limit=limit, max_chars=100_000)


async def ranking(seed: int, low: float, high: float, count: int) -> tuple[float, float, int]:
    """Tau of recall's order and of the sample mean's, and how many lessons recall held back."""
    chance = random.Random(seed)  # noqa: S311 - a simulation
    truth = [chance.uniform(low, high) for _ in range(count)]
    async with _bank() as engine:
        ids = await population(engine, count)
        good = dict.fromkeys(ids, 0)
        first = {hit.id: hit.score for hit in (await recalled(engine)).lessons}
        for _ in range(USES):
            won = [name for name, worth in zip(ids, truth, strict=True) if chance.random() < worth]
            for name in won:
                good[name] += 1
            await told(engine, won, success=True)
            await told(engine, [name for name in ids if name not in won], success=False)
        hits = {hit.id: hit.score / first[hit.id] for hit in (await recalled(engine)).lessons}
        scores: list[float] = []
        for name in ids:
            lesson = await engine.bank.lessons.get(engine.scopes.own, name)
            if name not in hits and not lesson.harmful:
                raise RuntimeError(f"{name} was held back and is not proved harmful")
            scores.append(hits.get(name, lesson.rate - 1))
    return kendall(scores, truth), kendall([good[name] for name in ids], truth), count - len(hits)


async def bad_outcomes_until_gone(others: float | None) -> int:
    """How many proven failures take a lesson out of recall; `others`: how often 20 others worked, null for none."""
    async with _bank() as engine:
        ids = await population(engine, 21)
        chance = random.Random(1)  # noqa: S311 - a simulation
        for _ in range(0 if others is None else USES):
            won = [name for name in ids[1:] if chance.random() < (others or 0)]
            await told(engine, won, success=True)
            await told(engine, [name for name in ids[1:] if name not in won], success=False)
        for count in range(1, 50):
            await told(engine, ids[:1], success=False)
            if ids[0] not in {hit.id for hit in (await recalled(engine)).lessons}:
                return count
    return 50


async def good_one_stays(order: Sequence[bool]) -> bool:
    """Whether a lesson is still recalled after each of these first outcomes."""
    async with _bank() as engine:
        ids = await population(engine, 5)
        for success in order:
            await told(engine, ids[:1], success=success)
            if ids[0] not in {hit.id for hit in (await recalled(engine)).lessons}:
                return False
    return True


async def praise_against_proof(passed: int, failed: int, times: int = 200) -> bool:
    """Whether a lesson that tests proved stays before one whose agent alone reports so many successes."""
    async with _bank() as engine:
        proved, praised = await population(engine, 2)
        for number in range(passed + failed):
            await told(engine, [proved], success=number < passed)
        for _ in range(times):
            await engine.record_outcome(success=True, lesson_ids=[praised])
        return [hit.id for hit in (await recalled(engine)).lessons] == [proved, praised]


class _Bank:
    """An engine over a bank in a folder of its own, gone afterwards."""

    async def __aenter__(self) -> Engine:
        self._folder = TemporaryDirectory()
        settings = Settings(bank=Path(self._folder.name) / "bank.db", project="app")
        self._engine = Engine(settings, clock=_StillClock())
        return self._engine

    async def __aexit__(self, *_: object) -> None:
        await self._engine.close()
        self._folder.cleanup()


def _bank() -> _Bank:
    return _Bank()


async def figures(seeds: int, count: int) -> dict[str, Any]:
    """Everything that is measured."""
    found: dict[str, Any] = {}
    for low, high in POPULATIONS:
        rows = [await ranking(seed, low, high, count) for seed in range(seeds)]
        found[f"worth U({low:g},{high:g})"] = {
            "tau of recall": round(statistics.mean(row[0] for row in rows), 4),
            "lowest": round(min(row[0] for row in rows), 4),
            "tau of the sample mean": round(statistics.mean(row[1] for row in rows), 4),
            "held back": round(statistics.mean(row[2] for row in rows), 1),
        }
    found["proven failures in a row until a lesson is out of recall"] = {
        "alone": await bad_outcomes_until_gone(None),
        **{
            f"others work {rate:.0%}": await bad_outcomes_until_gone(rate)
            for rate in (0.1, 0.5, 0.9)
        },
    }
    orders = ((False, False, True), (False, True, False), (True, False, False))
    found["a good lesson with 2 failures among its first 3 stays"] = all(
        [await good_one_stays(one) for one in orders]
    )
    proofs = ((1, 0), (3, 0), (2, 1), (10, 10), (16, 4))
    found["a proved lesson stays before 200 self-told successes"] = {
        f"{passed} of {passed + failed} passed": await praise_against_proof(passed, failed)
        for passed, failed in proofs
    }
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="How lessons mature.")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument(
        "--lessons", type=int, default=50, help="of a population, at most 50: recall shows no more"
    )
    chosen = parser.parse_args()
    if not (chosen.seeds >= 1 and 2 <= chosen.lessons <= 50):
        print("Give at least one seed, and 2 to 50 lessons.", file=sys.stderr)
        return 2
    for name, value in asyncio.run(figures(chosen.seeds, chosen.lessons)).items():
        print(f"{name}: {value}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
