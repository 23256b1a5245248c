"""Runs of tests, linters, type checkers and builds in tool results, and claims that their summaries contradict."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from mcp_reflect.critique.work import Finding, Work, sentences, stated
from mcp_reflect.evidence.kinds import ProofKind, kinds_of
from mcp_reflect.evidence.outcomes import Ending, lines_of, read_outcome
from mcp_reflect.guards.commands import unwrapped
from mcp_reflect.models.critique import ToolResult
from mcp_reflect.models.lesson import Evidence, OutcomeDraft
from mcp_reflect.shell import chain

MOST_READ: Final = 60_000
"""Characters of one result that are read: a quarter from its start, the rest from its end."""

MOST_READ_IN_ALL: Final = 400_000
"""Characters of all results that are read, the latest first."""

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


@dataclass(frozen=True, slots=True)
class Run:
    """One run. `passed` is None if the output does not say; `line` is the line that says it.

    `counts` has, by category, every number that the output supports: those of parts, and their sum.
    """

    kind: ProofKind
    command: str
    passed: bool | None
    line: str
    counts: dict[str, frozenset[int]] = field(default_factory=dict[str, frozenset[int]])

    def first(self, category: str) -> int | None:
        """Return the sum of a category, or None."""
        return max(self.counts.get(category, ()), default=None)


def clipped(text: str, most: int = MOST_READ) -> str:
    """Return a text without colors, and of a long one its start and its end."""
    if len(text) > most:
        text = f"{text[: most // 4]}\n{text[len(text) - (most - most // 4) :]}" if most > 0 else ""
    if "\x1b" in text or "\r" in text:
        text = (
            re.sub(r"\x1b\[[0-9;?]{0,20}[A-Za-z]", "", text)
            .replace("\r\n", "\n")
            .replace("\r", "\n")
        )
    return text


def clipped_results(results: Sequence[ToolResult]) -> list[ToolResult]:
    """Return the results as far as they are read."""
    left, found = MOST_READ_IN_ALL, list[ToolResult]()
    for result in reversed(results):
        text = clipped(result.content, min(left, MOST_READ))
        left -= len(text)
        found.append(ToolResult(content=text, tool=result.tool, exit_code=result.exit_code))
    return found[::-1]


def read_runs(results: Sequence[ToolResult]) -> list[Run]:
    """Return the runs in the results, oldest first."""
    return [run for result in clipped_results(results) for run in _runs(result)]


def latest(runs: Iterable[Run]) -> list[Run]:
    """Return the last run of each command."""
    return list({(run.kind, run.command): run for run in runs}.values())


def agrees(success: bool, tool_results: Sequence[ToolResult]) -> bool | None:
    """Return whether the results agree with `success`, None if they do not say how it went.

    The last run of each kind counts; without any, the last result that says how it ended.
    """
    states = {run.kind: run.passed for run in read_runs(tool_results) if run.passed is not None}
    if states:
        return all(states.values()) == success
    ended = [ending for result in tool_results if (ending := _ended_well(result)) is not None]
    return ended[-1] == success if ended else None


def _ended_well(result: ToolResult) -> bool | None:
    if result.exit_code is not None:
        return result.exit_code == 0
    return False if _BAD_START.match(clipped(result.content)) else None


def _runs(result: ToolResult) -> Iterator[Run]:
    command = result.tool or ""
    named = {kind for _, words in chain(command[:2_000]) for kind in kinds_of(unwrapped(words))} & {
        *_KINDS
    }
    lines = lines_of(result.content)
    known = named or (
        {ProofKind.TESTS} if _TESTS_END.search(result.content[-2_000:]) else set[ProofKind]()
    )
    ending = Ending(
        result.exit_code, own=bool(named) and "|" not in command, alone=";" not in command
    )
    for kind in sorted(known, key=_KINDS.index):
        outcome = read_outcome(kind, result.content, ending)
        counts, line = _counts(lines)
        if outcome.passed is not None or counts:
            yield Run(kind, command, outcome.passed, line or outcome.line, counts)


def _counts(lines: Sequence[str]) -> tuple[dict[str, frozenset[int]], str]:
    """Return what the summary lines count, and the last one."""
    told: dict[str, list[int]] = {}
    shown = ""
    for line in lines:
        pairs = {_CATEGORY[(f[2] or f[3]).lower()]: int(f[1] or f[4]) for f in _PAIR.finditer(line)}
        if pairs and _SUMMARY.match(line):
            shown = line
            for category, number in pairs.items():
                told.setdefault(category, []).append(number)
    return {name: frozenset((*numbers, sum(numbers))) for name, numbers in told.items()}, shown[
        :160
    ]


_QUOTED: Final = re.compile(r"\"[^\"]{2,500}\"|“[^”]{2,500}”|«[^»]{2,500}»|„[^“]{2,500}“")


def doubt_of(told: OutcomeDraft, results: Sequence[ToolResult]) -> str | None:
    """Return why the evidence does not support the outcome; None if it does, or is only the agent's word."""
    match told.evidence:
        case Evidence.TEST | Evidence.METRIC:
            # Half a success is more than results can show.
            agreement = None if told.success == 0.5 else agrees(told.success == 1, results)
            if agreement is False:
                return "tool_results show the opposite of this outcome: send the outcome that they show"
            return (
                None
                if agreement
                else "tool_results do not show it: send the output of the test with its exit_code"
            )
        case Evidence.USER if not _QUOTED.search(told.note or ""):
            return "note quotes nobody: put the person's own words in quotation marks"
        case _:
            return None


