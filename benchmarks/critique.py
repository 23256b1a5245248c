"""What exact checks of critique find, and what a judge finds: python -m benchmarks.critique.

- Worked solutions, every `*.jsonl` in DIR/critique: `{question, steps[], first_error}`;
  `first_error` counts from 0, and -1 means that nothing is wrong. "false/step" has the steps that are called wrong and
  are right. Some steps of the data are wrong where it says that nothing is, such as 192*100=$1920: they are counted
  apart, under "data".
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
MOST_FALSE: Final = 0.0003  # of the steps of gsm_gold
WRONG_IN_THE_DATA: Final = frozenset(
    (
        "192*100=$1920",
        "6*2.5 = $18.00",
        "6/3=.5",
        "4080 + 4080 / 2 = 4000 + 2040",
        "3/1=1 dollar",
        "$32 - $20 = $300",
        "-10 - (-32) - (-2) - (-25) = 15",
        "(8 + -14) + (-12) = -8",
        "(((-5 - -7) + (1 + -2)) * ((0 * 8) - (8 + -3))) = (((-5 + 7) + (1 - 2)) * ((0 * 8) - (8 + 3)))",
        "336 * 74 + 52 = 24984 + 52",
        "((-1 * 5 + -8) - (6 + 3 * -1)) = ((-5 + -8) - (6 + 3))",
        "(-6 * -5 - -5 * -1) = (30 + 5)",
    )
)
"""Equations of the data that are wrong where it says that nothing is, as anybody can compute."""
LEAST_EXACT: Final = {"gsm_injected": 0.95, "multistep_arithmetic": 0.94}


@dataclass(slots=True)
class Solved:
    """Counts over one file of worked solutions; `seconds` is processor time.

    `false_steps` are right and called wrong; `wrong_in_data` are wrong, although the data says that they are right.
    """

    records: int = 0
    steps: int = 0
    exact: int = 0
    found: int = 0
    wrong: int = 0
    false_steps: int = 0
    wrong_in_data: int = 0
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
        cells = (
            f"{self.records:>8}{self.exact / max(1, self.records):>9.4f}{recall:>9}",
            f"{false:>12.5f}{self.wrong_in_data:>6}{milliseconds:>9.2f}",
        )
        return "".join(cells)


def solved(records: Iterable[Mapping[str, Any]]) -> Solved:
    """Run the checks over worked solutions."""
    total = Solved()
    for record in records:
        begun = time.process_time()
        faults = faults_in(record)
        total.seconds += time.process_time() - begun
        steps = {fault.step - 1 for fault in faults if fault.quote not in WRONG_IN_THE_DATA}
        total.wrong_in_data += len({fault.step - 1 for fault in faults} - steps)
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
            f"\n{'file':28}{'records':>8}{'exact':>9}{'recall':>9}{'false/step':>12}{'data':>6}{'ms each':>9}"
        )
    for file in files:
        total = solved(read(file))
        print(f"{file.stem:28}{total.row()}")
        false = total.false_steps / max(1, total.steps)
        if file.stem == "gsm_gold" and false > MOST_FALSE:
            missed.append(f"gsm_gold: {false:.5f} false flags a step, at most {MOST_FALSE} wanted")
        exact = total.exact / max(1, total.records)
        if exact < LEAST_EXACT.get(file.stem, 0):
            missed.append(
                f"{file.stem}: exact {exact:.4f}, at least {LEAST_EXACT[file.stem]} wanted"
            )
    return missed


if __name__ == "__main__":
    raise SystemExit(main())
