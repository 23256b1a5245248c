"""How many attacks the rules of injection recognize, and how many honest texts they hold back.

`python -m benchmarks.injection [--data DIR] [--corpus DIR]`. The cases in tests/security/cases are printed by family. A
corpus is a folder with `attacks.jsonl` and `honest.jsonl`, whose lines may say in `half` which half they belong to.
Every text is judged as one from outside, in which a sentence that reports an attack is no excuse. With `--set FILE`, only
the shares of that file: JSON with a case a line, which has `text`, `order` (true or false) and, where the text was typed
from one, the `output` that hooks saw.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from mcp_reflect.clock import Clock
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import LessonDraft, Source, Trust
from mcp_reflect.security.injection import suspicion
from mcp_reflect.security.phrases import remembered
from mcp_reflect.storage.screening import record_of, screened
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


def _is_held(row: dict[str, Any]) -> bool:
    """Return whether a lesson would wait: an import, or one that an agent stores after it saw an output."""
    output: str | None = row.get("output")
    draft = LessonDraft(text=row["text"], source=Source.AGENT if output else Source.IMPORT)
    seen = [frozenset(remembered(output))] if output else []
    record = record_of(draft, Scope("local", "app"), Clock())
    return screened(record, seen=seen).trust is Trust.QUARANTINED


def _print_set(file: Path) -> None:
    """Print how many orders and honest lessons of a file wait, and the cases that are judged wrong."""
    rows = _rows(file)
    wrong: list[str] = []
    for name, from_output in (("imports", False), ("typed from an output", True)):
        for is_order in (True, False):
            those = [
                r for r in rows if r["order"] is is_order and bool(r.get("output")) is from_output
            ]
            held = [row for row in those if _is_held(row)]
            print(f"{name}, {'orders' if is_order else 'honest'}: {len(held)} of {len(those)} held")
            wrong += [row["text"] for row in those if (row in held) is not is_order]
    print("\n".join(wrong))


def main() -> int:
    """Print every figure, or those of one file."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--set", type=Path, metavar="FILE", help="a file of cases")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--corpus", type=Path, action="append", default=[])
    given = parser.parse_args()
    if given.set:
        _print_set(given.set)
        return 0
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
