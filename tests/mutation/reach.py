"""Which tests reach which line, and how long they take; learned from one run of the suite with coverage."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from itertools import accumulate, takewhile
from pathlib import Path

from tests.mutation.mutations import ROOT, Mutation

DATA = ROOT / ".mutation.coverage"
SECONDS = ROOT / ".mutation.seconds.json"
WIDEST = 8
"""Of the tests that are tried for a mutation, so many reach the most lines: recordings of whole answers are such."""
PROCESSES = f"""[run]
source = {ROOT / "mcp_reflect"}
data_file = {ROOT / ".coverage"}
parallel = true
sigterm = true
context = ${{PYTEST_CURRENT_TEST-}}
"""


def learn(processes: int, tests: list[str]) -> None:
    """Run tests once with coverage, and add which of them reached which line, in processes that they started too."""
    measured = ROOT / ".coverage"
    if tests and DATA.exists():
        shutil.copy(DATA, measured)
    else:
        SECONDS.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "coverage.ini"
        config.write_text(PROCESSES)
        options = ["--cov=mcp_reflect", "--cov-context=test", "--cov-report=", "-p", "tests.mutation.processes"]
        options += ["--cov-append"] if measured.exists() else []
        environment = {**os.environ, "MUTATION_COVERAGE": str(config), "MUTATION_SECONDS": str(SECONDS)}
        command = [sys.executable, "-m", "pytest", "-q", "-n", str(processes), *options, *tests]
        subprocess.run(command, cwd=ROOT, env=environment, check=False, stdout=subprocess.DEVNULL)
    shutil.move(measured, DATA)


class Reach:
    """The tests by the lines that they reach.

    Those that are tried for a mutation take at most `seconds` together, by what they took when they were learned, and
    a few of the widest more.
    """

    def __init__(self, seconds: float) -> None:
        from coverage import CoverageData  # noqa: PLC0415 - only this script needs it

        data = CoverageData(basename=str(DATA))
        data.read()
        self._by_line: dict[tuple[str, int], set[str]] = defaultdict(set)
        self._by_file: dict[str, Counter[str]] = defaultdict(Counter)
        self._lines: Counter[str] = Counter()
        self._patience = seconds
        self._seconds: dict[str, float] = json.loads(SECONDS.read_text())
        for file in data.measured_files():
            name = Path(file).relative_to(ROOT).as_posix()
            for line, contexts in data.contexts_by_lineno(file).items():
                for test in {context.partition("|")[0].partition(" (")[0] for context in contexts}:
                    if test in self._seconds:
                        self._by_line[name, line].add(test)
                        self._by_file[name][test] += 1
                        self._lines[test] += 1

    def of_line(self, mutation: Mutation) -> list[str]:
        """Return the tests that reach the mutation's statement, those that reach the fewest lines first."""
        tests = {test for line in mutation.lines for test in self._by_line.get((mutation.path, line), ())}
        ordered = sorted(tests, key=lambda test: (self._lines[test], test))
        return [*dict.fromkeys((*self._in_time(ordered, self._patience), *ordered[-WIDEST:]))]

    def of_file(self, mutation: Mutation) -> list[str]:
        """Return the tests that reach other lines of the file, those that reach most of it first.

        What a cache holds is computed for the first test only that asks for it, and seen by all the others.
        """
        known = {test for line in mutation.lines for test in self._by_line.get((mutation.path, line), ())}
        counts = self._by_file.get(mutation.path, Counter())
        ordered = sorted(counts.keys() - known, key=lambda test: (-counts[test], test))
        return self._in_time(ordered, self._patience / 2)

    def seconds(self, tests: list[str]) -> float:
        """Return how long the tests took when they were learned."""
        return sum(self._seconds[test] for test in tests)

    def _in_time(self, tests: list[str], seconds: float) -> list[str]:
        sums = accumulate(self._seconds[test] for test in tests)
        return [test for test, _ in takewhile(lambda pair: pair[1] <= seconds, zip(tests, sums, strict=True))]
