"""What one run of a test runner, linter, type checker or build reported, in numbers."""

import re
from dataclasses import dataclass, replace
from enum import StrEnum


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


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


def _of(runner: str, count: int | None, *, files: int | None = None, warnings: int | None = None) -> Report:
    return Report(runner=runner, ok=count == 0, errors=count, files=files, warnings=warnings)


_FOUND = re.compile(r"^Found (\d{1,7}) errors?(?: \((\d+) fixed, (\d+) remaining\))?\.$")
_MYPY = re.compile(r"^Found (\d{1,7}) errors? in (\d{1,7}) files? \(")
_MYPY_OK = re.compile(r"^Success: no issues found in \d+ source files?$")
_PYRIGHT = re.compile(r"^(\d{1,7}) errors?, (\d{1,7}) warnings?, \d+ informations?")


def read_python_lint(lines: list[str]) -> Report | None:
    """Ruff, mypy, pyright and pylint's rating: the last line that says it."""
    for line in reversed(lines):
        if report := _python_line(line):
            return report
    return None


def _python_line(line: str) -> Report | None:
    if found := _FOUND.match(line):
        return _of("ruff", int(found[3] or found[1]))
    if line == "All checks passed!":
        return _of("ruff", 0, warnings=0)
    if found := _MYPY.match(line):
        return _of("mypy", int(found[1]), files=int(found[2]))
    if found := _PYRIGHT.match(line):
        return _of("pyright", int(found[1]), warnings=int(found[2]))
    if line.startswith("Your code has been rated at "):
        return Report(runner="pylint", ok=line.startswith("Your code has been rated at 10.00/10") or None)
    return _of("mypy", 0) if _MYPY_OK.match(line) else None


_FLAKE = re.compile(r"^\S{1,300}:\d+:\d+: ([A-Z]{1,3}\d{3,4}) ")


def read_flake8(lines: list[str]) -> Report | None:
    """Every line is a finding, and nothing closes the list."""
    filled = [line for line in lines if line.strip()]
    if not filled or not all(_FLAKE.match(line) for line in filled):
        return None
    return _of("flake8", len(filled))


_ESLINT = re.compile(r"^✖ (\d{1,7}) problems? \((\d{1,7}) errors?, (\d{1,7}) warnings?\)")
_TSC = re.compile(r"^(\S.{0,300}?)(?:\(\d+,\d+\): |:\d+:\d+ - )error TS\d+: ")
_PRETTIER_BAD = re.compile(r"^\[warn\] Code style issues (?:found in (?:the above file|(\d+) files))")


def read_js_lint(lines: list[str]) -> Report | None:
    """ESLint, tsc and Prettier."""
    typed: list[str] = []
    for line in lines:
        if found := _ESLINT.match(line):
            problems, errors, warnings = (int(found[index]) for index in (1, 2, 3))
            return Report(runner="eslint", ok=errors == 0, problems=problems, errors=errors, warnings=warnings)
        if found := _TSC.match(line):
            typed.append(found[1])
        elif found := _PRETTIER_BAD.match(line):
            return Report(runner="prettier", ok=False, files=int(found[1] or 1))
        elif line == "All matched files use Prettier code style!":
            return Report(runner="prettier", ok=True)
    return _of("tsc", len(typed), files=len(set(typed))) if typed else None


_RUSTC = re.compile(r"^error: could not compile .{0,300} due to (?:(\d+) )?previous errors?")
_JAVAC = re.compile(r"^(\d{1,7}) errors?$")
_JAVAC_LINE = re.compile(r"^\S{1,300}\.java:\d+: error: ")
_GCC = re.compile(r"^\S{1,300}\.(?:c|cc|cpp|h|hpp):\d+:\d+: (?:fatal )?(error|warning): ")
_MAKE = re.compile(r"^make(?:\[\d+\])?: \*\*\* (?:\[\S{1,200}: (\S{1,60})\])?")
_GO_LINE = re.compile(r"^(?:\./)?\S{1,300}\.go:\d+:\d+: \S")
_CLIPPY = re.compile(r"^ {4}Checking \S+ v")
_BUILT = re.compile(r"^ {4}Finished `")


def read_cargo_build(lines: list[str]) -> Report | None:
    """rustc under cargo, and clippy."""
    clippy = built = False
    for line in lines:
        clippy = clippy or bool(_CLIPPY.match(line))
        built = built or bool(_BUILT.match(line))
        if found := _RUSTC.match(line):
            return _of("clippy" if clippy else "rustc", int(found[1] or 1))
    return _of("rustc", 0) if built else None


def read_java(lines: list[str]) -> Report | None:
    """The count that closes javac's list of errors."""
    listed = any(_JAVAC_LINE.match(line) for line in lines)
    counts = [int(found[1]) for line in lines if (found := _JAVAC.match(line))]
    return _of("javac", counts[-1]) if listed and counts else None


def read_make(lines: list[str]) -> Report | None:
    """The compiler's diagnostics under make, and make's own stop."""
    marks = [found[1] for line in lines if (found := _GCC.match(line))]
    errors = marks.count("error")
    stops = [found[1] for line in lines if (found := _MAKE.match(line))]
    if not errors and stops and stops[-1] in {"test", "tests", "check"}:
        return Report(runner="tests", ok=False)
    if errors or stops:
        return Report(runner="make", ok=False, errors=errors or None, warnings=marks.count("warning"))
    return None


def read_go_build(lines: list[str]) -> Report | None:
    """Go's compiler: a header with the package, then a line an error."""
    if not any(line.startswith("# ") for line in lines[:20]):
        return None
    errors = sum(bool(_GO_LINE.match(line)) for line in lines)
    return _of("go build", errors) if errors else None
