"""Two versions in turns on copies of one bank: python -m benchmarks.beside OLD --bank FILE.

OLD is a folder with another version of this repository (`git worktree add`). Each version is one process with an engine
of its own. Both recall the same questions and store the same lessons, one call of each at a time, in changing order, so
that other work on the machine falls on both. A line for each call: milliseconds of the clock and of the processor (p50
and p95), and the ratio of the new version to the old one; then stores a second, ten at once.

A version whose analyzer of texts is another one indexes an old bank anew, beside the calls. Where that takes longer
than the measurement, give it a bank that it made itself of the same lessons (`benchmarks.scale --keep`): `--new-bank`.
"""

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Any, Final, cast

ROUNDS: Final = 3
STORES: Final = 300
AT_ONCE: Final = 10


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old", type=Path)
    parser.add_argument("--bank", type=Path, required=True)
    parser.add_argument("--new-bank", type=Path)
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        return asyncio.run(_work(given.bank))
    from benchmarks.scale import Texts  # noqa: PLC0415 - the old version may have another one

    texts = Texts([])
    with tempfile.TemporaryDirectory(dir=given.bank.parent) as folder:
        banks = {"old": given.bank, "new": given.new_bank or given.bank}
        sides = [
            Side(path, Path(shutil.copy(banks[name], f"{folder}/{name}.db")))
            for name, path in _versions(given.old)
        ]
        recalls = [{"recall": question} for question in texts.questions()]
        stores = [{"store": [texts.lesson(10_000_000 + place)]} for place in range(1, STORES + 1)]
        for calls in (recalls[:20], stores[:5]):
            _in_turns(sides, calls)  # to warm up
        for name, calls in (("recall", recalls * ROUNDS), ("store", stores)):
            print(json.dumps({"call": name, **_figures(_in_turns(sides, calls))}))
        many = [
            {"store": [texts.lesson(20_000_000 + 1000 * part + place) for place in range(AT_ONCE)]}
            for part in range(STORES // AT_ONCE)
        ]
        took = [sum(clock for clock, _ in side) / 1000 for side in _in_turns(sides, many)]
        rates = [round(STORES / seconds, 1) for seconds in took]
        print(
            json.dumps(
                {
                    "call": "stores a second",
                    "old": rates[0],
                    "new": rates[1],
                    "ratio": _ratio(*rates),
                }
            )
        )
        for side in sides:
            side.close()
    return 0


def _versions(old: Path) -> list[tuple[str, Path]]:
    return [("old", old.absolute()), ("new", Path(__file__).parent.parent)]


class Side:
    """A version's process."""

    def __init__(self, root: Path, bank: Path) -> None:
        words = [
            sys.executable,
            str(Path(__file__).absolute()),
            str(root),
            "--bank",
            str(bank),
            "--work",
        ]
        env = {**os.environ, "PYTHONPATH": str(root)}
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            words, cwd=root, env=env, stdin=pipe, stdout=pipe, text=True
        )
        self._in, self._out = (
            cast("IO[str]", self._process.stdin),
            cast("IO[str]", self._process.stdout),
        )
        if self._said() != [str(root / "mcp_reflect")]:
            raise SystemExit(f"{root} is not what Python imports there.")

    def took(self, call: dict[str, Any]) -> tuple[float, float]:
        """Make a call; return the milliseconds of the clock and of the processor."""
        self._in.write(json.dumps(call) + "\n")
        self._in.flush()
        clock, processor = self._said()
        return clock, processor

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def _said(self) -> list[Any]:
        return json.loads(self._out.readline())


def _in_turns(sides: list[Side], calls: list[dict[str, Any]]) -> list[list[tuple[float, float]]]:
    took: list[list[tuple[float, float]]] = [[], []]
    for place, call in enumerate(calls):
        for side in ((0, 1), (1, 0))[place % 2]:
            took[side].append(sides[side].took(call))
    return took


def _figures(took: list[list[tuple[float, float]]]) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for kind, name in ((0, "clock"), (1, "cpu")):
        for part in (50, 95):
            old, new = (
                sorted(each[kind] for each in side)[len(side) * part // 100] for side in took
            )
            figures[f"{name}_p{part}"] = {
                "old": round(old, 2),
                "new": round(new, 2),
                "ratio": _ratio(old, new),
            }
    return figures


def _ratio(old: float, new: float) -> float:
    return round(new / old, 3)


async def _work(bank: Path) -> int:
    import mcp_reflect  # noqa: PLC0415 - of the version of this process
    from mcp_reflect.config import Settings  # noqa: PLC0415 - same
    from mcp_reflect.services.engine import Engine  # noqa: PLC0415 - same

    print(json.dumps([str(Path(mcp_reflect.__file__).parent)]), flush=True)
    async with Engine(Settings(bank=bank, project="scale")) as engine:
        for line in sys.stdin:
            call = json.loads(line)
            start, used = time.perf_counter(), time.process_time()
            if "recall" in call:
                await engine.recall(task=call["recall"])
            else:
                lessons = [
                    {name: one[name] for name in ("mistake", "correction")} for one in call["store"]
                ]
                await asyncio.gather(*(engine.store_lesson(**one) for one in lessons))
            took = (time.perf_counter() - start, time.process_time() - used)
            print(json.dumps([1000 * each for each in took]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