_NUMERALS: Final = {
    word: place
    for place, word in enumerate(
        "no one two three four five six seven eight nine ten eleven twelve".split()
    )
}
_N: Final = rf"(?:\d{{1,3}}(?:,\d{{3}}){{1,6}}|\d{{1,7}}|{'|'.join(_NUMERALS)})"
_TESTS: Final = r"(?:unit |integration )?(?:tests?|test cases?|specs?)"
_CATEGORIES: Final = {
    "passed": r"pass(?:es|ed|ing)?|succeed(?:s|ed)?|green",
    "failed": r"fail(?:s|ed|ing)?|failures?",
    "skipped": r"skipped|ignored|pending",
    "errors": r"errors?",
    "warnings": r"warnings?",
}
_COUNT: Final = re.compile(
    rf"(?<![\w.#/%-])(?:all )?(?P<n>{_N})(?: (?:of|out of) (?:the |all )?(?P<m>{_N})|/(?P<k>\d{{1,7}}))?"
    rf"(?P<tests> {_TESTS})?(?: (?:are|is|were|was|still|now|all|have|has|mypy|ruff|eslint|tsc|pyright|type|lint))*"
    rf" (?P<word>{'|'.join(_CATEGORIES.values())})\b(?! (?:of|from|by|rate|time|page|message|handling|code))",
    re.IGNORECASE,
)
_NO_COUNT: Final = re.compile(
    r"\b(?:lines?|step|version|code|status|python|page|level|about|around|over|nearly|almost|roughly|than|"
    r"least|most|but|"
    r"except|except for|not|another|new|first|last|previous|fix(?:ed|es|ing)?|added|adds?|wrote|repaired|"
    r"resolved|to)(?: all| the| of)*\s?$",
    re.IGNORECASE,
)
_FILES: Final = re.compile(
    rf"(?<![\w.])(?P<n>{_N}) (?P<what>file|insertion|deletion)s?\b(?: (?:were |was |are |have )?(?P<verb>changed))?",
    re.IGNORECASE,
)
_DIFFSTAT: Final = re.compile(
    r"^ ?(\d+) files? changed(?:, (\d+) insertions?\(\+\))?(?:, (\d+) deletions?\(-\))?\s*$",
    re.MULTILINE,
)
_SUBJECTS: Final = {
    kind: re.compile(pattern, re.IGNORECASE)
    for kind, pattern in {
        ProofKind.TESTS: rf"\b(?:all|every|the (?:whole|full|entire)|the|our) (?:{_TESTS}|(?:test )?suite)\b|"
        rf"^{_TESTS} \w+$|^(?:test )?suite\b",
        ProofKind.TYPES: r"\btype[- ]?check\w*\b|\b(?:mypy|pyright|tsc)\b",
        ProofKind.LINT: r"\b(?:lint|linter|linting|ruff|eslint|flake8|clippy)\b",
        ProofKind.BUILD: r"\b(?:the|our|production|release) build\b|^build\b|\bbuilds\b|\bcompiles\b",
    }.items()
}
_WELL: Final = re.compile(
    r"\b(?:pass(?:es|ed)?|succeed(?:s|ed)?|(?:is|are|comes? (?:back|out)|came back|runs|stays) (?:now |"
    r"all )?(?:green|clean|ok|fine|happy)|builds|compiles)\b|"
    r"\b(?:no|zero|without(?: any)?) (?:type |lint )?(?:errors?|failures?|problems?|issues?|complaints?)\b",
    re.IGNORECASE,
)
_PARTLY: Final = re.compile(
    r"\b(?:not|never|no longer|except|but|only|most|some|many|few|almost|nearly|apart from|other than|new|"
    r"old|first|still|until|with (?:the )?exception|"
    rf"{'|'.join(list(_NUMERALS)[1:])}|\d+|before|earlier|initially|again|"
    r"at first|originally|previously|had|then|was|were)\b|n't\b|%",
    re.IGNORECASE,
)
_PROGRAM: Final = re.compile(
    r"\b(mypy|pyright|tsc|ruff|eslint|flake8|clippy|pytest|jest|vitest|mocha|cargo test|go test)\b",
    re.IGNORECASE,
)


