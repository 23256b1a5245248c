"""How well the checkers find what is wrong: python -m benchmarks.critique [--data DIR].

Two kinds of data:

- Worked solutions, every `*.jsonl` in DIR/critique (and in further folders): `{question, steps[], first_error}`,
  where `first_error` counts from 0 and -1 means that nothing is wrong.
- Agents' work with labelled claims (benchmarks.work), tests/checkers/cases/work_*.jsonl, first by rules alone and then
  with the recorded replies of a judge (benchmarks.judges), judged_*.jsonl there. `aside` was not looked at while the
  checkers were built. `fresh_a` and `fresh_b` were written later by a language model that had not seen the checkers,
  partly with outputs of real commands. The rules were improved on `fresh_a`; of `fresh_b` only false alarms were read.

It exits with 1 where a limit is missed: a kind of work below its floor, false alarms, or wrong work that passes.
`--write-prompts FOLDER` writes what a judge would be asked.
"""

import argparse
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypedDict, cast

from benchmarks.judges import PATHS, judged, write_prompts
from benchmarks.work import CASES, by_rules, missed_limits, print_scores, read, scores
from mcp_reflect.checkers.base import Checker, Work, checkers
from mcp_reflect.models.critique import Status

SETS: Final = ("dev", "aside", "fresh_a", "fresh_b")


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
    """Run the checkers over the records; `misses` collects a line for each record judged otherwise."""
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
        total.checked_steps += len({f.step for f in findings if f.status in (Status.PASS, Status.FAIL)})
        total.seconds += spent
        total.worst = max(total.worst, spent)
        if misses is not None and first != truth:
            said = next((f"{f.claim!r} -> {f.expected}" for f in findings if f.status is Status.FAIL), "nothing")
            at = first if first >= 0 else truth
            misses.append(f"{record['id']} truth {truth} said {first}: {said} | {record['steps'][at][:300]}")
    return total


def print_work(name: str, misses: bool) -> list[str]:
    """Print what the rules find in one set of pieces of work; return the limits that are missed."""
    lines: list[str] = []
    kinds = scores([(case, by_rules(case)) for case in read(CASES / f"work_{name}.jsonl")], lines)
    title = f"work_{name}, rules"
    print_scores(title, kinds, lines if misses else ())
    return missed_limits(title, kinds)


def print_judged(cases: Sequence[Mapping[str, Any]], file: Path, misses: bool) -> list[str]:
    """Print what `critique` finds with the recorded replies, on each path; return the limits that are missed."""
    replies = {line["id"]: line["reply"] for line in read(file)}
    known = [case for case in cases if case["id"] in replies]
    missed: list[str] = []
    for path in PATHS:
        lines: list[str] = []
        kinds = scores(list(zip(known, judged(known, replies, path), strict=True)), lines)
        title = f"{file.stem}, {path}"
        print_scores(title, kinds, lines if misses else ())
        missed += missed_limits(title, kinds)
    return missed


def print_solutions(files: Sequence[Path], using: Sequence[Checker], misses: bool) -> None:
    """Print a line for each file of worked solutions."""
    print("\ncheckers: " + ", ".join(checker.name for checker in using))
    print(f"{'file':32}" + "".join(f"{title:>11}" for title in HEADER))
    for file in files:
        lines: list[str] | None = [] if misses else None
        row = score(cast("list[Record]", read(file)), using, lines).row()
        print(f"{file.stem:32}" + "".join(f"{cell:>11}" for cell in row))
        for line in lines or ():
            print("   " + line)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--checkers", help="names, with commas; default all")
    parser.add_argument("--misses", action="store_true", help="print what was judged otherwise (by rules of dev)")
    parser.add_argument("--work-only", action="store_true", help="only the pieces of work in the repository")
    parser.add_argument("--work", type=Path, action="append", default=[], help="a further file of pieces of work")
    parser.add_argument("--judge", type=Path, action="append", default=[], help="a further file of a judge's replies")
    parser.add_argument("--write-prompts", type=Path, metavar="FOLDER", help="write what a judge is asked, and end")
    parser.add_argument("folders", nargs="*", type=Path, help="further folders with .jsonl files")
    options = parser.parse_args(arguments)
    works: list[Path] = [*(CASES / f"work_{name}.jsonl" for name in SETS), *options.work]
    if options.write_prompts:
        options.write_prompts.mkdir(parents=True, exist_ok=True)
        for file in works:
            write_prompts(read(file), options.write_prompts / f"prompts_{file.stem.removeprefix('work_')}.jsonl")
        return 0
    folders: list[Path] = [options.data / "critique", *options.folders]
    files = [file for folder in folders for file in sorted(folder.glob("*.jsonl"))]
    if not files and not options.work_only:
        print(f"no .jsonl files in {', '.join(map(str, folders))}: say where the data is with --data", file=sys.stderr)
        return 2
    missed = [limit for name in SETS for limit in print_work(name, options.misses and name == "dev")]
    cases = [case for file in works for case in read(file)]
    for file in [*sorted(CASES.glob("judged_*.jsonl")), *options.judge]:
        missed += print_judged(cases, file, options.misses)
    print("\n".join(["", *missed]))
    if not options.work_only:
        print_solutions(files, checkers(options.checkers.split(",") if options.checkers else None), options.misses)
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
