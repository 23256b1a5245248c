"""What the rules find on recorded runs, without a server: `python -m benchmarks.rules --data ../shared/data`.

With `--sample N --seed S` it prints N diagnoses of failed runs beside their events, to be read by hand.
"""

import argparse
import random
import statistics
import sys
import time
from collections import Counter
from pathlib import Path

from benchmarks.trace_events import FILES, Case, iter_cases
from mcp_reflect.analysis.diagnose import diagnose
from mcp_reflect.models.run import Diagnosis, ErrorCategory, Event, EventType, FindingKind, Outcome, Trace

Row = tuple[str, str, Trace, Diagnosis, float]


def to_trace(case: Case) -> Trace:
    """A case as the record that the rules read."""
    events = tuple(
        Event(
            id=event["id"],
            type=EventType(event["type"]),
            content=event.get("content", ""),
            tool=event.get("tool"),
            arguments=event.get("arguments"),
            metadata=event.get("metadata", {}),
        )
        for event in case["events"]
    )
    return Trace(task=case["task"], outcome=Outcome(case["outcome"]), events=events, run_id=case["run_id"])


def says_something(diagnosis: Diagnosis) -> bool:
    """A category other than unknown, a loop, or searches without a result."""
    kinds = {finding.kind for finding in diagnosis.findings}
    known = diagnosis.category not in (None, ErrorCategory.UNKNOWN)
    return known or bool(kinds & {FindingKind.LOOP, FindingKind.ZERO_RESULTS})


def has(diagnosis: Diagnosis, kind: FindingKind) -> bool:
    return any(finding.kind is kind for finding in diagnosis.findings)


def read(data: Path) -> list[Row]:
    """Every case with its diagnosis and the seconds that took."""
    rows: list[Row] = []
    for name, record, case in iter_cases(data):
        outcome = record["outcome"]
        trace = to_trace(case)
        start = time.perf_counter()
        diagnosis = diagnose(trace)
        rows.append((name, outcome, trace, diagnosis, time.perf_counter() - start))
    return rows


def report(name: str, rows: list[Row]) -> None:
    """The figures of one file."""
    failed = [row for row in rows if row[1] != "success"]
    loops = [row for row in rows if has(row[3], FindingKind.LOOP)]
    said = sum(says_something(row[3]) for row in failed)
    took = sorted(row[4] * 1000 for row in rows)
    print(f"\n{name}: {len(rows)} runs, {len(failed)} failed or halted")
    print(f"  a loop                  {len(loops)} ({sum(row[1] == 'success' for row in loops)} of them a success)")
    print(f"  failed, something said  {said} of {len(failed)} ({said / max(1, len(failed)):.1%})")
    print(f"  first failing event     {sum(row[3].first_failing_event is not None for row in rows)}")
    print(f"  a correction            {sum(bool(row[3].corrections) for row in rows)}")
    print(f"  stopped, no answer      {sum(has(row[3], FindingKind.NO_ANSWER) for row in rows)}")
    print(
        f"  categories (failed)     {dict(Counter(str(row[3].category and row[3].category.short) for row in failed))}"
    )
    print(f"  diagnose                p50 {statistics.median(took):.2f} ms, p95 {took[int(len(took) * 0.95)]:.2f} ms")


def show(row: Row) -> None:
    """One diagnosis beside its events."""
    _, outcome, trace, diagnosis, _ = row
    print(f"\n=== {trace.run_id} ({outcome}) {trace.task}")
    for event in trace.events:
        if event.type is not EventType.DECISION:
            call = f"{event.tool}{event.arguments} " if event.arguments else ""
            print(f"  {event.id} {event.type.value}: {call}{' '.join(event.content.split())[:110]}")
    scores = f"i={diagnosis.importance} c={diagnosis.confidence}"
    print(f"  -> {diagnosis.category} first {diagnosis.first_failing_event} {scores}")
    print(f"  -> {diagnosis.summary}")
    for finding in diagnosis.findings:
        print(f"  * {finding.kind.value}: {finding.text}")
    for lesson in diagnosis.corrections:
        print(f"  # {lesson.mistake} | {lesson.correction} ({lesson.confidence})")
    print(f"  -> strategy: {diagnosis.strategy}")


def main() -> int:
    parser = argparse.ArgumentParser(description="What the rules find on recorded runs.")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--sample", type=int, default=0, help="print so many diagnoses to read by hand")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--file", default=FILES[0], choices=FILES)
    chosen = parser.parse_args()
    if not (chosen.data / "traces").is_dir():
        print(
            f"There is no folder {chosen.data / 'traces'}. Give the development data with --data DIR.", file=sys.stderr
        )
        return 2
    rows = read(chosen.data)
    if chosen.sample:
        failed = [row for row in rows if row[0] == chosen.file and row[1] != "success" and says_something(row[3])]
        for row in random.Random(chosen.seed).sample(failed, min(chosen.sample, len(failed))):  # noqa: S311 - a sample
            show(row)
        return 0
    for name in FILES:
        report(name, [row for row in rows if row[0] == name])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