def check_reports(work: Work) -> Iterator[Finding]:
    """Yield at most one finding per clause: a number that no run shows, or a claimed success whose last run failed."""
    if not work.tool_results:
        return
    runs, changes = read_runs(work.tool_results), _changes(work.tool_results)
    for number, step in enumerate(work.steps, start=1):
        for sentence in sentences(step):
            for clause in stated(sentence):
                shown = (
                    _miscounted(clause, runs)
                    or _miscounted_files(clause, changes)
                    or _failed(clause, runs)
                )
                if shown:
                    yield Finding(step=number, wrong=True, claim=sentence, expected=shown)


def _miscounted(clause: str, runs: Sequence[Run]) -> str | None:
    for found in _COUNT.finditer(clause):
        category = next(
            name
            for name, words in _CATEGORIES.items()
            if re.fullmatch(words, found["word"], re.IGNORECASE)
        )
        if _NO_COUNT.search(clause[: found.start("n")]):
            continue
        about = _relevant(clause, runs, tests=category in {"passed", "failed", "skipped"})
        known = [
            run
            for run in about
            if run.counts.get(category) or (category in {"failed", "skipped"} and run.counts)
        ]
        if not known or len(known) < len(about):
            continue
        allowed = {number for run in known for number in (run.counts.get(category) or {0})}
        allowed.add(sum(run.first(category) or 0 for run in latest(known)))
        if category == "passed":  # "all 13 tests pass" where some are skipped or expected to fail
            allowed |= {
                (run.first("passed") or 0)
                + (run.first("skipped") or 0)
                + (run.first("expected") or 0)
                for run in known
                if run.passed
            }
        if category in {"failed", "errors"}:
            allowed |= {(run.first("failed") or 0) + (run.first("errors") or 0) for run in known}
        if _amount(found["n"]) not in allowed:
            return known[-1].line
    return None


def _relevant(clause: str, runs: Sequence[Run], *, tests: bool) -> list[Run]:
    """Return the runs that a count may describe: those of the program that the clause names, else those of one kind."""
    if named := _PROGRAM.search(clause):
        return _of_program(named[1].lower(), runs)
    if tests:
        return [run for run in runs if run.kind is ProofKind.TESTS]
    kinds = {kind for kind, pattern in _SUBJECTS.items() if pattern.search(clause)}
    about = (
        [run for run in runs if run.kind in kinds]
        if kinds
        else [run for run in runs if run.kind is not ProofKind.TESTS]
    )
    return about if len({run.kind for run in about}) == 1 else []


def _of_program(program: str, runs: Sequence[Run]) -> list[Run]:
    kinds = kinds_of(program.split())
    return [
        run
        for run in runs
        if program in run.command.lower() or (run.kind in kinds and " " not in run.command)
    ]


def _changes(results: Sequence[ToolResult]) -> dict[str, set[int]]:
    shown: dict[str, set[int]] = {}
    for result in results:
        for found in _DIFFSTAT.finditer(result.content[-20_000:]):
            for place, name in enumerate(("file", "insertion", "deletion"), start=1):
                shown.setdefault(name, set()).add(int(found[place] or 0))
    return shown


def _miscounted_files(clause: str, changes: dict[str, set[int]]) -> str | None:
    for found in _FILES.finditer(clause):
        name = found["what"].lower()
        of_commit = (
            name != "file"
            or found["verb"]
            or re.search(r"\b(?:commit|diff)\b", clause, re.IGNORECASE)
        )
        known = changes.get(name, set[int]())
        wrong = known and _amount(found["n"]) not in {*known, sum(known)}
        if of_commit and wrong and not _NO_COUNT.search(clause[: found.start()]):
            return f"{', '.join(map(str, sorted(known)))} {name}s{' changed' if name == 'file' else ''}"
    return None


def _failed(clause: str, runs: Sequence[Run]) -> str | None:
    """Return the line of a failed run if the clause says without qualification that such runs succeed."""
    if not _WELL.search(clause) or _PARTLY.search(clause):
        return None
    kinds = {kind for kind, pattern in _SUBJECTS.items() if pattern.search(clause)}
    named = _PROGRAM.search(clause)
    about = (
        _of_program(named[1].lower(), runs) if named else [run for run in runs if run.kind in kinds]
    )
    if not about or len(kinds) > 1:
        return None
    bad = [run for run in latest(about) if run.passed is False]
    # A later run of the same program that passed may have run the same with other words.
    return bad[-1].line if bad and about[-1].passed is False else None


def _amount(text: str) -> int:
    word = text.lower()
    return _NUMERALS[word] if word in _NUMERALS else int(word.replace(",", ""))
