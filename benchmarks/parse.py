"""How well replies are read: `python -m benchmarks.parse --data DIR`, beside `json_repair` alone on the same texts.

A line of DIR/parse/*.jsonl is `{source, text, expected}`. Those count whose value is an object; the reader is told its
names, as it is told those of a prompt's answer.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import json_repair

from mcp_reflect.llm.json_replies import read_object
from mcp_reflect.models.common import Json


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
    objects = [record for record in records if record.get("expected") and isinstance(record["expected"], dict)]
    readers: dict[str, Callable[[str, dict[str, Json]], Any]] = {
        "mcp_reflect": lambda text, expected: read_object(text, expected.keys()),
        "json_repair alone": lambda text, _: json_repair.loads(text),
    }
    for name, read in readers.items():
        started = time.perf_counter()
        exact = sum(same(read(record["text"], record["expected"]), record["expected"]) for record in objects)
        print(f"{name:<20}{exact:>4} of {len(objects)} objects, {(time.perf_counter() - started) * 1000:.0f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
