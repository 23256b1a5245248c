"""Make random mutations of mcp_reflect and count those that no test notices.

    python -m tests.mutation --count 150 --seed 1            # all of the package
    python -m tests.mutation --count 30 --under checkers     # one part of it

The suite runs once with coverage, to learn which tests reach which line and how long they take (kept in
`.mutation.coverage` and `.mutation.seconds.json`; --learn makes them anew, --learn FILE adds the tests of a file). Each
mutation is then made in a copy of the checkout and tried with the tests that reach its statement, the most specific
first and a few of the widest last, then with others that reach its file. A mutation survives if all of them pass. The
copies are all that is changed. What was tried is kept with --results FILE, and not tried again by the next run with it.
Needs pytest-cov.
"""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from queue import SimpleQueue

from tests.mutation.mutations import ROOT, Mutation, mutations_of
from tests.mutation.reach import DATA, SECONDS, Reach, learn

STARTING = 60
"""What pytest may take to start, in seconds, beside three times what the tests take; hanging is noticing."""

# The worker has imported plugins whose asserts pytest would rewrite.
OPTIONS = [
    *"-q -x -n 0 -rfE -p no:cacheprovider -p no:cov -p no:randomly".split(),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),
]
HEALTHY = "tests/test_settings.py"
"""Tests that pass without a mutation, or the worker itself is broken."""

_passing: set[str] = set()
_failing: set[str] = set()
"""Tests that noticed a mutation: those that pass without one, and those that fail then too."""

_times = count(1_000_000_000)
"""Each content of a file gets a time of its own: Python keeps compiled files by time and size."""

Kept = dict[str, str]
"""What noticed each mutation: a test, a word where pytest named none, nothing where the mutation survived."""


class Worker:
    """A copy of the checkout, and a process that runs tests in it."""

    def __init__(self, folder: Path) -> None:
        ignore = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", ".mutation*")
        self._copy = Path(shutil.copytree(ROOT, folder / "copy", ignore=ignore))
        self._output = folder / "output"
        self._process = subprocess.Popen(
            [sys.executable, "tests/mutation/worker.py"],
            cwd=self._copy, env={**os.environ, "PYTHONPATH": str(self._copy)}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        if self._run([*OPTIONS, HEALTHY], STARTING) != "0":
            raise SystemExit(self._output.read_text("utf-8", "replace"))

    def noticed_by(self, mutation: Mutation, tests: list[str], seconds: float) -> str:
        """Return the first test that fails with the mutation in place, and passes without; else an empty text."""
        tests = [test for test in tests if test not in _failing]
        target = self._copy / mutation.path
        original = target.read_bytes()
        _write(target, original[: mutation.start] + mutation.after.encode() + original[mutation.end :])
        failed = self._first_failing(tests, STARTING + 3 * seconds) if tests else ""
        _write(target, original)
        if failed in ("", "hangs") or failed in _passing:
            return failed
        named = failed in tests
        without = self._first_failing([failed] if named else tests, STARTING + 3 * seconds)
        if not without:
            if named:
                _passing.add(failed)
            return failed
        if not named:  # a module of tests that cannot be imported would notice every mutation
            raise SystemExit(f"Without a mutation, these tests do not run: {without}")
        _failing.add(failed)
        return self.noticed_by(mutation, tests, seconds)

    def _first_failing(self, tests: list[str], seconds: float) -> str:
        """Return the first test that fails, or in other words how pytest ended; an empty text where all pass."""
        status = self._run([*OPTIONS, *tests], seconds)
        if status in ("0", "hangs"):
            return "" if status == "0" else status
        output = self._output.read_text("utf-8", "replace")
        gone = re.findall(r"not found: (?:\S*/copy/)?(tests/.*)$", output, re.MULTILINE)
        if status == "4" and gone:  # tests that are there no longer since they were learned
            left = [test for test in tests if not test.startswith(tuple(gone))]
            return self._first_failing(left, seconds) if left else ""
        failed = re.search(r"^(?:FAILED|ERROR) (\S+::.*?)(?: - |$)", output, re.MULTILINE)
        return failed[1] if failed else f"{output[-200:]} (status {status})"

    def _run(self, arguments: list[str], seconds: float) -> str:
        given, answer = self._process.stdin, self._process.stdout
        assert given is not None and answer is not None  # noqa: PT018 - pipes were asked for
        given.write(json.dumps({"arguments": arguments, "output": str(self._output), "seconds": seconds}) + "\n")
        given.flush()
        return answer.readline().strip()

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def _write(target: Path, content: bytes) -> None:
    target.write_bytes(content)
    time = next(_times)
    os.utime(target, (time, time))


def try_all(chosen: list[Mutation], reach: Reach, processes: int, results: Path | None) -> Kept:
    """Try the mutations, each in one of as many copies as there are processes; print those that survive."""
    kept: Kept = {}
    if results and results.exists():
        kept = dict(json.loads(line) for line in results.read_text("utf-8").splitlines())
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(processes) as pool:
        workers = [Worker(Path(folder) / str(number)) for number in range(processes)]
        free: SimpleQueue[Worker] = SimpleQueue()
        for worker in workers:
            free.put(worker)

        def attempt(mutation: Mutation) -> None:
            worker, by = free.get(), ""
            for tests in (reach.of_line(mutation), reach.of_file(mutation)):
                by = by or worker.noticed_by(mutation, tests, reach.seconds(tests))
            free.put(worker)
            kept[str(mutation)] = by
            if results:
                with results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([str(mutation), by]) + "\n")
            if not by:
                reached = "" if reach.of_line(mutation) else " (no test reaches it)"
                print(f"survived {mutation}{reached}", flush=True)

        list(pool.map(attempt, [mutation for mutation in chosen if str(mutation) not in kept]))
        for worker in workers:
            worker.close()
    return kept


def main() -> int:
    """Make the mutations and report; exit status 1 where more than 12 % survive."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--under", default="", help="a folder or file below mcp_reflect")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=60, help="that the tests of one mutation may take")
    parser.add_argument("--results", type=Path, help="a file that keeps what was tried, to go on after a stop")
    parser.add_argument("--learn", nargs="*", metavar="TESTS", help="learn first what these tests reach, or all tests")
    options = parser.parse_args()
    if options.learn is not None or not (DATA.exists() and SECONDS.exists()):
        learn(options.processes, options.learn or [])
    package = ROOT / "mcp_reflect" / options.under
    files = [package] if package.is_file() else sorted(package.rglob("*.py"))
    every = sorted((mutation for path in files for mutation in mutations_of(path)), key=str)
    chosen = random.Random(options.seed).sample(every, min(options.count, len(every)))
    kept = try_all(chosen, Reach(options.seconds), options.processes, options.results)
    tried = Counter(mutation.path.split("/")[1] for mutation in chosen)
    survivors = Counter(mutation.path.split("/")[1] for mutation in chosen if not kept[str(mutation)])
    print("\n".join(f"{part:12} {survivors[part]:3} of {count:3} survive" for part, count in sorted(tried.items())))
    total = survivors.total()
    print(f"{total} of {len(chosen)} mutations survive ({total / max(1, len(chosen)):.0%}), seed {options.seed}")
    return 1 if total > 0.12 * len(chosen) else 0


if __name__ == "__main__":
    sys.exit(main())
