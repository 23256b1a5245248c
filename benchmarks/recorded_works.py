"""What `critique` shows under the claims of recorded works: python -m benchmarks.recorded_works FILE [--data DIR].

A line of FILE is a work of a recorded session: `{run, event, work, claims: [{claim, decides: [{event, line}]}]}`. `work` is
what the agent wrote at that event of DIR/coding_runs/runs.jsonl, `decides` has parts of outputs before it that decide the
claim, and is empty where none does. With `--show`, the answers are printed for reading; with `--sample N`, works are drawn
from the sessions themselves, for which no lines are known.
"""

import argparse
import json
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.work import read
from mcp_reflect.evidence.digest import Digest, Outputs
from mcp_reflect.evidence.shown_outputs import APART
from mcp_reflect.evidence.verifying import letters
from mcp_reflect.evidence.work import split, statements_of
from mcp_reflect.models.critique import Claim, ToolResult
from mcp_reflect.services.transcripts import NamedCall, named_call, with_written_lines

_MOST_RESULTS: Final = 400
_LONG_LINE: Final = 8  # letters and digits
_SHORTEST_WORK: Final = 60  # characters
_LONGEST_WORK: Final = 1_500
_LEAST_BEFORE: Final = 8  # events
_MOST_OF_A_RUN: Final = 2  # works
_RESPONSES: Final = ("tool_response", "tool_result")


@dataclass(frozen=True, slots=True)
class Answer:
    """A recorded work with the claims and the digest of its answer; `events` has the place of each result by number."""

    record: Mapping[str, Any]
    claims: tuple[Claim, ...]
    digest: Digest
    events: Mapping[int, int]

    @property
    def size(self) -> int:
        return sum(len(one.text.encode()) + 4 for one in self.digest.shown)

    def has_line(self, decides: Sequence[Mapping[str, Any]]) -> bool:
        """True if one of the lines, or the part of it that is shown, stands in the answer.

        A short line has to stand beside its own output; what a call wrote stands beside the answer to that call.
        """
        for one in decides:
            wanted = letters(one["line"])
            event = one["event"] + (one.get("from") == "call")
            for shown in self.digest.shown:
                is_own = self.events[shown.result] == event
                lines = map(letters, shown.lines) if is_own or len(wanted) >= _LONG_LINE else ()
                if any(line and (line in wanted or wanted in line) for line in lines):
                    return True
        return False

    def claim_like(self, text: str) -> Claim | None:
        """Return our claim that shares most words with one of the record."""
        wanted = set(text.lower().split())
        shares = {claim: len(wanted & set(claim.text.lower().split())) for claim in self.claims}
        best = max(shares, key=lambda claim: shares[claim], default=None)
        return best if best is not None and shares[best] > len(wanted) / 2 else None

    def is_shown_nothing(self, text: str) -> bool:
        claim = self.claim_like(text)
        return claim is None or not self.digest.places.get(claim.number)


def results_before(run: Mapping[str, Any], event: int) -> list[tuple[int, ToolResult]]:
    """Return the outputs of a session before an event, each with its place, as a host's transcript gives them."""
    calls: dict[Any, NamedCall] = {}
    last: NamedCall | None = None
    found: list[tuple[int, ToolResult]] = []
    for place, one in enumerate(run["events"][:event]):
        if one["type"] == "tool_call":
            arguments = {name: _value(name, value) for name, value in one["arguments"].items()}
            last = calls[one.get("call_id")] = named_call(one["tool"], arguments)
        elif one["type"] in _RESPONSES and last is not None:
            call = calls.get(one.get("call_id"), last)
            content = with_written_lines(one["content"], call, failed=bool(one.get("error")))
            result = ToolResult(tool=call.name, content=content, exit_code=one.get("exit_code"))
            found.append((place, result))
    return found[-_MOST_RESULTS:]


def _value(name: str, value: Any) -> Any:
    """Return an argument; a list of edits was recorded as its JSON text."""
    if name != "edits" or not isinstance(value, str):
        return value
    try:
        return json.loads(value, strict=False)
    except ValueError:
        return value


def answer_of(record: Mapping[str, Any], runs: Mapping[str, Any]) -> Answer:
    results = results_before(runs[record["run"]], record["event"])
    claims = statements_of(split(record["work"])).claims
    digest = Outputs([result for _, result in results]).digest(claims)
    events = {number: place for number, (place, _) in enumerate(results, start=1)}
    return Answer(record, claims, digest, events)


def sample(runs: Mapping[str, Any], count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield works that are drawn from the sessions, at most two of each."""
    works: list[dict[str, Any]] = [
        {"run": name, "event": place, "work": event["thought"], "claims": []}
        for name, run in runs.items()
        for place, event in enumerate(run["events"])
        if place > _LEAST_BEFORE
        and _SHORTEST_WORK < len((event.get("thought") or "").strip()) < _LONGEST_WORK
    ]
    random.Random(seed).shuffle(works)  # noqa: S311
    taken: dict[str, int] = {}
    for work in works:
        if taken.get(work["run"], 0) < _MOST_OF_A_RUN and count:
            taken[work["run"]] = taken.get(work["run"], 0) + 1
            count -= 1
            yield work


def _print(answer: Answer) -> None:
    record = answer.record
    print(f"\n## {record['run']} event {record['event']}")
    for claim in answer.claims:
        places = ", ".join(map(str, answer.digest.places.get(claim.number, ())))
        print(f"  {claim.number}. {claim.text[:220]}" + (f"  <- {places}" if places else ""))
    for place, shown in enumerate(answer.digest.shown, start=1):
        print(f"    {place}. [event {answer.events[shown.result]}] {shown.text}")
    for one in record["claims"]:
        mark = "-"
        if one["decides"]:
            mark = "found " if answer.has_line(one["decides"]) else "MISSED"
        elif not answer.is_shown_nothing(one["claim"]):
            mark = "SHOWN "
        lines = [f"{line['event']}: {line['line'][:100]}" for line in one["decides"][:3]]
        print(f"    {mark} {one['claim'][:120]} | {lines}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--show", action="store_true", help="print the answers for reading")
    parser.add_argument("--sample", type=int, default=0, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    file = options.data / "coding_runs" / "runs.jsonl"
    if not file.exists():
        print(f"no {file}: say where the data is with --data", file=sys.stderr)
        return 2
    runs = {run["id"]: run for run in read(file)}
    works = read(options.file) if options.file else list(sample(runs, options.sample, options.seed))
    answers = [answer_of(work, runs) for work in works]
    for answer in answers:
        if options.show:
            _print(answer)
    _print_figures(answers)
    return 0


def _print_figures(answers: Sequence[Answer]) -> None:
    decided = undecided = shown = silent = 0
    for answer in answers:
        for one in answer.record["claims"]:
            if one["decides"]:
                decided += 1
                shown += answer.has_line(one["decides"])
            else:
                undecided += 1
                silent += answer.is_shown_nothing(one["claim"])
    sizes = sorted(answer.size for answer in answers)
    shown_lines = [line for answer in answers for one in answer.digest.shown for line in one.lines]
    lines = sum(line != APART for line in shown_lines)
    print(f"\nclaims with their deciding line in the answer: {shown} of {decided}")
    print(f"claims that no output decides, with nothing shown: {silent} of {undecided}")
    print(
        f"lines shown: {lines}; bytes p50 {sizes[len(sizes) // 2]}, p95 {sizes[len(sizes) * 95 // 100]}"
    )


if __name__ == "__main__":
    raise SystemExit(main())
