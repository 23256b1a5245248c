"""Runs of tests, linters, type checkers and builds in tool results, and claims that their summaries contradict."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final, NamedTuple

from mcp_reflect.evidence.command_kinds import kinds_of
from mcp_reflect.evidence.kinds import ProofKind
from mcp_reflect.evidence.outcomes import ReportedEnding, lines_of, read_outcome
from mcp_reflect.models.critique import ToolResult
from mcp_reflect.models.outcome import PARTIAL, Evidence, OutcomeDraft
from mcp_reflect.security.secret_labels import reading_weight
from mcp_reflect.shell import own_commands, read_script, unwrapped

MOST_RESULTS: Final = 400
"""Results that are read, the latest."""

MOST_READ: Final = 60_000
"""Characters of one result that are read: a quarter from its start, the rest from its end."""

MOST_READ_IN_ALL: Final = 250_000
"""Characters of all results that are read, the latest first; names of secrets count more (`reading_weight`)."""

_KINDS: Final = (ProofKind.TESTS, ProofKind.TYPES, ProofKind.LINT, ProofKind.BUILD)
# Where no command names a kind, the end of an output by which a runner of tests is known.
_TESTS_END: Final = re.compile(
    r"\b\d+ (?:tests? )?(?:passed|passing)\b|^test result: |^Tests: +\d|\b[Rr]an \d+ tests?\b|"
    r"\b\d+ (?:tests?|examples?|specs?|runs|scenarios?), \d+ |\bTests run: \d",
    re.MULTILINE,
)
_CATEGORY: Final = {
    **dict.fromkeys(("passed", "passing", "pass"), "passed"),
    **dict.fromkeys(("failed", "failing", "fail", "failures", "failure"), "failed"),
    **dict.fromkeys(("error", "errors", "problem", "problems"), "errors"),
    **dict.fromkeys(("skipped", "pending", "ignored", "todo"), "skipped"),
    **dict.fromkeys(("warning", "warnings"), "warnings"),
    **dict.fromkeys(
        ("xfailed", "expected failures", "xpassed", "unexpected successes"), "expected"
    ),
}
_WORD: Final = "|".join(sorted(_CATEGORY, key=len, reverse=True))
_PAIR: Final = re.compile(
    rf"(?<![\w.])(\d{{1,7}})(?: tests?)? ({_WORD})\b(?![=:])|\b({_WORD})(?:=\"?|:\s{{1,9}}|\s)(\d{{1,7}})\b(?! [a-z])",
    re.IGNORECASE,
)
_SUMMARY: Final = re.compile(
    r"^[\Wℹ]*(?:\[\w+\]\s*)?(?:Tests?(?: run)?\b|test result|Ran\b|FAILED|OK\b|Failed!|Passed!|Found|"
    rf"Total\b|Failures:|pass\b|fail\b|skipped\b|todo\b|Summary\b|\d+% tests|\d{{1,7}} (?:tests? )?(?:{_WORD})\b)"
    r"(?!.*\b(?:Suites|Files)\b)",
    re.IGNORECASE,
)
_BAD_START: Final = re.compile(
    r"^\s{0,40}(?:error\b|fatal: |traceback \(most recent|exception in thread |panic: )",
    re.IGNORECASE,
)

_QUOTED: Final = re.compile(r"\"[^\"]{2,500}\"|“[^”]{2,500}”|«[^»]{2,500}»|„[^“]{2,500}“")

SHOWS_OPPOSITE: Final = (
    "tool_results show the opposite of this outcome: send the outcome that they show"
)
_SHOWS_NOTHING: Final = (
    "tool_results do not show it: send the output of the test with its exit_code"
)
_SHOWS_NO_PART: Final = (
    "tool_results show no partial success: send outputs of which some passed and some failed"
)
_QUOTES_NOBODY: Final = "note quotes nobody: put the person's own words in quotation marks"
_COLOR: Final = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_MOST_COMMAND: Final = 2_000  # characters of a command that are read
_MOST_ENDING: Final = 2_000  # characters in which a runner of tests sums up
_MOST_SHOWN: Final = 160  # characters of a line that is shown


@dataclass(frozen=True, slots=True)
class RunReport:
    """One run. `passed` is None if the output does not say; `line` is the line that says it.

    `counts` has, by category, every number that the output supports: those of parts, and their sum.
    """

    kind: ProofKind
    command: str
    passed: bool | None
    line: str
    counts: dict[str, frozenset[int]] = field(default_factory=dict[str, frozenset[int]])

    def total(self, category: str) -> int | None:
        """Return the number of a category in all parts, such as "passed"; None where the output counts none."""
        return max(self.counts.get(category, ()), default=None)


def clipped(text: str, most: int = MOST_READ) -> str:
    """Return a text without colors, and of a long one its start and its end."""
    if most <= 0:
        return ""
    if len(text) > most:
        head_length = most // 4
        tail_length = most - head_length
        text = f"{text[:head_length]}\n{text[-tail_length:]}"
    if "\x1b" in text or "\r" in text:
        text = _COLOR.sub("", text)
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text


def clipped_results(results: Sequence[ToolResult]) -> list[ToolResult]:
    """Return the latest results as far as they are read; those before them are left out, and are not empty outputs."""
    room = MOST_READ_IN_ALL
    latest_first: list[ToolResult] = []
    for result in reversed(results[-MOST_RESULTS:]):
        if room <= 0:
            break
        text = clipped(result.content, min(room, MOST_READ))
        room -= reading_weight(text)
        latest_first.append(ToolResult(content=text, tool=result.tool, exit_code=result.exit_code))
    return latest_first[::-1]


def read_runs(results: Sequence[ToolResult]) -> list[RunReport]:
    """Return the runs in the results, oldest first."""
    return list(chain.from_iterable(map(_runs, clipped_results(results))))


def agrees(success: bool, tool_results: Sequence[ToolResult]) -> bool | None:
    """Return whether the results agree with `success`, None if they do not say how it went.

    The last run of each kind counts; without any, the last result that says how it ended.
    """
    has_passed = {run.kind: run.passed for run in read_runs(tool_results) if run.passed is not None}
    if has_passed:
        return all(has_passed.values()) == success
    for result in reversed(tool_results):
        ended_well = _ended_well(result)
        if ended_well is not None:
            return ended_well == success
    return None


def _ended_well(result: ToolResult) -> bool | None:
    """Return whether a result ended well, by its exit code or a first line that says an error; None if neither tells."""
    if result.exit_code is not None:
        return result.exit_code == 0
    if _BAD_START.match(clipped(result.content)):
        return False
    return None


def _runs(result: ToolResult) -> Iterator[RunReport]:
    """Yield the runs that a result reports: of the kinds that its command names, or of tests where its end sums up some."""
    command = result.tool or ""
    kinds = _kinds_in(command[:_MOST_COMMAND])
    is_named = bool(kinds)
    if not is_named and _TESTS_END.search(result.content[-_MOST_ENDING:]):
        kinds = {ProofKind.TESTS}
    ending = ReportedEnding(
        result.exit_code,
        is_own_code=is_named and "|" not in command,
        is_only_program=";" not in command,
    )
    summary = _summary_of(lines_of(result.content))
    for kind in sorted(kinds, key=_KINDS.index):
        outcome = read_outcome(kind, result.content, ending)
        if outcome.passed is not None or summary.counts:
            yield RunReport(
                kind=kind,
                command=command,
                passed=outcome.passed,
                line=summary.line or outcome.line,
                counts=summary.counts,
            )


def _kinds_in(text: str) -> set[ProofKind]:
    """Return the kinds of proof that the commands of a line are runs of."""
    kinds: set[ProofKind] = set()
    for command in own_commands(read_script(text)):
        kinds |= kinds_of(unwrapped(command.line))
    return kinds.intersection(_KINDS)


class _RunSummary(NamedTuple):
    """What the summary lines of a run count, by category, and the last of these lines."""

    counts: dict[str, frozenset[int]]
    line: str


def _summary_of(lines: Sequence[str]) -> _RunSummary:
    """Return what the summary lines count: of "3 passed" and "2 passed, 1 failed" {3, 2, 5} passed and {1} failed."""
    numbers: dict[str, list[int]] = {}
    last_line = ""
    for line in lines:
        counted = _counts_in(line)
        if counted and _SUMMARY.match(line):
            last_line = line
            for category, number in counted.items():
                numbers.setdefault(category, []).append(number)
    counts = {category: frozenset((*parts, sum(parts))) for category, parts in numbers.items()}
    return _RunSummary(counts, last_line[:_MOST_SHOWN])


def _counts_in(line: str) -> dict[str, int]:
    """Return the numbers of a line by category: "2 passed, 1 failed", "Tests run: 3, Failures: 1"."""
    counts: dict[str, int] = {}
    for pair in _PAIR.finditer(line):
        number_before, word_behind, word_before, number_behind = pair.groups()
        category = _CATEGORY[(word_behind or word_before).lower()]
        counts[category] = int(number_before or number_behind)
    return counts


def doubt_of(outcome: OutcomeDraft, results: Sequence[ToolResult]) -> str | None:
    """Return why the evidence does not support the outcome; None if it does, or is only the agent's word.

    | evidence     | success | supported where                               |
    |--------------|---------|-----------------------------------------------|
    | test, metric | 1 or 0  | the last run of each kind ended so (`agrees`) |
    | test, metric | partial | something passed and something failed         |
    | user         | any     | the note quotes somebody                      |
    | self         | any     | always                                        |
    """
    if outcome.evidence is Evidence.SELF:
        return None
    if outcome.evidence is Evidence.USER:
        quotes_somebody = _QUOTED.search(outcome.note or "") is not None
        return None if quotes_somebody else _QUOTES_NOBODY
    if outcome.success == PARTIAL:
        is_partial = show_partial_success(results)
        return None if is_partial else _SHOWS_NO_PART
    agreement = agrees(outcome.success == 1, results)
    if agreement is None:
        return _SHOWS_NOTHING
    return None if agreement else SHOWS_OPPOSITE


def show_partial_success(tool_results: Sequence[ToolResult]) -> bool:
    """Return whether the last run of each kind, taken together, passed in part and failed in part.

    A run that is wholly green or wholly red shows no partial success, nor its opposite.
    """
    last_of_kind = {run.kind: run for run in read_runs(tool_results)}
    if not last_of_kind:
        endings = {_ended_well(result) for result in tool_results}
        return {True, False} <= endings
    runs = last_of_kind.values()
    has_passed = any(run.passed is True or run.total("passed") for run in runs)
    has_failed = any(
        run.passed is False or run.total("failed") or run.total("errors") for run in runs
    )
    return bool(has_passed and has_failed)
