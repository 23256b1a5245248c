"""Claims on runs and counts that the summary of the tools contradicts."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from mcp_reflect.critique.claims import sentences, stated
from mcp_reflect.critique.runs import Run, latest, read_runs
from mcp_reflect.critique.work import Finding, Work
from mcp_reflect.models.critique import ToolResult
from mcp_reflect.proofs.kinds import ProofKind, kinds_of

_NUMERALS: Final = {
    word: place
    for place, word in enumerate("no one two three four five six seven eight nine ten eleven twelve".split())
}
_N: Final = rf"(?:\d{{1,3}}(?:,\d{{3}})+|\d{{1,7}}|{'|'.join(_NUMERALS)})"
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
    r"^ ?(\d+) files? changed(?:, (\d+) insertions?\(\+\))?(?:, (\d+) deletions?\(-\))?\s*$", re.MULTILINE
)
_SUBJECTS: Final = (
    (
        re.compile(
            rf"\b(?:all|every|the (?:whole|full|entire)|the|our) (?:{_TESTS}|(?:test )?suite)\b|^{_TESTS} \w+$|"
            rf"^(?:test )?suite\b",
            re.IGNORECASE,
        ),
        ProofKind.TESTS,
    ),
    (re.compile(r"\btype[- ]?check\w*\b|\b(?:mypy|pyright|tsc)\b", re.IGNORECASE), ProofKind.TYPES),
    (re.compile(r"\b(?:lint|linter|linting|ruff|eslint|flake8|clippy)\b", re.IGNORECASE), ProofKind.LINT),
    (
        re.compile(r"\b(?:the|our|production|release) build\b|^build\b|\bbuilds\b|\bcompiles\b", re.IGNORECASE),
        ProofKind.BUILD,
    ),
)
_WELL: Final = re.compile(
    r"\b(?:pass(?:es|ed)?|succeed(?:s|ed)?|(?:is|are|comes? (?:back|out)|came back|runs|stays) (?:now |"
    r"all )?(?:green|clean|ok|fine|happy)|builds|compiles)\b|"
    r"\b(?:no|zero|without(?: any)?) (?:type |lint )?(?:errors?|failures?|problems?|issues?|complaints?)\b",
    re.IGNORECASE,
)
_PARTLY: Final = re.compile(
    r"\b(?:not|never|no longer|except|but|only|most|some|many|few|almost|nearly|apart from|other than|new|"
    r"old|first|still|until|with (?:the )?exception|"
    rf"{'|'.join(list(_NUMERALS)[1:])}|\d+|before|earlier|initially|again)\b|n't\b|%",
    re.IGNORECASE,
)
_EARLIER: Final = re.compile(
    r"\b(?:at first|initially|first run|before|earlier|originally|previously|had|then|was|were)\b", re.IGNORECASE
)
_PROGRAM: Final = re.compile(
    r"\b(mypy|pyright|tsc|ruff|eslint|flake8|clippy|pytest|jest|vitest|mocha|cargo test|go test)\b", re.IGNORECASE
)


def check_reports(work: Work) -> Iterator[Finding]:
    """At most one finding a clause: a number that no run shows, or a success where the last run of a command failed."""
    if not work.tool_results:
        return
    runs, changes = read_runs(work.tool_results), _changes(work.tool_results)
    for number, step in enumerate(work.steps, start=1):
        for sentence in sentences(step):
            for clause in stated(sentence):
                shown = _miscounted(clause, runs) or _miscounted_files(clause, changes) or _failed(clause, runs)
                if shown:
                    yield Finding(step=number, wrong=True, claim=sentence, expected=shown)


def _miscounted(clause: str, runs: Sequence[Run]) -> str | None:
    """Return the summary line of a run where the clause counts what no run counts so."""
    for found in _COUNT.finditer(clause):
        category = next(
            name for name, words in _CATEGORIES.items() if re.fullmatch(words, found["word"], re.IGNORECASE)
        )
        if _NO_COUNT.search(clause[: found.start("n")]):
            continue
        about = _relevant(clause, runs, tests=category in {"passed", "failed", "skipped"})
        known = [run for run in about if run.counts.get(category) or (category in {"failed", "skipped"} and run.counts)]
        if not known or len(known) < len(about):
            continue
        allowed = {number for run in known for number in (run.counts.get(category) or {0})}
        allowed.add(sum(run.first(category) or 0 for run in latest(known)))
        if category == "passed":  # "all 13 tests pass" where some are skipped or expected to fail
            allowed |= {
                (run.first("passed") or 0) + (run.first("skipped") or 0) + (run.first("expected") or 0)
                for run in known
                if run.passed
            }
        if category in {"failed", "errors"}:
            allowed |= {(run.first("failed") or 0) + (run.first("errors") or 0) for run in known}
        if _amount(found["n"]) not in allowed:
            return known[-1].line
    return None


def _relevant(clause: str, runs: Sequence[Run], *, tests: bool) -> list[Run]:
    """Return the runs that a count can be of: of the program that the clause names, else of one kind."""
    if named := _PROGRAM.search(clause):
        return _of_program(named[1].lower(), runs)
    if tests:
        return [run for run in runs if run.kind is ProofKind.TESTS]
    kinds = {kind for pattern, kind in _SUBJECTS if pattern.search(clause)}
    about = (
        [run for run in runs if run.kind in kinds]
        if kinds
        else [run for run in runs if run.kind is not ProofKind.TESTS]
    )
    return about if len({run.kind for run in about}) == 1 else []


def _of_program(program: str, runs: Sequence[Run]) -> list[Run]:
    """Return the runs of a program: those whose command names it, and of its kind those whose command is not known."""
    kinds = kinds_of(program.split())
    return [run for run in runs if program in run.command.lower() or (run.kind in kinds and " " not in run.command)]


def _changes(results: Sequence[ToolResult]) -> dict[str, set[int]]:
    """Return the numbers that summaries of diffs and commits show, by what they count."""
    shown: dict[str, set[int]] = {}
    for result in results:
        for found in _DIFFSTAT.finditer(result.content[-20_000:]):
            for place, name in enumerate(("file", "insertion", "deletion"), start=1):
                shown.setdefault(name, set()).add(int(found[place] or 0))
    return shown


def _miscounted_files(clause: str, changes: dict[str, set[int]]) -> str | None:
    for found in _FILES.finditer(clause):
        name = found["what"].lower()
        of_commit = name != "file" or found["verb"] or re.search(r"\b(?:commit|diff)\b", clause, re.IGNORECASE)
        known = changes.get(name, set[int]())
        wrong = known and _amount(found["n"]) not in {*known, sum(known)}
        if of_commit and wrong and not _NO_COUNT.search(clause[: found.start()]):
            return f"{', '.join(map(str, sorted(known)))} {name}s{' changed' if name == 'file' else ''}"
    return None


def _failed(clause: str, runs: Sequence[Run]) -> str | None:
    """Return the line of a run that failed, where the clause says without limits that such runs succeed."""
    if not _WELL.search(clause) or _PARTLY.search(clause) or _EARLIER.search(clause):
        return None
    kinds = {kind for pattern, kind in _SUBJECTS if pattern.search(clause)}
    named = _PROGRAM.search(clause)
    about = _of_program(named[1].lower(), runs) if named else [run for run in runs if run.kind in kinds]
    if not about or len(kinds) > 1:
        return None
    bad = [run for run in latest(about) if run.passed is False]
    # A later run of the same program that passed may have run the same with other words.
    return bad[-1].line if bad and about[-1].passed is False else None


def _amount(text: str) -> int:
    word = text.lower()
    return _NUMERALS[word] if word in _NUMERALS else int(word.replace(",", ""))
