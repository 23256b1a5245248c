"""Reads what jest, vitest, mocha and node's own test runner print."""

import re

from mcp_reflect.critique.checks.evidence.report import Report

_JEST = re.compile(r"^(Tests|Test Suites):\s{1,10}(\d.*) total$")
_VITEST = re.compile(r"^\s{0,9}(Tests|Test Files)\s{1,3}(\d.*)\((\d+)\)$")
_COUNT = re.compile(r"(\d{1,7}) (passed|failed|skipped|todo|total)")
_MARKED = re.compile(r"^\s{1,20}([✓✔×✕✖↓○-]) (\S.*?)(?: \(?\d+(?:\.\d+)? ?m?s\)?)?$")
_BULLET = re.compile(r"^\s{0,6}(?:● |FAIL  \S+ > )(\S.*)$")


def _marks(lines: list[str]) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Names after a tick, a cross or a skip mark: passing, failing, skipping."""
    passing: set[str] = set()
    failing: set[str] = set()
    skipping: set[str] = set()
    for line in lines:
        if found := _MARKED.match(line):
            bucket = passing if found[1] in "✓✔" else failing if found[1] in "×✕✖" else skipping
            bucket.add(found[2].lower())
        elif found := _BULLET.match(line):
            failing.add(re.split(r" [›>] ", found[1])[-1].lower())
    return frozenset(passing - failing), frozenset(failing), frozenset(skipping)


def _report(runner: str, tests: dict[str, int], suites: dict[str, int], lines: list[str]) -> Report:
    failed = tests.get("failed", 0)
    broken_suites = suites.get("failed", 0)
    passing, failing, skipping = _marks(lines)
    return Report(
        runner=runner,
        ok=failed == 0 and broken_suites == 0 and tests.get("passed", 0) > 0,
        passed=tests.get("passed", 0),
        failed=failed,
        skipped=tests.get("skipped", 0) + tests.get("todo", 0),
        total=tests.get("total"),
        failed_suites=broken_suites if suites else None,
        passed_suites=suites.get("passed", 0) if suites else None,
        total_suites=suites.get("total"),
        passing=passing,
        failing=failing,
        skipping=skipping,
    )


def read_jest(lines: list[str]) -> Report | None:
    """Jest's "Tests:" and "Test Suites:" lines."""
    counts: dict[str, dict[str, int]] = {}
    for line in lines:
        if found := _JEST.match(line):
            counts[found[1]] = {word: int(number) for number, word in _COUNT.findall(line)}
    if "Tests" not in counts:
        return None
    return _report("jest", counts["Tests"], counts.get("Test Suites", {}), lines)


def read_vitest(lines: list[str]) -> Report | None:
    """Vitest's "Tests" and "Test Files" lines."""
    counts: dict[str, dict[str, int]] = {}
    for line in lines:
        if found := _VITEST.match(line):
            numbers = {word: int(number) for number, word in _COUNT.findall(found[2])}
            counts[found[1]] = {**numbers, "total": int(found[3])}
    if "Tests" not in counts:
        return None
    return _report("vitest", counts["Tests"], counts.get("Test Files", {}), lines)


_MOCHA = re.compile(r"^\s{1,6}(\d{1,7}) (passing|failing|pending)\b")
_MOCHA_NAME = re.compile(r"^\s{3,20}\d{1,5}\) (\S.*)$")


def read_mocha(lines: list[str]) -> Report | None:
    """Mocha's "N passing", "N pending", "N failing"."""
    counts: dict[str, int] = {}
    broken: set[str] = set()
    for line in lines:
        if found := _MOCHA.match(line):
            counts[found[2]] = int(found[1])
        elif not counts and (found := _MOCHA_NAME.match(line)):
            broken.add(found[1].lower())
    if "passing" not in counts:
        return None
    passing, failing, skipping = _marks(lines)
    failed = counts.get("failing", 0)
    return Report(
        runner="mocha",
        ok=failed == 0 and counts["passing"] > 0,
        passed=counts["passing"],
        failed=failed,
        skipped=counts.get("pending", 0),
        total=sum(counts.values()),
        passing=passing - broken,
        failing=failing | broken,
        skipping=skipping,
    )


_NODE = re.compile(r"^[#ℹ] (tests|pass|fail|cancelled|skipped|todo) (\d{1,7})$")
_TAP = re.compile(r"^\s{0,40}(ok|not ok) \d{1,7} - (.*?)( # SKIP.*| # TODO.*)?$")
_SPEC = re.compile(r"^([✔✖﹣]) (.*?)(?: \([\d.]+ms\))?( # SKIP.*)?$")


def read_node(lines: list[str]) -> Report | None:
    """node --test, as TAP or spec."""
    counts: dict[str, int] = {}
    names: dict[str, set[str]] = {"pass": set(), "fail": set(), "skip": set()}
    for line in lines:
        if found := _NODE.match(line):
            counts[found[1]] = int(found[2])
        elif found := _TAP.match(line):
            names["skip" if found[3] else "pass" if found[1] == "ok" else "fail"].add(found[2].lower())
        elif found := _SPEC.match(line):
            names["skip" if found[3] else "pass" if found[1] == "✔" else "fail"].add(found[2].lower())
    if not {"tests", "pass", "fail"} <= counts.keys():
        return None
    failed = counts["fail"] + counts.get("cancelled", 0)
    return Report(
        runner="node",
        ok=failed == 0 and counts["pass"] > 0,
        passed=counts["pass"],
        failed=failed,
        skipped=counts.get("skipped", 0) + counts.get("todo", 0),
        total=counts["tests"],
        passing=frozenset(names["pass"] - names["fail"]),
        failing=frozenset(names["fail"]),
        skipping=frozenset(names["skip"]),
    )
