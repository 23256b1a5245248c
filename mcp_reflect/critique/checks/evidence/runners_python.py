"""Reads what pytest and unittest print."""

import re
from dataclasses import replace

from mcp_reflect.critique.checks.evidence.report import Report

_PYTEST_WORDS = {
    "passed": "passed",
    "failed": "failed",
    "error": "errors",
    "errors": "errors",
    "skipped": "skipped",
    "xfailed": "xfailed",
    "xpassed": "xpassed",
    "deselected": "deselected",
    "warning": "warnings",
    "warnings": "warnings",
}
_COUNT = re.compile(r"(\d{1,7}) (passed|failed|errors?|skipped|xfailed|xpassed|deselected|warnings?)\b")
# With or without bars: four failed, three passed, in 0.05s; or that no tests ran.
_SUMMARY = re.compile(
    r"^(?:=+ )?(?:\d{1,7} (?:passed|failed|errors?|skipped|xfailed|xpassed|deselected|warnings?)(?:, )?){1,9}"
    r"(?: in [\d.]+ ?m?s(?: \([\d:.]+\))?)?(?: =+)?$"
)
_NONE_RAN = re.compile(r"^(?:=+ )?no tests ran in [\d.]+s(?: =+)?$")
_SHORT = re.compile(r"^(FAILED|ERROR|PASSED|SKIPPED) ([^\s-]+(?:::[^ ]+)?)")
_VERBOSE = re.compile(r"^(\S+::\S+(?: \S+)?) (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b")


def read_pytest(lines: list[str]) -> Report | None:
    """The last pytest summary line, with the names that the output lists."""
    names: dict[str, set[str]] = {"FAILED": set(), "PASSED": set(), "SKIPPED": set()}
    summary: dict[str, int] | None = None
    for line in lines:
        if _SUMMARY.match(line) and (" in " in line or " passed" in line or " failed" in line):
            summary = {_PYTEST_WORDS[word]: int(number) for number, word in _COUNT.findall(line)}
        elif _NONE_RAN.match(line):
            summary = {}
        elif found := _SHORT.match(line):
            _put(names, found[1], found[2])
        elif found := _VERBOSE.match(line):
            _put(names, found[2], found[1])
    if summary is None:
        return None
    return _pytest_report(summary, names)


def _pytest_report(summary: dict[str, int], names: dict[str, set[str]]) -> Report:
    passed, failed, errors = (summary.get(key, 0) for key in ("passed", "failed", "errors"))
    skipped, xfailed = summary.get("skipped", 0), summary.get("xfailed", 0)
    xpassed = summary.get("xpassed", 0)
    return Report(
        runner="pytest",
        ok=failed + errors == 0 and passed + skipped + xfailed + xpassed > 0,
        passed=passed,
        failed=failed,
        errors=errors,
        skipped=skipped,
        xfailed=xfailed,
        deselected=summary.get("deselected", 0),
        warnings=summary.get("warnings"),
        total=passed + failed + skipped + xfailed + xpassed,
        failing=frozenset(names["FAILED"]),
        passing=frozenset(names["PASSED"]),
        skipping=frozenset(names["SKIPPED"]),
    )


def _put(names: dict[str, set[str]], word: str, node: str) -> None:
    bucket = {"ERROR": "FAILED", "XPASS": "PASSED", "XFAIL": ""}.get(word, word)
    if bucket:
        names[bucket] |= names_of(node)


def names_of(node: str) -> set[str]:
    """Every way to name a test: the whole id, the last part, and that without its parameters."""
    last = node.rsplit("::", 1)[-1]
    return {name.lower() for name in (node, last, last.split("[", 1)[0]) if name}


_RAN = re.compile(r"^Ran (\d{1,7}) tests? in [\d.]+s")
_RESULT = re.compile(r"^(OK|FAILED|NO TESTS RAN)(?: \(([\w ]+=\d+(?:, [\w ]+=\d+)*)\))?$")
_CASE = re.compile(r"^(\w+) \([\w.]+\)(?: \.\.\. |$)")
_BROKEN = re.compile(r"^(?:FAIL|ERROR): (\w+) \(")


def read_unittest(lines: list[str]) -> Report | None:
    """The "Ran N tests" block of unittest (Django prints the same)."""
    ran: int | None = None
    report: Report | None = None
    failing: set[str] = set()
    passing: set[str] = set()
    skipping: set[str] = set()
    for line in lines:
        if found := _RAN.match(line):
            ran = int(found[1])
        elif ran is not None and (found := _RESULT.match(line)):
            report = _unittest_report(ran, found[1], found[2] or "")
        elif found := _BROKEN.match(line):
            failing.add(found[1].lower())
        elif found := _CASE.match(line):
            bucket = passing if line.endswith(" ok") else skipping if " ... skipped" in line else None
            if bucket is not None:
                bucket.add(found[1].lower())
    if report is None:
        return None
    return _named(report, failing, passing, skipping)


def _named(report: Report, failing: set[str], passing: set[str], skipping: set[str]) -> Report:
    return replace(
        report, failing=frozenset(failing), passing=frozenset(passing - failing), skipping=frozenset(skipping)
    )


def _unittest_report(ran: int, word: str, details: str) -> Report:
    counts = {key: int(value) for key, value in re.findall(r"([\w ]+)=(\d+)", details)}
    counts = {key.strip(): value for key, value in counts.items()}
    failed, errors = counts.get("failures", 0), counts.get("errors", 0)
    skipped, xfailed = counts.get("skipped", 0), counts.get("expected failures", 0)
    return Report(
        runner="unittest",
        ok=word == "OK" and ran > 0,
        passed=max(0, ran - failed - errors - skipped - xfailed),
        failed=failed,
        errors=errors,
        skipped=skipped,
        xfailed=xfailed,
        total=ran,
    )
