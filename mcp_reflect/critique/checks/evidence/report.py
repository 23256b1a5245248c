"""What one run of a test runner, linter, type checker or build said, in numbers."""

from dataclasses import dataclass, replace
from enum import StrEnum


class Kind(StrEnum):
    """What a report is about."""

    TESTS = "tests"
    LINT = "lint"
    TYPES = "types"
    BUILD = "build"


KINDS = {
    **dict.fromkeys(("pytest", "unittest", "jest", "vitest", "mocha", "node", "go test", "cargo test"), Kind.TESTS),
    **dict.fromkeys(("junit", "tests"), Kind.TESTS),
    **dict.fromkeys(("ruff", "eslint", "flake8", "pylint", "prettier", "black", "clippy", "biome"), Kind.LINT),
    **dict.fromkeys(("mypy", "tsc", "pyright"), Kind.TYPES),
    **dict.fromkeys(("make", "javac", "rustc", "go build", "gcc"), Kind.BUILD),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Counts are None where the output does not say. `failed` leaves errors out; `source` is the tool result's index.

    `failing`, `passing` and `skipping` hold names of tests in lower case; `parts` the reports this one adds up.
    """

    runner: str
    ok: bool | None = None
    passed: int | None = None
    failed: int | None = None
    errors: int | None = None
    skipped: int | None = None
    xfailed: int | None = None
    deselected: int | None = None
    warnings: int | None = None
    problems: int | None = None
    total: int | None = None
    files: int | None = None
    failed_suites: int | None = None
    passed_suites: int | None = None
    total_suites: int | None = None
    failing: frozenset[str] = frozenset()
    passing: frozenset[str] = frozenset()
    skipping: frozenset[str] = frozenset()
    parts: tuple["Report", ...] = ()
    source: int = 0

    @property
    def kind(self) -> Kind:
        """What the runner reports on."""
        return KINDS[self.runner]

    def values(self, category: str) -> frozenset[int]:
        """Every number that this report supports for the category; empty where it does not say."""
        found = {number for part in self.parts for number in part.values(category)}
        return frozenset(found | _own_values(self, category))

    def broken(self) -> int | None:
        """Failures and errors together, None where neither is known."""
        if self.failed is None and self.errors is None:
            return None
        return (self.failed or 0) + (self.errors or 0)


def _own_values(report: Report, category: str) -> set[int]:
    if category == "failed":
        return _known(report.failed, report.broken())
    if category == "problems":
        loose = (report.errors or 0) + (report.warnings or 0)
        return _known(report.problems) or _known(report.errors, loose if report.errors is not None else None)
    if category == "total":
        ran = None if report.total is None or report.skipped is None else report.total - report.skipped
        return _known(report.total, ran, _finished(report))
    if category == "all":
        lenient = None if report.passed is None else report.passed + (report.xfailed or 0)
        return _known(report.passed, lenient) | _own_values(report, "total")
    return _known(getattr(report, category))


def _finished(report: Report) -> int | None:
    """How many tests ran to an end, skipped ones left out."""
    if report.passed is None:
        return None
    return report.passed + (report.broken() or 0) + (report.xfailed or 0)


def _known(*numbers: int | None) -> set[int]:
    return {number for number in numbers if number is not None}


_SUMMED = ("passed", "failed", "errors", "skipped", "total")


def added(parts: list[Report]) -> Report:
    """One report for several of the same runner in one output: a crate's unit and doc tests, a module's packages."""
    first = parts[0]
    if len(parts) == 1:
        return first
    sums = {name: _sum([getattr(part, name) for part in parts]) for name in _SUMMED}
    return replace(
        first,
        ok=None if any(part.ok is None for part in parts) else all(part.ok for part in parts),
        **sums,
        failing=frozenset().union(*(part.failing for part in parts)),
        passing=frozenset().union(*(part.passing for part in parts)),
        skipping=frozenset().union(*(part.skipping for part in parts)),
        parts=tuple(parts),
    )


def _sum(numbers: list[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None
