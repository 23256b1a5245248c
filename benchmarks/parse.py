"""How well replies are read: `python -m benchmarks.parse --data DIR`, beside `json_repair` alone on the same texts.

A line of DIR/parse/*.jsonl is `{source, text, expected}`. Exact is counted where the value is an object; the reader is
told its names, as it is told those of a prompt's answer. An exception would end the run.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any, cast

import json_repair

from mcp_reflect.llm.json_replies import objects_in, read_object
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
    lines = [
        line
        for file in files
        for line in file.read_text(encoding="utf-8").splitlines()
        if line.strip()
    ]
    records: list[dict[str, Any]] = [json.loads(line) for line in lines]
    for source in sorted({record["source"].partition(":")[0] for record in records}):
        texts = [record for record in records if record["source"].startswith(source)]
        objects = [
            record
            for record in texts
            if record["expected"] and isinstance(record["expected"], dict)
        ]
        found = sum(bool(objects_in(record["text"])) for record in texts)
        started = time.perf_counter()
        exact = sum(
            same(read_object(record["text"], record["expected"].keys()), record["expected"])
            for record in objects
        )
        took = (time.perf_counter() - started) * 1000
        alone = sum(
            same(cast("Json", json_repair.loads(record["text"])), record["expected"])
            for record in objects
        )
        print(
            f"{source:<12} {found} of {len(texts)} texts with an object; {exact} of {len(objects)} objects exact in "
            f"{took:.0f} ms, {alone} by json_repair alone"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
