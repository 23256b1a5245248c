"""Tool results as read: how each ended, and what test runners, linters, type checkers and builds in it reported.

One reader serves all programs. Counts are numbers beside a word such as "passed" or "errors" in a line that sums up;
names stand beside a mark such as "ok" or "✓"; diagnostics are lines that point into a file.
"""

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final, cast

from mcp_reflect.models.critique import ToolResult

# Summaries stand at the end of an output and its name at the start: of a long one we read both ends.
_HEAD: Final = 15_000
_TAIL: Final = 45_000
_TOTAL: Final = 200_000
_LINE: Final = 500
_NOTHING: Final[Mapping[str, int]] = MappingProxyType({})


class Kind(StrEnum):
    """The kind of a report."""

    TESTS = "tests"
    LINT = "lint"
    TYPES = "types"
    BUILD = "build"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One run of a test runner, linter, type checker or build.

    `counts` holds a number for each category that the output tells, `parts` further numbers of a run in parts.
    `names` maps the names of tests, in lower case, to "passes", "fails" or "skipped"; `failures` counts those that
    are listed as failing.
    """

    runner: str
    kind: Kind
    ok: bool | None = None
    counts: Mapping[str, int] = field(default_factory=lambda: _NOTHING)
    parts: Mapping[str, frozenset[int]] = field(default_factory=lambda: MappingProxyType({}))
    names: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    failures: int = 0

    @property
    def passed(self) -> int | None:
        return self.counts.get("passed")

    def broken(self) -> int | None:
        """Return failures and errors together, None where neither is known."""
        known = [self.counts[name] for name in ("failed", "errors") if name in self.counts]
        return sum(known) if known else None

    def values(self, category: str) -> frozenset[int]:
        """Return every number that the report supports for a category; none where it does not say."""
        count, broken, passed, total = self.counts.get, self.broken(), self.passed, self.counts.get("total")
        numbers: list[int | None] = [count(category), *self.parts.get(category, ())]
        if category == "failed":
            numbers.append(broken)
        elif category == "problems" and count("problems") is None and count("errors") is not None:
            numbers += [count("errors"), count("errors", 0) + count("warnings", 0)]
        elif category in {"total", "all"}:
            if total is not None:
                numbers += [total - count("skipped", 0), *([total] if category == "total" else [])]
            if passed is not None:
                numbers.append(passed + (broken or 0) + count("xfailed", 0))
                numbers += [passed, passed + count("xfailed", 0)] if category == "all" else []
            numbers += self.parts.get("passed", ()) if category == "all" else ()
        return frozenset(number for number in numbers if number is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One tool result as read. `ended_well` is None where nothing says how it ended."""

    index: int
    tool: str
    text: str
    exit_code: int | None
    reports: tuple[Report, ...]
    ended_well: bool | None


def seen(results: Sequence[ToolResult]) -> tuple[Seen, ...]:
    """Each result in order, clipped so that all of it stays within bounds; the latest ones are clipped least."""
    left = _TOTAL
    read: list[Seen] = []
    for index in range(len(results) - 1, -1, -1):
        text = _clipped(results[index].content, min(left, _HEAD + _TAIL))
        left -= len(text)
        tool, code = (results[index].tool or "").lower()[:200], results[index].exit_code
        reports = tuple(_reports(tool, text, code))
        ended_well = _ended_well(text, code, reports)
        read.append(Seen(index=index, tool=tool, text=text, exit_code=code, reports=reports, ended_well=ended_well))
    return tuple(reversed(read))


def _clipped(text: str, space: int) -> str:
    if len(text) > space:
        head = space // 4
        text = f"{text[:head]}\n{text[len(text) - (space - head) :]}" if space > 0 else ""
    return re.sub(r"\x1b\[[0-9;]{0,20}[A-Za-z]", "", text).replace("\r\n", "\n")


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


def _reports(tool: str, text: str, exit_code: int | None) -> Iterator[Report]:
    lines = [line[:_LINE].rstrip() for line in text.replace("<testsuite ", "\n<testsuite ").split("\n")]
    names = [name for name, _, _, pattern in _RUNNERS if pattern.search(text)]
    called = next((name for name, _, pattern, _ in _RUNNERS if pattern.search(tool)), None)
    tests = [name for name in names if KINDS[name] is Kind.TESTS]
    if tests:
        runner = called if tests[0] in {"pytest", "tests"} and called and KINDS[called] is Kind.TESTS else tests[0]
        yield _tests("pytest" if runner == "tests" else runner or tests[0], lines, exit_code)
    kinds = {KINDS[name] for name in names}
    for name in names:
        if KINDS[name] is not Kind.TESTS and not (name == "rustc" and "clippy" in names):
            if name == "make" and _STOP.search(text) and not any(map(_DIAGNOSTIC.match, lines)):
                kinds.add(Kind.TESTS)
                yield Report(runner="tests", kind=Kind.TESTS, ok=False)
            else:
                yield _diagnosed(name, lines)
    if called == "flake8" and any(map(_DIAGNOSTIC.match, lines)):
        yield _diagnosed(called, lines)
    elif called and exit_code is not None and KINDS[called] not in kinds and not (called == "make" and kinds):
        # A program that printed nothing we read still said how it ended.
        ok = exit_code == 0
        counts = {"failed": 0} if ok and KINDS[called] is Kind.TESTS else {"errors": 0} if ok else {}
        quiet = {"warnings": 0} if ok and not text.strip() else {}
        yield Report(runner=called, kind=KINDS[called], ok=ok, counts={**counts, **quiet})


