"""How many real texts the recogniser holds back: `python -m benchmarks.door_real --data ../shared/data`.

Reflections, tasks, questions, steps of runs and sums that people and models wrote with nothing of the kind in mind, so
each that is held back is a false alarm; and what short orders look like most, the first lines of the docstrings of
Python's own library. At most 1,500 of a set, drawn with a fixed seed.
"""

import argparse
import ast
import json
import random
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mcp_reflect.security.injection import suspicion

_MOST: Final = 1_500
_FILES: Final = ("recall/*/docs.jsonl", "recall/*/queries.jsonl", "traces/*.jsonl", "critique/gsm_gold.jsonl")


def texts_in(path: Path) -> Iterator[str]:
    """The texts of a file of shared data: of its documents, of the steps of its runs, or its sums, each in one."""
    with path.open(encoding="utf-8") as lines:
        for one in map(json.loads, lines):
            match path.parent.name:
                case "traces":
                    yield from (str(step["content"] or "") for step in one["steps"])
                case "critique":
                    yield " ".join(one["steps"])
                case _:
                    yield one["text"]


def sets(data: Path) -> dict[str, set[str]]:
    """The different texts of each set in the folder of shared data, by its file."""
    paths = [path for kind in _FILES for path in sorted(data.glob(kind))]
    return {f"{path.parent.name}/{path.stem}": set(texts_in(path)) - {""} for path in paths}


def docstrings() -> set[str]:
    """The first lines of the docstrings of the Python that runs: "Return the …", "Remove a …"."""
    found: set[str] = set()
    for path in Path(sysconfig.get_paths()["stdlib"]).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and (said := ast.get_docstring(node)):
                found.add(said.split("\n", 1)[0])
    return found - {""}


def main() -> int:
    """Print each set, how many of its texts are held back, and in all."""
    reader = argparse.ArgumentParser(description="False alarms of the recogniser on real texts.")
    reader.add_argument("--data", type=Path, default=Path("../shared/data"))
    held = told = 0
    for name, texts in (sets(reader.parse_args().data) | {"docstrings": docstrings()}).items():
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
