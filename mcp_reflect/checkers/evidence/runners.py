"""Readers of the output of test runners."""

import re
from dataclasses import replace

from mcp_reflect.checkers.evidence.reports import Report, added

_GO_CASE = re.compile(r"^(\s{0,40})--- (PASS|FAIL|SKIP): (\S+) \(")
_GO_PACKAGE = re.compile(r"^(ok  |FAIL)\s(\S+)\s+(?:[\d.]+s|\(cached\)|\[build failed\]|\[setup failed\])")


def read_go(lines: list[str]) -> Report | None:
    """Packages that are ok or FAIL, and the cases that go test names."""
    packages: dict[str, bool] = {}
    cases: dict[str, str] = {}
    top: dict[str, str] = {}
    for line in lines:
        if found := _GO_PACKAGE.match(line):
            packages[found[2].lower()] = found[1] == "ok  "
        elif found := _GO_CASE.match(line):
            cases[found[3].lower()] = found[2]
            if not found[1]:
                top[found[3].lower()] = found[2]
    if not packages:
        return None
    good = [name for name, fine in packages.items() if fine]
    return Report(
        runner="go test",
        ok=len(good) == len(packages),
        failed=sum(word == "FAIL" for word in top.values()) if cases or len(good) == len(packages) else None,
        passed=sum(word == "PASS" for word in top.values()) if "PASS" in cases.values() else None,
        skipped=sum(word == "SKIP" for word in top.values()) if "PASS" in cases.values() else None,
        failed_suites=len(packages) - len(good),
        passed_suites=len(good),
        total_suites=len(packages),
        failing=_with(cases, "FAIL") | {name for name, fine in packages.items() if not fine},
        passing=_with(cases, "PASS") | set(good),
        skipping=_with(cases, "SKIP"),
        parts=(_subtests(cases),) if len(cases) > len(top) else (),
    )


def _subtests(cases: dict[str, str]) -> Report:
    return Report(runner="go test", failed=sum(word == "FAIL" for word in cases.values()))


def _with(cases: dict[str, str], word: str) -> frozenset[str]:
    return frozenset(name for name, said in cases.items() if said == word)


_CARGO = re.compile(
    r"^test result: (ok|FAILED)\. (\d{1,7}) passed; (\d{1,7}) failed; (\d{1,7}) ignored; "
    r"\d+ measured; (\d{1,7}) filtered"
)
_CARGO_CASE = re.compile(r"^test (.{1,300}) \.\.\. (ok|FAILED|ignored)\b")


def read_cargo(lines: list[str]) -> Report | None:
    """Each "test result:" line is a part: unit tests, integration tests, doc tests."""
    parts: list[Report] = []
    names: dict[str, set[str]] = {"ok": set(), "FAILED": set(), "ignored": set()}
    for line in lines:
        if found := _CARGO_CASE.match(line):
            name = found[1].lower()
            names[found[2]] |= {name, name.rsplit("::", 1)[-1]}
        elif found := _CARGO.match(line):
            parts.append(_cargo_part(found, names))
            names = {"ok": set(), "FAILED": set(), "ignored": set()}
    return added(parts) if parts else None


def _cargo_part(found: re.Match[str], names: dict[str, set[str]]) -> Report:
    passed, failed, ignored = int(found[2]), int(found[3]), int(found[4])
    return Report(
        runner="cargo test",
        ok=found[1] == "ok",
        passed=passed,
        failed=failed,
        skipped=ignored,
        deselected=int(found[5]),
        total=passed + failed + ignored,
        passing=frozenset(names["ok"]),
        failing=frozenset(names["FAILED"]),
        skipping=frozenset(names["ignored"]),
    )


_SUITE = re.compile(r"<testsuite\b([^<>]{0,2000})>")
_CASE_RUNNERS_COMPILED = re.compile(r"<testcase\b([^<>]{0,2000}?)(/?)>(?:\s{0,40}<(failure|error|skipped)\b)?")
_ATTRIBUTE = re.compile(r'\b(\w+)="([^"]{0,500})"')


def read_junit(text: str) -> Report | None:
    """JUnit XML, read by its tags: no XML parser, so no entity can blow up."""
    suites = [dict(_ATTRIBUTE.findall(found)) for found in _SUITE.findall(text)]
    suites = [suite for suite in suites if suite.get("tests", "").isdecimal()]
    if not suites:
        return None
    total, failed, errors = (_total(suites, key) for key in ("tests", "failures", "errors"))
    skipped = _total(suites, "skipped")
    names: dict[str, set[str]] = {"": set(), "failure": set(), "error": set(), "skipped": set()}
    for attributes, closed, child in _CASE_RUNNERS_COMPILED.findall(text):
        name = dict(_ATTRIBUTE.findall(attributes)).get("name", "").lower()
        names["" if closed else child] |= {name, name.split("[", 1)[0]}
    failing = names["failure"] | names["error"]
    return Report(
        runner="junit",
        ok=failed + errors == 0 and total > skipped,
        passed=max(0, total - failed - errors - skipped),
        failed=failed,
        errors=errors,
        skipped=skipped,
        total=total,
        failing=frozenset(failing),
        passing=frozenset(names[""] - failing),
        skipping=frozenset(names["skipped"]),
    )


def _total(suites: list[dict[str, str]], key: str) -> int:
    return sum(int(suite[key]) for suite in suites if suite.get(key, "").isdecimal() and len(suite[key]) < 8)


_JEST = re.compile(r"^(Tests|Test Suites):\s{1,10}(\d.*) total$")
_VITEST = re.compile(r"^\s{0,9}(Tests|Test Files)\s{1,3}(\d.*)\((\d+)\)$")
_COUNT_RUNNERS_JS = re.compile(r"(\d{1,7}) (passed|failed|skipped|todo|total)")
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
            counts[found[1]] = {word: int(number) for number, word in _COUNT_RUNNERS_JS.findall(line)}
    if "Tests" not in counts:
        return None
    return _report("jest", counts["Tests"], counts.get("Test Suites", {}), lines)


def read_vitest(lines: list[str]) -> Report | None:
    """Vitest's "Tests" and "Test Files" lines."""
    counts: dict[str, dict[str, int]] = {}
    for line in lines:
        if found := _VITEST.match(line):
            numbers = {word: int(number) for number, word in _COUNT_RUNNERS_JS.findall(found[2])}
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
_COUNT_RUNNERS_PYTHON = re.compile(r"(\d{1,7}) (passed|failed|errors?|skipped|xfailed|xpassed|deselected|warnings?)\b")
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
            summary = {_PYTEST_WORDS[word]: int(number) for number, word in _COUNT_RUNNERS_PYTHON.findall(line)}
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
_CASE_RUNNERS_PYTHON = re.compile(r"^(\w+) \([\w.]+\)(?: \.\.\. |$)")
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
        elif found := _CASE_RUNNERS_PYTHON.match(line):
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