def _pairs(line: str) -> Iterator[tuple[str, int]]:
    for found in _PAIR.finditer(line):
        yield _CATEGORY[(found[2] or found[3]).lower()], int(found[1] or found[4])


def _tests(runner: str, lines: list[str], exit_code: int | None) -> Report:
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
    names, failures, listed = _names(lines)
    if runner == "go test":
        # Each package has a line; the cases are named one by one, those at the left edge are whole tests.
        packages = [line.startswith("ok") for line in lines if re.match(r"(?:ok  |FAIL)\s\S+\s+[\d.(\[]", line)]
        states = list(listed.values())
        counts = {"passed_suites": sum(packages), "failed_suites": packages.count(False)}
        counts["total_suites"] = len(packages)
        if states or all(packages):
            counts["failed"], told["failed"] = states.count("fails"), [failures]
        if "passes" in states:
            counts |= {"passed": states.count("passes"), "skipped": states.count("skipped")}
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
    parts = {name: frozenset(numbers) for name, numbers in told.items() if len(numbers) > 1 or runner == "go test"}
    return Report(runner=runner, kind=Kind.TESTS, ok=ok, counts=counts, parts=parts, names=names, failures=failures)


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
    **dict.fromkeys(("ok", "pass", "passed", "xpass", "✓", "✔", "√"), "passes"),
    **dict.fromkeys(("skip", "skipped", "ignored", "xfail", "↓", "○", "﹣", "-"), "skipped"),
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
        state = "skipped" if found.groupdict().get("skip") else _MARKS.get(found["mark"].lower(), "fails")
        whole = found["name"].lower().rstrip(":")
        last = re.split(r"::| [›>] ", whole)[-1]
        if state == "fails":
            failing.add(last)
        if line.startswith("---"):
            listed[whole] = state
        for name in {whole, last, last.split("[", 1)[0]}:
            if states.get(name) != "fails":
                states[name] = state
    return states, len(failing), listed


def _diagnosed(runner: str, lines: list[str]) -> Report:
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
        return Report(runner=runner, kind=Kind.BUILD, ok=False, counts={"warnings": counts["warnings"]})
    return Report(
        runner=runner, kind=KINDS[runner], ok=counts["errors"] == 0 if "errors" in counts else None, counts=counts
    )


_DECIMAL: Final = re.compile(r"\bDecimal\('([\d.-]{1,40})'\)")
_BAD_START: Final = re.compile(
    r"^\s{0,40}(?:error\b|fatal: |traceback \(most recent|exception in thread |panic: )", re.IGNORECASE
)
_GOOD_WORDS: Final = frozenset("ok success succeeded sent done completed created updated deleted".split())
_BAD_WORDS: Final = frozenset("failed failure error rejected denied timeout".split())


def _ended_well(text: str, exit_code: int | None, reports: tuple[Report, ...]) -> bool | None:
    if any(report.ok is False for report in reports):
        return False
    if exit_code is not None:
        return exit_code == 0
    parsed = parsed_json(text)
    if isinstance(parsed, dict):
        value = cast("dict[str, object]", parsed)
        for key in ("success", "ok"):
            if isinstance(value.get(key), bool):
                return bool(value[key])
        word = str(value.get("status", "")).lower()
        if word in _BAD_WORDS or value.get("error"):
            return False
        if word in _GOOD_WORDS:
            return True
    if reports and all(report.ok for report in reports):
        return True
    return False if _BAD_START.match(text) else None


def parsed_json(text: str) -> object:
    """Return the JSON or Python literal of a text, HTTP headers apart; None where there is none, or too deep."""
    body = (text.split("\n\n", 1)[-1] if text.startswith("HTTP/") else text).strip()
    if not body or body[0] not in "[{(" or len(body) > 100_000 or body.count("[") + body.count("{") > 5_000:
        return None
    if deepest(body) > 60:
        return None
    try:
        return json.loads(body)
    except ValueError:
        pass
    try:  # the repr of Python's lists, tuples and dicts
        return json.loads(json.dumps(ast.literal_eval(_DECIMAL.sub(r"\1", body))))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def deepest(text: str) -> int:
    """Return how deep brackets nest, without regard to quotes: an upper bound that costs one pass."""
    depth = most = 0
    for char in text:
        if char in "[{(":
            depth += 1
            most = max(most, depth)
        elif char in "]})":
            depth -= 1
    return most
