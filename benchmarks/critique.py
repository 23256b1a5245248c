"""How well the checkers find what is wrong: python -m benchmarks.critique [--data DIR].

Two kinds of data:

- Worked solutions, every `*.jsonl` in DIR/critique (and in further folders): `{question, steps[], first_error}`,
  where `first_error` counts from 0 and -1 means that nothing is wrong.
- Agents' work with labelled claims, tests/checkers/cases/work_{dev,aside}.jsonl: `{kind, goal, steps | response,
  tool_results[], truth, claims[{text, status}]}`. The half `aside` was not looked at while the checkers were built.
"""

import argparse
import json
import re
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, cast

from mcp_reflect.checkers.base import Checker, Work, checkers, split
from mcp_reflect.checkers.verify import Verified, verifier
from mcp_reflect.models.critique import Status, ToolResult

WORK = Path(__file__).parent.parent / "tests" / "checkers" / "cases"
WRONG = ("contradicted", "unsupported")


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


@dataclass(slots=True)
class WorkScore:
    """Counts over the pieces of work of one kind.

    `found` counts pieces with a contradicted claim in which a fail is on such a claim; `named` those with an
    unsupported claim that is named unsupported or contradicted; `alarms` those with a fail on a claim that is
    labelled supported or open, or in right work; `kept` the right ones that pass on rules, `slipped`
    the others that do.
    """

    works: int = 0
    right: int = 0
    contradicted: int = 0
    found: int = 0
    unsupported: int = 0
    named: int = 0
    alarms: int = 0
    kept: int = 0
    slipped: int = 0
    claims: int = 0
    checked: int = 0

    def row(self) -> tuple[str, ...]:
        return (
            str(self.works),
            f"{self.found}/{self.contradicted}",
            f"{self.named}/{self.unsupported}",
            str(self.alarms),
            f"{self.kept}/{self.right}",
            str(self.slipped),
            f"{self.checked}/{self.claims}",
        )


WORK_HEADER = ("works", "contradicted", "unsupported", "alarms", "kept", "slipped", "claims")


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


def verified(case: dict[str, Any]) -> Verified:
    """Return the verdicts of the rules on one piece of work."""
    steps = tuple(case["steps"]) if case.get("steps") else split(case["response"])
    results = tuple(
        ToolResult(content=result["content"], tool=result.get("tool"), exit_code=result.get("exit_code"))
        for result in case["tool_results"]
    )
    return verifier(Work(goal=case["goal"], steps=steps, tool_results=results))(steps)


def overlaps(claim: str, other: str) -> bool:
    """True if one quotation holds the other, blanks and marks apart."""
    first, second = (re.sub(r"\W+", "", text).lower() for text in (claim, other))
    return bool(first) and bool(second) and (first in second or second in first)


def score_work(case: dict[str, Any], total: WorkScore, misses: list[str] | None = None) -> None:
    """Add one piece of work to the counts of its kind."""
    result = verified(case)
    texts = {
        status: [claim["text"] for claim in case["claims"] if claim["status"] == status]
        for status in ("supported", "open", *WRONG)
    }
    wrong = [text for status in WRONG for text in texts[status]]
    on_code = "```" in (case.get("response") or "")
    hits = [v for v in result.failed if on_code or any(overlaps(v.claim, text) for text in wrong)]
    named = [v for v in (*result.failed, *result.unsupported) if any(overlaps(v.claim, t) for t in texts[WRONG[1]])]
    right = case["truth"] == "right"
    others = [text for status in ("supported", "open") for text in texts[status]]
    alarm = any(right or (v not in hits and any(overlaps(v.claim, text) for text in others)) for v in result.failed)
    passes = result.complete and not result.failed
    total.works += 1
    total.right += right
    total.contradicted += bool(texts[WRONG[0]])
    total.found += bool(texts[WRONG[0]]) and bool(hits)
    total.unsupported += bool(texts[WRONG[1]])
    total.named += bool(named)
    total.alarms += alarm
    total.kept += right and passes
    total.slipped += passes and not right
    total.claims += result.coverage.claims
    total.checked += result.coverage.checked
    if misses is None:
        return
    if alarm or (passes and not right):
        misses.append(f"{case['id']} ALARM/SLIPPED {[(v.claim, v.expected) for v in result.failed if v not in hits]}")
    if texts[WRONG[0]] and not hits:
        misses.append(f"{case['id']} missed {texts[WRONG[0]]}")
    if texts[WRONG[1]] and not named:
        misses.append(f"{case['id']} unnamed {texts[WRONG[1]]}")


def read(path: Path) -> list[Any]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def print_work(half: str, misses: bool) -> None:
    """Print a line for each kind of work in one half, and one for all."""
    kinds: dict[str, WorkScore] = {}
    lines: list[str] | None = [] if misses else None
    for case in read(WORK / f"work_{half}.jsonl"):
        for kind in (case["kind"], "all"):
            score_work(case, kinds.setdefault(kind, WorkScore()), lines if kind != "all" else None)
    print(f"\n{'work, ' + half:20}" + "".join(f"{title:>14}" for title in WORK_HEADER))
    for kind in sorted(kinds, key=lambda kind: (kind == "all", kind)):
        print(f"{kind:20}" + "".join(f"{cell:>14}" for cell in kinds[kind].row()))
    for line in lines or ():
        print("   " + line)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--checkers", help="names, with commas; default all")
    parser.add_argument("--misses", action="store_true", help="print what was judged otherwise (not of aside)")
    parser.add_argument("--work-only", action="store_true", help="only the pieces of work in the repository")
    parser.add_argument("folders", nargs="*", type=Path, help="further folders with .jsonl files")
    options = parser.parse_args(arguments)
    print_work("dev", options.misses)
    print_work("aside", misses=False)
    if options.work_only:
        return 0
    folders: list[Path] = [options.data / "critique", *options.folders]
    files = [file for folder in folders for file in sorted(folder.glob("*.jsonl"))]
    if not files:
        print(f"no .jsonl files in {', '.join(map(str, folders))}: say where the data is with --data", file=sys.stderr)
        return 2
    using = checkers(options.checkers.split(",") if options.checkers else None)
    print("\ncheckers: " + ", ".join(checker.name for checker in using))
    print(f"{'file':32}" + "".join(f"{title:>11}" for title in HEADER))
    for file in files:
        misses: list[str] | None = [] if options.misses else None
        row = score(cast("list[Record]", read(file)), using, misses).row()
        print(f"{file.stem:32}" + "".join(f"{cell:>11}" for cell in row))
        for miss in misses or ():
            print("   " + miss)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
