"""What each tool result reports, and how it ended."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from mcp_reflect.checkers.evidence import reports as lint
from mcp_reflect.checkers.evidence import runners as runners_compiled
from mcp_reflect.checkers.evidence.reports import KINDS, Kind, Report
from mcp_reflect.models.critique import ToolResult

# Summaries stand at the end of an output and its name at the start: of a long one we read both ends.
_HEAD = 15_000
_TAIL = 45_000
_TOTAL = 200_000
_LINE = 500

_COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")

# A reader runs only where its marker stands in the text.
_READERS: tuple[tuple[tuple[str, ...], Callable[[list[str]], Report | None]], ...] = (
    ((" passed", " failed", " error", " deselected", " skipped", "no tests ran"), runners_compiled.read_pytest),
    (("\nRan ",), runners_compiled.read_unittest),
    (("\nTests:",), runners_compiled.read_jest),
    (("Tests  ",), runners_compiled.read_vitest),
    ((" passing",), runners_compiled.read_mocha),
    (("# tests ", "ℹ tests "), runners_compiled.read_node),
    (("\nok  ", "\nFAIL\t", "\nFAIL "), runners_compiled.read_go),
    (("test result: ",), runners_compiled.read_cargo),
    (("Found ", "All checks passed!", "Success: ", " informations", "rated at "), lint.read_python_lint),
    ((" problem", "error TS", "Prettier", "prettier", "code style"), lint.read_js_lint),
    (("error: could not compile", "Finished `"), lint.read_cargo_build),
    ((".java:",), lint.read_java),
    (("error: ", "make: ***", "make["), lint.read_make),
    ((".go:",), lint.read_go_build),
)


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
    found: list[Seen] = []
    for index in range(len(results) - 1, -1, -1):
        text = _clipped(results[index].content, min(left, _HEAD + _TAIL))
        left -= len(text)
        found.append(_seen(index, results[index], text))
    return tuple(reversed(found))


def _clipped(text: str, space: int) -> str:
    if len(text) > space:
        head = space // 4
        text = f"{text[:head]}\n{text[len(text) - (space - head) :]}" if space > 0 else ""
    return _COLOUR.sub("", text).replace("\r\n", "\n")


def _seen(index: int, result: ToolResult, text: str) -> Seen:
    tool = (result.tool or "").lower()[:200]
    reports = tuple(replace(report, source=index) for report in _reports(tool, text, result.exit_code))
    return Seen(
        index=index,
        tool=tool,
        text=text,
        exit_code=result.exit_code,
        reports=reports,
        ended_well=_ended_well(text, result.exit_code, reports),
    )


def _reports(tool: str, text: str, exit_code: int | None) -> list[Report]:
    lines = [line[:_LINE].rstrip() for line in text.split("\n")]
    marked = "\n" + text
    reports = [
        report for markers, read in _READERS if any(mark in marked for mark in markers) and (report := read(lines))
    ]
    runner = _runner_of(tool)
    if "<testsuite" in text and (report := runners_compiled.read_junit(text)):
        reports = [report]
    if runner == "flake8" and (report := lint.read_flake8(lines)):
        reports.append(report)
    if runner and runner != "tests":
        reports = [_named(report, runner) for report in reports]
    spoken = any(report.kind is KINDS[runner] or runner == "make" for report in reports) if runner else True
    if runner and not spoken and exit_code is not None:
        reports.append(_from_exit(runner, exit_code, silent=not text.strip()))
    return [_settled(report, exit_code) for report in reports]


def _named(report: Report, runner: str) -> Report:
    """A plain "12 passed, 0 failed" is read as pytest's; the tool's own name knows better."""
    plain = report.runner == "pytest" and KINDS[runner] is Kind.TESTS
    return replace(report, runner=runner) if plain else report


def _settled(report: Report, exit_code: int | None) -> Report:
    return report if report.ok is not None or exit_code is None else replace(report, ok=exit_code == 0)


def _from_exit(runner: str, exit_code: int, *, silent: bool) -> Report:
    """A runner that printed nothing we read still said how it ended."""
    ok = exit_code == 0
    tests = KINDS[runner] is Kind.TESTS
    return Report(
        runner=runner,
        ok=ok,
        failed=0 if ok and tests else None,
        errors=0 if ok else None,
        warnings=0 if ok and silent else None,
    )


_TOOLS = (
    (re.compile(r"\bgo test\b"), "go test"),
    (re.compile(r"\bcargo (?:nextest|test)\b"), "cargo test"),
    (re.compile(r"\bnode .{0,40}--test\b"), "node"),
    (re.compile(r"\bgo (?:build|vet)\b"), "go build"),
    (re.compile(r"\bcargo (?:build|check)\b"), "rustc"),
    (re.compile(r"clippy"), "clippy"),
    (
        re.compile(
            r"\b(pytest|unittest|jest|vitest|mocha|eslint|ruff|mypy|tsc|flake8|pylint|prettier|black|pyright|"
            r"javac|make)\b"
        ),
        "",
    ),
    (re.compile(r"(?:^|[_ .:-])(?:run_?)?tests?(?:$|[_ .:-])|\bnpm (?:run )?test\b"), "tests"),
)


def _runner_of(tool: str) -> str | None:
    for pattern, runner in _TOOLS:
        if found := pattern.search(tool):
            return runner or found[1]
    return None


_BAD_START = re.compile(
    r"^\s{0,40}(?:error\b|fatal: |traceback \(most recent|exception in thread |panic: )", re.IGNORECASE
)
_GOOD_WORDS = frozenset({"ok", "success", "succeeded", "sent", "done", "completed", "created", "updated", "deleted"})
_BAD_WORDS = frozenset({"failed", "failure", "error", "rejected", "denied", "timeout"})


def _ended_well(text: str, exit_code: int | None, reports: tuple[Report, ...]) -> bool | None:
    if any(report.ok is False for report in reports):
        return False
    if exit_code is not None:
        return exit_code == 0
    if (status := _status(text)) is not None:
        return status
    if reports and all(report.ok for report in reports):
        return True
    return False if _BAD_START.match(text) else None


def _status(text: str) -> bool | None:
    """What a JSON object says of itself: success, ok, status, error."""
    parsed = parsed_json(text)
    if not isinstance(parsed, dict):
        return None
    value = cast("dict[str, object]", parsed)
    for key in ("success", "ok"):
        if isinstance(value.get(key), bool):
            return bool(value[key])
    word = str(value.get("status", "")).lower()
    if word in _BAD_WORDS or value.get("error"):
        return False
    return True if word in _GOOD_WORDS else None


def parsed_json(text: str) -> object:
    """The JSON that the text is, or that follows HTTP headers in it; None where there is none or it is too deep."""
    body = text.split("\n\n", 1)[-1] if text.startswith("HTTP/") else text
    body = body.strip()
    if not body or body[0] not in "[{" or len(body) > 100_000 or body.count("[") + body.count("{") > 5_000:
        return None
    if deepest(body) > 60:
        return None
    try:
        return json.loads(body)
    except ValueError:
        return None


def deepest(text: str) -> int:
    """How deep brackets nest, counted without regard to quotes: an upper bound that costs one pass."""
    depth = most = 0
    for char in text:
        if char in "[{(":
            depth += 1
            most = max(most, depth)
        elif char in "]})":
            depth -= 1
    return most
