"""Reads what go test, cargo test and JUnit XML say."""

import re

from mcp_reflect.critique.checks.evidence.report import Report, added

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
_CASE = re.compile(r"<testcase\b([^<>]{0,2000}?)(/?)>(?:\s{0,40}<(failure|error|skipped)\b)?")
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
    for attributes, closed, child in _CASE.findall(text):
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
