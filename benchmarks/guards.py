"""Guards of written lessons: `python -m benchmarks.guards --data ../shared/data`.

Each lesson has calls that go against it, and calls that follow it or only look alike. The first of each stands for the
two calls that an agent sends; a guard is derived from them, and tried on the others. Printed for each set: how many
lessons have a guard, how many other calls against them are met, of the calls that follow, and of the calls of other
people's sessions. Lessons that are marked `silent` differ only in values or in bare programs: they must have no guard.
"""

import argparse
import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_reflect.guards.call import Call
from mcp_reflect.guards.derivation import derive
from mcp_reflect.guards.guard import Guard
from mcp_reflect.guards.matching import matches

CASES = Path(__file__).parents[1] / "tests" / "guards" / "cases"
SETS = {
    "two calls": CASES / "two_calls.jsonl",  # written before the derivation from two calls
    "older": CASES / "guards.jsonl",  # written for a derivation that read words as well
    "other programs": CASES / "other_programs.jsonl",
    "options": CASES / "valued_flags.jsonl",  # written before options with a value counted
}


@dataclass
class Tally:
    """Calls that a guard met, of those tried."""

    met: int = 0
    tried: int = 0

    def add(self, guard: Guard | None, calls: Iterable[Call]) -> list[Call]:
        """Try a guard on calls; return those that it meets."""
        calls = list(calls)
        found = [call for call in calls if guard is not None and matches(guard, call)]
        self.met += len(found)
        self.tried += len(calls)
        return found

    def __str__(self) -> str:
        return f"{self.met:4d} of {self.tried:6d} ({100 * self.met / max(self.tried, 1):.2f} %)"


def read(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def calls_of(lesson: dict[str, Any], name: str) -> list[Call]:
    """Return the calls of a lesson that go against it, or follow it."""
    return [Call(call["tool"], call["arguments"]) for call in lesson[name]]


def recorded(data: Path) -> list[Call]:
    """Return the calls of recorded sessions."""
    events = (event for run in read(data / "coding_runs" / "runs.jsonl") for event in run["events"])
    return [
        Call(event["tool"], event["arguments"]) for event in events if event["type"] == "tool_call"
    ]


def show(name: str, lessons: list[dict[str, Any]], noise: list[Call], *, verbose: bool) -> None:
    """Print the figures of one set of lessons."""
    against, armed, follows, noisy = Tally(), Tally(), Tally(), Tally()
    guards = false_guards = 0
    for lesson in lessons:
        wrong, right = calls_of(lesson, "against"), calls_of(lesson, "follows")
        guard = derive(wrong[0], right[0], is_chosen=True)
        false_guards += guard is not None and lesson.get("silent", False)
        guards += guard is not None
        met = [] if lesson.get("silent") else against.add(guard, wrong[1:])
        if guard is not None:
            armed.add(guard, wrong[1:])
        alike = follows.add(guard, right[1:])
        met_noise = noisy.add(guard, noise)
        if verbose:
            print(f"{len(met)}/{len(wrong) - 1} {'!' * len(alike)} {guard}")
            print(f"      {lesson['mistake'][:90]} | {lesson['correction'][:70]}")
            for call in (call for call in wrong[1:] if call not in met):
                print(f"        missed {call.arguments}")
            for call in alike:
                print(f"        FALSE  {call.arguments}")
            if met_noise:
                print(f"        noise  {len(met_noise)} {met_noise[0].arguments}"[:160])
    print(
        f"{name:15s} guards {guards} of {len(lessons)}, {false_guards} where none may be; against {against}, "
        f"of lessons with a guard {armed}; follow {follows}; recorded {noisy}"
    )


def main() -> None:
    """Print the figures of each set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--show", choices=(*SETS, "sample"), help="print each guard of one set")
    options = parser.parse_args()
    noise = recorded(options.data) if options.data.exists() else []
    if not noise:
        print(f"{options.data} is absent: no recorded calls, no sample.", file=sys.stderr)
    sets = {name: read(path) for name, path in SETS.items()}
    if noise:
        sets["sample"] = read(options.data / "moments" / "guard.jsonl")
    for name, lessons in sets.items():
        show(name, lessons, noise, verbose=options.show == name)


if __name__ == "__main__":
    main()
