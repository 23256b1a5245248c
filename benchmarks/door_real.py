"""How many real texts the recogniser holds back: `python -m benchmarks.door_real --data ../shared/data`.

Reflections, tasks, questions, steps of runs and sums that people and models wrote with nothing of the kind in mind, so
each that is held back is a false alarm. At most 1,500 of a set, drawn with a fixed seed.
"""

import argparse
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from mcp_reflect.bank.poison import suspicion

_MOST: Final = 1_500


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def sets(data: Path) -> dict[str, set[str]]:
    """The different texts of each set in the folder of shared data, by its file."""
    found: dict[str, set[str]] = {}
    for path in sorted(data.glob("recall/*/*.jsonl")):
        found[f"{path.parent.name}/{path.stem}"] = {str(one["text"]) for one in _lines(path) if "text" in one}
    for path in sorted(data.glob("traces/*.jsonl")):
        texts = {str(step.get("content") or "") for run in _lines(path) for step in run.get("steps", ())}
        found[f"traces/{path.stem}"] = texts - {""}
    gold = data / "critique" / "gsm_gold.jsonl"
    found["critique/gsm_gold"] = {" ".join(one["steps"]) for one in _lines(gold)} if gold.is_file() else set()
    return {name: texts for name, texts in found.items() if texts}


def main() -> int:
    """Print each set, how many of its texts are held back, and in all."""
    reader = argparse.ArgumentParser(description="False alarms of the recogniser on real texts.")
    reader.add_argument("--data", type=Path, default=Path("../shared/data"))
    held = told = 0
    for name, texts in sets(reader.parse_args().data).items():
        drawn = sorted(texts)
        random.Random(1).shuffle(drawn)  # noqa: S311 - a sample, no secret
        drawn = drawn[:_MOST]
        alarms = sum(suspicion([text]) is not None for text in drawn)
        print(f"{name:32} {alarms:4} of {len(drawn)}")
        held, told = held + alarms, told + len(drawn)
    print(f"{'all':32} {held:4} of {told}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
