"""How often the digest of `critique` has the line that decides a wrong claim: python -m benchmarks.digest [--data DIR].

The claims in tests/evidence/cases/pointing.jsonl are about real results of DIR/coding_runs/runs.jsonl, each wrong by
any of the lines that it names. Each is put behind the results of its own session up to that one and those of up to
sixteen events more. Half of the claims are kept aside; both are drawn by the hash of a claim's words. The claims in
pointing_second.jsonl and so on were written later, each about other results and before the ranking was changed. The
claim is the whole work; in a real one, others stand beside it. With `--bare`, results name their tool but not their
command.
"""

import argparse
import hashlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.recorded_works import results_before
from benchmarks.work import CASES, read
from mcp_reflect.evidence.digest import Digest, Outputs
from mcp_reflect.models.critique import Claim, ToolResult

_MOST_BEHIND = 16  # events of the session behind the one that decides


@dataclass(frozen=True, slots=True)
class Puzzle:
    """A claim behind results; `lines` are those that decide it, `result` the number of their result."""

    claim: str
    results: tuple[ToolResult, ...]
    result: int
    lines: tuple[str, ...]

    @property
    def aside(self) -> bool:
        return hashlib.sha256(self.claim.encode()).digest()[0] % 2 == 1


def puzzles(
    runs: Sequence[Mapping[str, Any]], claims: Sequence[dict[str, Any]], *, bare: bool
) -> Iterator[Puzzle]:
    """Yield each claim behind the results of its session."""
    run_of = {run["id"]: run for run in runs}
    for claim in claims:
        run = run_of[claim["run"]]
        behind = hashlib.sha256(claim["claim"].encode()).digest()[1] % (_MOST_BEHIND + 1)
        found = list(results_before(run, claim["event"] + 1 + behind))
        number = sum(place <= claim["event"] for place, _ in found)
        results = [result for _, result in found]
        if bare:
            results = [replace(result, tool=None) for result in results]
        content: list[str] = run["events"][claim["event"]]["content"].split("\n")
        lines: tuple[str, ...] = tuple(content[int(number)] for number in claim["lines"])
        yield Puzzle(claim["claim"], tuple(results), number, lines)


def digest_of(puzzle: Puzzle) -> Digest:
    """Return the digest of a puzzle's results for its claim."""
    return Outputs(puzzle.results).digest([Claim(number=1, step=1, text=puzzle.claim)])


def shows(puzzle: Puzzle, digest: Digest) -> bool:
    """True if the deciding line, or the part of it that is shown, is in the digest."""
    shown = [one.lines for one in digest.shown if one.result == puzzle.result]
    lines = [text for one in shown for line in one if (text := line.strip("… "))]
    return any(line in own for line in lines for own in puzzle.lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument(
        "--bare", action="store_true", help="results name their tool but not their command"
    )
    parser.add_argument(
        "--misses",
        action="store_true",
        help="print the claims that are missed (not of the half kept aside)",
    )
    options = parser.parse_args(arguments)
    file = options.data / "coding_runs" / "runs.jsonl"
    if not file.exists():
        print(f"no {file}: say where the data is with --data", file=sys.stderr)
        return 2
    runs = read(file)
    sizes: list[int] = []
    hits = total = 0
    for name, half in sets_of(runs, bare=options.bare).items():
        right = 0
        for puzzle in half:
            digest = digest_of(puzzle)
            sizes.append(sum(len(one.text.encode()) for one in digest.shown))
            is_shown = shows(puzzle, digest)
            right += is_shown
            if options.misses and not is_shown and name != "aside":
                print(f"   {puzzle.claim} | {puzzle.lines[-1]}")
        print(f"{name:8} deciding line shown: {right} of {len(half)}")
        hits, total = hits + right, total + len(half)
    sizes.sort()
    print(
        f"all: {hits} of {total} ({hits / total:.1%}); bytes p50 {sizes[total // 2]}, "
        f"p95 {sizes[total * 95 // 100]}"
    )
    return 0


def sets_of(runs: Sequence[Mapping[str, Any]], *, bare: bool) -> dict[str, list[Puzzle]]:
    """Return the puzzles of each set by its name."""
    found = list(puzzles(runs, read(CASES / "pointing.jsonl"), bare=bare))
    sets = {
        "dev": [puzzle for puzzle in found if not puzzle.aside],
        "aside": [puzzle for puzzle in found if puzzle.aside],
    }
    for name in ("second", "third", "fourth", "fifth", "sixth", "seventh"):
        sets[name] = list(puzzles(runs, read(CASES / f"pointing_{name}.jsonl"), bare=bare))
    return sets


if __name__ == "__main__":
    raise SystemExit(main())
