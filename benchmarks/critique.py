"""What exact checks of critique find, and what a judge finds: python -m benchmarks.critique.

- Worked solutions, every `*.jsonl` in DIR/critique: `{question, steps[], first_error}`;
  `first_error` counts from 0, and -1 means that nothing is wrong.
- Right and wrong works of our own, tests/evidence/cases/works.jsonl, half of them kept aside by the hash of their id.
- Agents' work with labeled claims (benchmarks.work), by exact checks alone and with a recorded judge
  (benchmarks.judges).

`--questions FOLDER` writes what a judge reads. The exit code is 1 where a limit is missed.
"""

import argparse
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.judges import PATHS, judged, write_questions
from benchmarks.work import CASES, HEADER, Outcome, aside, faults_in, read, total_of

SETS: Final = ("dev", "aside", "fresh_a", "fresh_b")
MOST_ALARMS: Final = 0  # on the right works of our own, over both halves
MOST_REFUSED: Final = 2  # of right works, by the judge
LEAST_JUDGED: Final = 0.98  # of contradicted claims, by the judge
LEAST_EXACT: Final = {"gsm_injected": 0.95, "multistep_arithmetic": 0.94}


@dataclass(slots=True)
class Solved:
    """Counts over one file of worked solutions; `seconds` is processor time."""

    records: int = 0
    steps: int = 0
    exact: int = 0
    found: int = 0
    wrong: int = 0
    false_steps: int = 0
    seconds: float = 0.0

    @property
    def recall(self) -> float | None:
        """The share of solutions with a fault in which one is found."""
        return self.found / self.wrong if self.wrong else None

    def row(self) -> str:
        """Return its line."""
        recall = "-" if self.recall is None else f"{self.recall:.4f}"
        false, milliseconds = (
            self.false_steps / max(1, self.steps),
            1000 * self.seconds / max(1, self.records),
        )
        return f"{self.records:>8}{self.exact / max(1, self.records):>9.4f}{recall:>9}{false:>12.5f}{milliseconds:>9.2f}"


def solved(records: Iterable[Mapping[str, Any]]) -> Solved:
    """Run the checks over worked solutions."""
    total = Solved()
    for record in records:
        begun = time.process_time()
        steps = {fault.step - 1 for fault in faults_in(record)}
        total.seconds += time.process_time() - begun
        truth = record["first_error"]
        total.records += 1
        total.steps += len(record["steps"])
        total.exact += min(steps, default=-1) == truth
        total.found += bool(steps) and truth >= 0
        total.wrong += truth >= 0
        total.false_steps += sum(truth < 0 or step < truth for step in steps)
    return total


def own_works() -> dict[str, tuple[int, int, int, int]]:
    """Return (alarms, right works, found, wrong works) of each half of the works of our own."""
    halves: dict[str, tuple[int, int, int, int]] = {}
    for name in ("dev", "aside"):
        half = [case for case in read(CASES / "works.jsonl") if aside(case) == (name == "aside")]
        right = [bool(faults_in(case)) for case in half if case["truth"] == "right"]
        wrong = [bool(faults_in(case)) for case in half if case["truth"] == "wrong"]
        halves[name] = (sum(right), len(right), sum(wrong), len(wrong))
    return halves


def by_checks(case: Mapping[str, Any]) -> Outcome:
    """Return what exact checks alone say of a piece of work: it never passes by them."""
    contradicted = tuple(fault.quote for fault in faults_in(case))
    return Outcome(contradicted=contradicted, unshown=(), passes=False)


def recorded(name: str) -> dict[str, Any]:
    """Return the judge's recorded replies on a set by id; none where none were recorded."""
    file = CASES / f"judged_{name}.jsonl"
    return {line["id"]: line for line in read(file)} if file.exists() else {}


def print_judged(*, misses: bool) -> list[str]:
    """Print what `critique` finds with the recorded judge; return the limits that are missed."""
    missed: list[str] = []
    found = contradicted = refused = 0
    for name in SETS:
        replies = recorded(name)
        cases = [case for case in read(CASES / f"work_{name}.jsonl") if case["id"] in replies]
        for path in PATHS if cases else ():
            lines: list[str] = []
            total = total_of(zip(cases, judged(cases, replies, path), strict=True), lines)
            print(
                f"{f'{name}, judge as {path}':28}" + "".join(f"{cell:>14}" for cell in total.row())
            )
            print("".join(f"   {line}\n" for line in lines if misses and path == "model"), end="")
            if path == "model":
                found, contradicted = found + total.found, contradicted + total.contradicted
                refused += total.refused
    if contradicted and found < LEAST_JUDGED * contradicted:
        missed.append(f"the judge finds {found} of {contradicted} contradicted works")
    if refused > MOST_REFUSED:
        missed.append(f"{refused} right works are refused with the judge")
    return missed


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument(
        "--misses",
        action="store_true",
        help="print what was judged otherwise (not of halves kept aside)",
    )
    parser.add_argument(
        "--work-only", action="store_true", help="only the pieces of work in the repository"
    )
    parser.add_argument(
        "--questions", type=Path, metavar="FOLDER", help="write what a judge reads, and end"
    )
    options = parser.parse_args(arguments)
    if options.questions:
        options.questions.mkdir(parents=True, exist_ok=True)
        for name in SETS:
            write_questions(read(CASES / f"work_{name}.jsonl"), options.questions / f"{name}.txt")
        return 0
    files = [] if options.work_only else sorted((options.data / "critique").glob("*.jsonl"))
    if not files and not options.work_only:
        print(
            f"no .jsonl files in {options.data}/critique: say where the data is with --data",
            file=sys.stderr,
        )
        return 2
    missed = print_sets(files, misses=options.misses)
    print("\n".join(["", *missed]))
    return 1 if missed else 0


def print_sets(files: Sequence[Path], *, misses: bool) -> list[str]:
    """Print what is found in each set; return the limits that are missed."""
    missed: list[str] = []
    halves = own_works()
    for name, (alarms, right, found, wrong) in halves.items():
        print(
            f"own works, {name}: {found} of {wrong} wrong ones found, {alarms} alarms on {right} right ones"
        )
    if sum(half[0] for half in halves.values()) > MOST_ALARMS:
        missed.append("alarms on right works")
    print(f"\n{'':28}" + "".join(f"{cell:>14}" for cell in HEADER))
    for name in SETS:
        lines: list[str] = []
        cases = read(CASES / f"work_{name}.jsonl")
        total = total_of(((case, by_checks(case)) for case in cases), lines)
        print(f"{f'{name}, checks alone':28}" + "".join(f"{cell:>14}" for cell in total.row()))
        print(
            "".join(
                f"   {line}\n" for line in lines if misses and name == "dev" and "alarm" in line
            ),
            end="",
        )
    missed += print_judged(misses=misses)
    if files:
        print(
            f"\n{'file':28}{'records':>8}{'exact':>9}{'recall':>9}{'false/step':>12}{'ms each':>9}"
        )
    for file in files:
        total = solved(read(file))
        print(f"{file.stem:28}{total.row()}")
        exact = total.exact / max(1, total.records)
        if exact < LEAST_EXACT.get(file.stem, 0):
            missed.append(
                f"{file.stem}: exact {exact:.4f}, at least {LEAST_EXACT[file.stem]} wanted"
            )
    return missed


if __name__ == "__main__":
    raise SystemExit(main())
