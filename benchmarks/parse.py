"""How well replies are read: `python -m benchmarks.parse --data DIR`, beside `json_repair` alone on the same texts.

A line of DIR/parse/*.jsonl is `{source, text, expected?}`. Exact is counted where a value is expected.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import json_repair

from mcp_reflect.llm.json_replies import containers
from mcp_reflect.models.common import Json


@dataclass
class Tally:
    """What one reader made of one source's texts."""

    texts: int = 0
    recovered: int = 0
    expected: int = 0
    exact: int = 0
    exceptions: int = 0

    def add(self, read: Callable[[str], Json], text: str, expected: Json) -> None:
        self.texts += 1
        self.expected += expected is not None
        try:
            value = read(text)
        except Exception as error:  # noqa: BLE001 - counting them is the point
            self.exceptions += 1
            print(f"  {type(error).__name__} on {text[:60]!r}")
            return
        self.recovered += isinstance(value, dict | list)
        self.exact += expected is not None and same(value, expected)


def read_json(text: str) -> Json:
    """Return the value that a text presents as its answer; a list where it has several, `""` where it has none."""
    values = containers(text)
    richest = [value for value in values if isinstance(value, dict) or any(isinstance(i, dict | list) for i in value)]
    values = richest or values
    return values[0] if len(values) == 1 else [*values] or ""


def same(left: Json, right: Json) -> bool:
    """Equality as JSON sees it: true is not 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return left == right


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    folder: Path = parser.parse_args().data / "parse"
    files = sorted(folder.glob("*.jsonl"))
    if not files:
        print(f"no *.jsonl in {folder}: pass --data DIR with the development data")
        return 2
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    records: list[dict[str, Any]] = [json.loads(line) for line in lines]
    for name, read in (("mcp_reflect", read_json), ("json_repair alone", _alone)):
        started = time.perf_counter()
        tallies: dict[str, Tally] = {}
        for record in records:
            source = str(record["source"]).split(":", maxsplit=1)[0]
            tallies.setdefault(source, Tally()).add(read, record["text"], record.get("expected"))
        report(name, tallies, time.perf_counter() - started)
    return 0


def report(name: str, tallies: dict[str, Tally], seconds: float) -> None:
    print(f"{name}: {seconds * 1000:.0f} ms")
    print(f"  {'source':<16}{'texts':>6}{'recovered':>11}{'exact':>12}{'exceptions':>12}")
    for source, tally in sorted(tallies.items()):
        exact = f"{tally.exact}/{tally.expected}" if tally.expected else "-"
        print(f"  {source:<16}{tally.texts:>6}{tally.recovered:>11}{exact:>12}{tally.exceptions:>12}")


def _alone(text: str) -> Json:
    value: Any = json_repair.loads(text)
    return value


if __name__ == "__main__":
    sys.exit(main())
