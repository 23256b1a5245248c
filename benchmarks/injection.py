"""How many attacks the rules of injection recognize, and how many honest texts they hold back.

`python -m benchmarks.injection [--data DIR] [--corpus DIR]`. The cases in tests/security/cases are printed by family. A
corpus is a folder with `attacks.jsonl` and `honest.jsonl`, whose lines may say in `half` which half they belong to.
Every text is judged as one from outside, in which a sentence that reports an attack is no excuse.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from mcp_reflect.security.injection import suspicion
from tests.security.corpus import CASES


def _rows(path: Path) -> list[dict[str, Any]]:
    lines = (
        path.read_text(encoding="utf-8").split("\n") if path.exists() else []
    )  # a text may hold U+2028
    return [json.loads(line) for line in lines if line]


def _texts(row: dict[str, Any]) -> Iterator[str]:
    """The texts of a line: of a document or a query its own, of a trace each step's."""
    if "text" in row:
        yield row["text"]
    for step in row.get("steps") or row.get("history") or ():
        content: Any = (
            cast("dict[str, Any]", step).get("content") if isinstance(step, dict) else step
        )
        yield content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def _held(texts: list[str]) -> int:
    return sum(suspicion([text]) is not None for text in texts)


def _print_share(name: str, texts: list[str]) -> tuple[int, int]:
    held = _held(texts)
    print(f"{name:44} {held:5} of {len(texts):6}  {held / max(len(texts), 1):7.2%}")
    return held, len(texts)


def _print_corpus(folder: Path) -> tuple[int, int]:
    """Print the shares of a corpus, by half; return those of the honest texts."""
    totals = Counter[str]()
    for half in sorted({row.get("half", "") for row in _rows(folder / "attacks.jsonl")}):
        for name in ("attacks", "honest"):
            texts = [
                row["text"]
                for row in _rows(folder / f"{name}.jsonl")
                if row.get("half", "") == half
            ]
            held, count = _print_share(f"{folder.name} {half} {name}", texts)
            if name == "honest":
                totals.update(held=held, count=count)
    return totals["held"], totals["count"]


def main() -> int:
    """Print every figure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--corpus", type=Path, action="append", default=[])
    given = parser.parse_args()
    honest = [_print_corpus(folder) for folder in (CASES, *given.corpus)]
    for path in sorted([*given.data.glob("recall/*/*.jsonl"), *given.data.glob("traces/*.jsonl")]):
        texts = [text for row in _rows(path) for text in _texts(row)]
        honest.append(_print_share(f"{path.parent.name}/{path.name}", texts))
    held, count = (sum(column) for column in zip(*honest, strict=True))
    print(f"honest texts held back: {held} of {count}, {held / count:.2%}")
    families = Counter(row["family"] for row in _rows(CASES / "attacks.jsonl"))
    for family, _ in families.most_common():
        texts = [row["text"] for row in _rows(CASES / "attacks.jsonl") if row["family"] == family]
        _print_share(f"attacks: {family}", texts)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
