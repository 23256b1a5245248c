"""How well the checkers find the first wrong step: python -m benchmarks.critique --data DIR.

For every `*.jsonl` in DIR/critique (and in further folders given): records
`{question, steps[], first_error}`, where `first_error` counts from 0 and -1 means that nothing is wrong.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, cast

from mcp_reflect.checkers.base import Checker, Work, checkers
from mcp_reflect.models.critique import Status


class Record(TypedDict):
    id: str
    question: str
    steps: list[str]
    first_error: int


@dataclass(slots=True)
class Score:
    """Counts over one file; `seconds` is processor time spent in the checkers."""

    records: int = 0
    steps: int = 0
    exact: int = 0
    flagged_right: int = 0
    flagged: int = 0
    wrong: int = 0
    false_steps: int = 0
    checked_steps: int = 0
    seconds: float = 0.0
    worst: float = 0.0

    def row(self) -> tuple[str, ...]:
        return (
            str(self.records),
            _share(self.exact, self.records),
            _share(self.flagged_right, self.flagged),
            _share(self.flagged_right, self.wrong),
            _share(self.false_steps, self.steps, 5),
            _share(self.checked_steps, self.steps),
            f"{1000 * self.seconds / max(1, self.records):.2f}",
            f"{1000 * self.worst:.1f}",
        )


HEADER = ("records", "exact", "precision", "recall", "false/step", "checked", "ms/trace", "worst ms")


def _share(part: int, whole: int, places: int = 4) -> str:
    return f"{part / whole:.{places}f}" if whole else "-"


def score(records: Iterable[Record], using: Sequence[Checker], misses: list[str] | None = None) -> Score:
    """Runs the checkers over the records; `misses` collects a line for each record judged otherwise."""
    total = Score()
    for record in records:
        work = Work(goal=record["question"], steps=tuple(record["steps"]))
        begun = time.process_time()
        findings = [finding for checker in using for finding in checker.check(work)]
        spent = time.process_time() - begun
        failed = {f.step - 1 for f in findings if f.status is Status.FAIL}
        first, truth = min(failed, default=-1), record["first_error"]
        total.records += 1
        total.steps += len(work.steps)
        total.exact += first == truth
        total.flagged += bool(failed)
        total.flagged_right += bool(failed) and truth >= 0
        total.wrong += truth >= 0
        total.false_steps += sum(1 for step in failed if truth < 0 or step < truth)
        total.checked_steps += len({f.step for f in findings if f.status is not Status.UNCHECKED})
        total.seconds += spent
        total.worst = max(total.worst, spent)
        if misses is not None and first != truth:
            said = next((f"{f.claim!r} -> {f.expected}" for f in findings if f.status is Status.FAIL), "nothing")
            at = first if first >= 0 else truth
            misses.append(f"{record['id']} truth {truth} said {first}: {said} | {record['steps'][at][:300]}")
    return total


def read(path: Path) -> list[Record]:
    with path.open(encoding="utf-8") as lines:
        return [cast("Record", json.loads(line)) for line in lines if line.strip()]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--checkers", help="names, with commas; default all")
    parser.add_argument("--misses", action="store_true", help="print every record that was judged otherwise")
    parser.add_argument("folders", nargs="*", type=Path, help="further folders with .jsonl files")
    given = parser.parse_args(arguments)
    folders: list[Path] = [given.data / "critique", *given.folders]
    files = [file for folder in folders for file in sorted(folder.glob("*.jsonl"))]
    if not files:
        print(f"no .jsonl files in {', '.join(map(str, folders))}: say where the data is with --data", file=sys.stderr)
        return 2
    using = checkers(given.checkers.split(",") if given.checkers else None)
    print("checkers: " + ", ".join(checker.name for checker in using))
    print(f"{'file':32}" + "".join(f"{title:>11}" for title in HEADER))
    for file in files:
        misses: list[str] | None = [] if given.misses else None
        row = score(read(file), using, misses).row()
        print(f"{file.stem:32}" + "".join(f"{cell:>11}" for cell in row))
        for miss in misses or ():
            print("   " + miss)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
