"""Guards on written lessons: `python -m benchmarks.guards --data ../shared/data`.

Each lesson of tests/guards/cases has calls that go against it and calls that follow it or only look alike.
A guard is derived twice: with the first of each as wrong_call and right_call, and from the words alone. Printed: how
many of the other calls against it meets, of the calls that follow, and of the calls of other people's sessions.
"""

import argparse
import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from mcp_reflect.guards.derivation import derive
from mcp_reflect.guards.guard import Call, Guard, matches
from mcp_reflect.guards.reading import derive_from_words
from mcp_reflect.guards.wording import Wording

CASES = Path(__file__).parents[1] / "tests" / "guards" / "cases" / "guards.jsonl"
OTHERS = CASES.with_name("other_programs.jsonl")  # written before the derivation was last changed


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
        return f"{self.met:5d} of {self.tried:6d} {100 * self.met / max(self.tried, 1):6.2f} %"


def read(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def is_aside(lesson: dict[str, Any]) -> bool:
    """True for the half of the lessons that no rule was written for."""
    return sha256(lesson["mistake"].encode()).digest()[0] % 2 == 1


def calls_of(lesson: dict[str, Any], name: str) -> list[Call]:
    """Return the calls of a lesson that go against it, or follow it."""
    return [Call(call["tool"], call["arguments"]) for call in lesson[name]]


def recorded(data: Path) -> list[Call]:
    """Return the calls of recorded sessions."""
    events = (event for run in read(data / "coding_runs" / "runs.jsonl") for event in run["events"])
    return [
        Call(event["tool"], event["arguments"]) for event in events if event["type"] == "tool_call"
    ]


def show(
    name: str, lessons: list[dict[str, Any]], noise: list[Call], *, words: bool, verbose: bool
) -> None:
    """Print the figures of one set of lessons."""
    against, follows, noisy = Tally(), Tally(), Tally()
    guards = 0
    for lesson in lessons:
        wording = Wording(lesson["mistake"], lesson["correction"])
        wrong, right = calls_of(lesson, "against"), calls_of(lesson, "follows")
        guard = derive_from_words(wording) if words else derive(wrong[0], right[0], wording)
        guards += guard is not None
        others = wrong if words else wrong[1:]
        met = against.add(guard, others)
        alike = follows.add(guard, right if words else right[1:])
        met_noise = noisy.add(guard, noise)
        if verbose:
            print(f"{len(met)}/{len(others)} {'!' * len(alike)} {guard}")
            print(f"      {lesson['mistake'][:90]} | {lesson['correction'][:70]}")
            for call in (call for call in others if call not in met):
                print(f"        missed {call.arguments}")
            for call in alike:
                print(f"        FALSE  {call.arguments}")
            if met_noise:
                print(f"        noise  {len(met_noise)} {met_noise[0].arguments}"[:160])
    print(
        f"{name:28s} guards {guards:3d} of {len(lessons):3d}; against {against}; follow {follows}; recorded {noisy}"
    )


def main() -> None:
    """Print the figures of the development half, the half kept aside, and the sample of the data."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument(
        "--show", choices=("dev", "aside", "others", "sample"), help="print each guard of one set"
    )
    parser.add_argument(
        "--words", action="store_true", help="with --show: those derived from the words alone"
    )
    options = parser.parse_args()
    noise = recorded(options.data) if options.data.exists() else []
    if not noise:
        print(f"{options.data} is absent: no recorded calls, no sample.", file=sys.stderr)
    lessons = read(CASES)
    sets = {
        "dev": [one for one in lessons if not is_aside(one)],
        "aside": [one for one in lessons if is_aside(one)],
    }
    sets["others"] = read(OTHERS)
    if noise:
        sets["sample"] = read(options.data / "moments" / "guard.jsonl")
    for words in (False, True):
        for name, chosen in sets.items():
            verbose = options.show == name and options.words == words
            show(
                f"{name}, {'words alone' if words else 'two calls'}",
                chosen,
                noise,
                words=words,
                verbose=verbose,
            )


if __name__ == "__main__":
    main()
