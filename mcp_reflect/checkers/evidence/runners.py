"""Rows of runs of test runners, linters, type checkers and builds, and of the tests in them.

One reader serves all programs. Counts are numbers beside a word such as "passed" or "errors" in a line that sums up;
names stand beside a mark such as "ok" or "✓"; diagnostics are lines that point into a file.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from mcp_reflect.checkers.evidence.rows import Cell, Figure, Kind, Row

PASSES: Final = "passes"
FAILS: Final = "fails"
SKIPPED: Final = "skipped"
_LINE: Final = 500

# Programs: name, kind, how a tool call names it, and the lines by which its output is known; two blanks between.
_TABLE: Final = r"""
cargo test  tests  \bcargo (?:nextest|test)\b  ^test result: |^ +Summary \[.*tests run:
go test  tests  \bgo test\b  ^(?:ok {2}|FAIL)\s\S+\s+(?:[\d.]+s|\(cached\)|\[\w+ failed\])|^--- (?:PASS|FAIL)
node  tests  \bnode .{0,40}--test\b  ^[#ℹ] tests \d
jest  tests  \bjest\b  ^Tests: .* total$
vitest  tests  \bvitest\b  ^ *Tests {2}.*\(\d+\)$
mocha  tests  \bmocha\b  ^ {1,6}\d+ passing\b
unittest  tests  \bunittest\b  ^Ran \d+ tests? in\b
junit  tests  \b(?:mvnw?|maven|gradlew?|junit)\b  <testsuite\b|\bTests run: \d
rspec  tests  \brspec\b  ^\d+ examples?, \d+ failures?
pytest  tests  \bpytest\b  ^(?:=+ )?(?:(?:\d+ \w+,? ?){1,9}(?: ?in [\d.]+ ?m?s.*=*$|=+$)|no tests ran in)
tests  tests  (?:^|[_ .:-])(?:run_?)?tests?(?:$|[_ .:-])|\bnpm (?:run )?test\b|\bctest\b|\bphpunit\b
    ^\W{0,4}(?:\d+ (?:tests? )?(?:passed|failed)\b[^a-z]{0,9}(?:$|\d|in [\d.]+)|(?:Failed|Passed|Tests):\s+\d+,)|
    ^OK \(\d+ tests?|^\d+% tests passed|\b\d+ tests? completed\b
ruff  lint  \bruff\b  ^Found \d+ errors?(?:\.| \(\d+ fixed)|^All checks passed!$
eslint  lint  \beslint\b  ^✖ \d+ problems? \(
flake8  lint  \bflake8\b  (?!)
prettier  lint  \b(?:prettier|black|biome|shellcheck|golangci-lint|rubocop|stylelint|pylint)\b  (?!)
mypy  types  \bmypy\b  ^Found \d+ errors? in \d+ files? \(|^Success: no issues found
tsc  types  \btsc\b  ^\S.*\berror TS\d+:
pyright  types  \bpyright\b  ^\d+ errors?, \d+ warnings?, \d+ informations?
clippy  lint  \bclippy\b  ^ {4}Checking \S+ v
rustc  build  \bcargo (?:build|check)\b  ^error: could not compile|^ {4}Finished `
javac  build  \bjavac\b  ^\S+\.java:\d+: error:
go build  build  \bgo (?:build|vet)\b  ^# \S+.*\n(?:vet: )?\S+\.go:\d+:\d+: \S
make  build  \bmake\b  ^make(?:\[\d+\])?: \*\*\* |\.(?:c|cc|cpp|h|hpp):\d+:\d+: (?:fatal )?error:
"""
_ROWS: Final = [re.split(" {2,}", row) for row in re.sub(r"\|\n {4}", "|", _TABLE).replace("\n    ", "  ").split("\n")]
_RUNNERS: Final = tuple(
    (name, Kind(kind), re.compile(tool), re.compile(lines, re.MULTILINE)) for name, kind, tool, lines in _ROWS[1:-1]
)
KINDS: Final[Mapping[str, Kind]] = {name: kind for name, kind, _, _ in _RUNNERS}

_CATEGORY: Final = {
    **dict.fromkeys(("passed", "passing", "pass"), "passed"),
    **dict.fromkeys(("failed", "failing", "fail", "failures", "failure"), "failed"),
    **dict.fromkeys(("error", "errors"), "errors"),
    **dict.fromkeys(("skipped", "pending", "ignored"), "skipped"),
    **dict.fromkeys(("xfailed", "expected failures"), "xfailed"),
    **dict.fromkeys(("xpassed", "unexpected successes"), "xpassed"),
    **dict.fromkeys(("deselected", "filtered out"), "deselected"),
    **dict.fromkeys(("warning", "warnings"), "warnings"),
    **dict.fromkeys(("problem", "problems"), "problems"),
    **dict.fromkeys(
        ("test", "tests", "total", "tests run", "tests completed", "example", "examples", "out of"), "total"
    ),
    **dict.fromkeys(("file", "files"), "files"),
    **{word: word for word in ("remaining", "cancelled", "todo")},
}
_WORD: Final = "|".join(sorted(_CATEGORY, key=len, reverse=True))
_PAIR: Final = re.compile(
    rf"(?<![\w.])(\d{{1,7}})(?: tests?| previous)? ({_WORD})\b(?![=:])|\b({_WORD})(?:=\"?|:\s{{1,9}}|"
    rf"\s)(\d{{1,7}})\b(?! [a-z])",
    re.IGNORECASE,
)
_SUMMARY: Final = re.compile(
    rf"^[\Wℹ]*(?:\[\w+\]\s*)?(?P<lead>testsuite |Test Suites|Test Files|Tests?(?: run)?\b|test result|"
    rf"Ran\b|FAILED|OK\b|Failed!|"
    rf"Passed!|"
    rf"Total\b|Failures:|pass\b|fail\b|skipped\b|cancelled\b|todo\b|Summary\b|\d+% tests|no tests ran|"
    rf"\d{{1,7}} (?:tests? )?(?:{_WORD})\b)",
    re.IGNORECASE,
)
_DIAGNOSTIC: Final = re.compile(
    r"^(?P<file>[^\s:()]{1,300}\.\w{1,5})(?::\d+(?::\d+)?|\(\d+,\d+\)):?\s(?:- )?(?:fatal )?"
    r"(?:(?P<severity>error|warning)\b|(?P<code>[A-Z]{1,3}\d{3,4}):? )?"
)
_STOP: Final = re.compile(r"^make(?:\[\d+\])?: \*\*\* \[\S{1,200}: (?:tests?|check)\]", re.MULTILINE)


def read_runs(tool: str, text: str, exit_code: int | None) -> Iterator[Row]:
    """Return a row for each run, then one for each test that is named."""
    lines = [line[:_LINE].rstrip() for line in text.replace("<testsuite ", "\n<testsuite ").split("\n")]
    names = [name for name, _, _, pattern in _RUNNERS if pattern.search(text)]
    called = next((name for name, _, pattern, _ in _RUNNERS if pattern.search(tool)), None)
    tests = [name for name in names if KINDS[name] is Kind.TESTS]
    if tests:
        runner = called if tests[0] in {"pytest", "tests"} and called and KINDS[called] is Kind.TESTS else tests[0]
        yield from _tests("pytest" if runner == "tests" else runner or tests[0], lines, exit_code)
    kinds = {KINDS[name] for name in names}
    for name in names:
        if KINDS[name] is not Kind.TESTS and not (name == "rustc" and "clippy" in names):
            if name == "make" and _STOP.search(text) and not any(map(_DIAGNOSTIC.match, lines)):
                kinds.add(Kind.TESTS)
                yield _run("tests", Kind.TESTS, {}, ok=False)
            else:
                yield _diagnosed(name, lines)
    if called == "flake8" and any(map(_DIAGNOSTIC.match, lines)):
        yield _diagnosed(called, lines)
    elif called and exit_code is not None and KINDS[called] not in kinds and not (called == "make" and kinds):
        # A program that printed nothing we read still said how it ended.
        ok = exit_code == 0
        counts = {"failed": 0} if ok and KINDS[called] is Kind.TESTS else {"errors": 0} if ok else {}
        quiet = {"warnings": 0} if ok and not text.strip() else {}
        yield _run(called, KINDS[called], {**counts, **quiet}, ok=ok)


def _run(
    runner: str,
    kind: Kind,
    counts: Mapping[str, int],
    parts: Mapping[str, Collection[int]] | None = None,
    *,
    ok: bool | None,
) -> Row:
    """Return the row of a run. A label has every number that the output supports for it, the printed one first."""
    count, listed = counts.get, parts or {}
    numbers = {name: [number, *listed.get(name, ())] for name, number in counts.items()}
    broken = count("failed", 0) + count("errors", 0)
    if "failed" in counts or "errors" in counts:
        numbers.setdefault("failed", []).append(broken)
    if "errors" in counts and "problems" not in counts:
        numbers["problems"] = [count("errors", 0), count("errors", 0) + count("warnings", 0)]
    passed, total = count("passed"), count("total")
    ran = [] if total is None else [total - count("skipped", 0)]
    numbers["all"] = [*ran, *listed.get("passed", ())]
    numbers.setdefault("total", []).extend(ran)
    if passed is not None:
        whole = passed + broken + count("xfailed", 0)
        numbers["total"].append(whole)
        numbers["all"] += [whole, passed, passed + count("xfailed", 0)]
    cells = [
        Cell(frozenset({name}), str(number), Figure(number, "", 0, 1.0, 0, 0, str(number)))
        for name, values in numbers.items()
        for number in values
    ]
    said = [f"{n} {name}" for name in ("failed", "errors", "passed", "warnings") if (n := count(name))]
    line = f"{runner}: {', '.join(said) or ('ok' if ok else FAILS)}"
    state = "" if ok is None else PASSES if ok else FAILS
    return Row(tuple(cells), frozenset({runner}), line, runner, state=state, source=runner, kind=kind)


def _pairs(line: str) -> Iterator[tuple[str, int]]:
    for found in _PAIR.finditer(line):
        yield _CATEGORY[(found[2] or found[3]).lower()], int(found[1] or found[4])


def _tests(runner: str, lines: list[str], exit_code: int | None) -> Iterator[Row]:
    """Add up the lines that sum up; the last line of a form counts, but those of parts that are told alike add up."""
    told: dict[str, list[int]] = {}
    for line in lines:
        if summary := _SUMMARY.match(line):
            suites = "_suites" if summary["lead"].lower() in {"test suites", "test files"} else ""
            bracket = re.search(r"\((\d{1,7})\)$", line)
            pairs = [*_pairs(line), *([("total", int(bracket[1]))] if bracket else [])]
            for category, number in dict(pairs).items():
                told.setdefault(category + suites, []).append(number)
    added = runner in {"cargo test", "pytest"}
    counts = {name: sum(numbers) if added else numbers[-1] for name, numbers in told.items()}
    cases, failures, listed = _names(lines)
    if runner == "go test":
        # Each package has a line; the cases are named one by one, those at the left edge are whole tests.
        packages = [line.startswith("ok") for line in lines if re.match(r"(?:ok  |FAIL)\s\S+\s+[\d.(\[]", line)]
        states = list(listed.values())
        counts = {"passed_suites": sum(packages), "failed_suites": packages.count(False), "total_suites": len(packages)}
        if states or all(packages):
            counts["failed"], told["failed"] = states.count(FAILS), [failures]
        if PASSES in states:
            counts |= {"passed": states.count(PASSES), "skipped": states.count(SKIPPED)}
    elif counts:
        counts = {"failed": 0, "errors": 0, "skipped": 0, **counts}
        counts["failed"] += counts.pop("cancelled", 0)
        counts["skipped"] += counts.pop("todo", 0)
        others = counts["failed"] + counts["skipped"] + counts.get("xfailed", 0)
        counts.setdefault("passed", max(0, counts.get("total", 0) - others - counts["errors"]))
        counts.setdefault("total", counts["passed"] + others + counts.get("xpassed", 0))
    bad = sum(counts.get(name, 0) for name in ("failed", "errors", "failed_suites"))
    ran = sum(counts.get(name, 0) for name in ("passed", "skipped", "xfailed", "passed_suites"))
    ok = bad == 0 and ran > 0 if counts else None if exit_code is None else exit_code == 0
    parts = {name: numbers for name, numbers in told.items() if len(numbers) > 1 or runner == "go test"}
    yield _run(runner, Kind.TESTS, {**counts, "listed": failures}, parts, ok=ok)
    for name, state in cases.items():
        named = (Cell(frozenset({"test"}), name),)
        yield Row(named, frozenset(), f"{name} {state}", (runner,), state=state, source=runner, name=name)


_NAMED: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"^(?P<name>\S+::\S+(?: \S+)?) (?P<mark>PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b",
        r"^ *(?P<mark>not ok|ok) \d{1,7} - (?P<name>.*?)(?P<skip> # (?:SKIP|TODO).*)?$",
        (
            r"^\s*(?:--- )?(?P<mark>ok|PASS|FAIL|SKIP|FAILED|ERROR|PASSED|SKIPPED)(?:: |"
            r"\s+)(?P<name>[^\s:>-][^\s>]*(?:::[^ ]+)?)(?! \S+ >)"
        ),
        r"^ {0,20}(?P<mark>[✓✔√×✕✖✗↓○﹣-]) (?P<name>\S.*?)(?: \(?[\d.]+ ?m?s\)?)?(?P<skip> # SKIP.*)?$",
        r"^test (?P<name>.{1,300}) \.\.\. (?P<mark>ok|FAILED|ignored)\b",
        r"^(?P<name>\w+) \([\w.]+\) \.\.\. (?P<mark>ok|FAIL|ERROR|skipped)",
        r"^ {3,20}(?P<mark>)\d{1,5}\) (?P<name>\S.*)$",
        r"^ {0,6}(?:●|FAIL  \S+ >)(?P<mark>) (?P<name>\S.*)$",
    )
)
_MARKS: Final = {
    **dict.fromkeys(("ok", "pass", "passed", "xpass", "✓", "✔", "√"), PASSES),
    **dict.fromkeys(("skip", "skipped", "ignored", "xfail", "↓", "○", "﹣", "-"), SKIPPED),
}


def _names(lines: list[str]) -> tuple[dict[str, str], int, dict[str, str]]:
    """Return the state of each name and its short forms, the number of failures listed, and the names as listed."""
    states: dict[str, str] = {}
    listed: dict[str, str] = {}
    failing: set[str] = set()
    for line in lines:
        found = next((match for pattern in _NAMED if (match := pattern.match(line))), None)
        if found is None:
            continue
        state = SKIPPED if found.groupdict().get("skip") else _MARKS.get(found["mark"].lower(), FAILS)
        whole = found["name"].lower().rstrip(":")
        last = re.split(r"::| [›>] ", whole)[-1]
        if state == FAILS:
            failing.add(last)
        if line.startswith("---"):
            listed[whole] = state
        for name in {whole, last, last.split("[", 1)[0]}:
            if states.get(name) != FAILS:
                states[name] = state
    return states, len(failing), listed


def _diagnosed(runner: str, lines: list[str]) -> Row:
    """Return the errors and warnings of a linter, type checker or build, from its summary, else line by line."""
    known = next(pattern for name, _, _, pattern in _RUNNERS if name == runner)
    summary = next((line for line in reversed(lines) if re.search(r"could not compile|^\d{1,7} errors?$", line)), "")
    summary = summary or next((line for line in reversed(lines) if known.search(line)), "")
    counts = dict(_pairs(summary)) if runner not in {"tsc", "make", "go build"} else {}
    found = [match for line in lines if (match := _DIAGNOSTIC.match(line))]
    if "remaining" in counts:
        counts["errors"] = counts.pop("remaining")
    if "could not compile" in summary:
        counts.setdefault("errors", 1)
    elif re.match(r"All checks passed|Success:| {4}Finished", summary):
        counts = {"errors": 0, **({"warnings": 0} if runner == "ruff" else {})}
    elif "errors" not in counts and runner != "clippy":
        errors = sum(match["severity"] != "warning" for match in found if runner != "make" or match["severity"])
        warnings = sum(match["severity"] == "warning" for match in found)
        counts = {"errors": errors, "warnings": warnings, "files": len({match["file"] for match in found})}
    if runner == "make" and not counts["errors"]:  # it stopped for a reason that is no diagnostic
        return _run(runner, Kind.BUILD, {"warnings": counts["warnings"]}, ok=False)
    return _run(runner, KINDS[runner], counts, ok=counts["errors"] == 0 if "errors" in counts else None)
