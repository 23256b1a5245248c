"""Whether a run passed, judged by its output and exit code, and the line that decides it.

The summary of the runner counts most: its counts, verdict and diagnostics. If there is none, the exit code counts if it
is the run's own. If neither tells, the result is None.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from mcp_reflect.evidence.kinds import ProofKind
from mcp_reflect.evidence.word_lists import read_word_list
from mcp_reflect.patterns import lazy_compile

_MOST_LINES: Final = 300  # lines that are read at each end of an output
_MOST_LINE: Final = 400  # characters of a line that are read
_MOST_SHOWN: Final = 160  # characters of a line that is shown
_LAST_LINES: Final = (
    6  # lines at the end, in which an error counts against a program that ended well
)

_COLOR: Final = lazy_compile(r"\x1b\[[0-9;?]{0,12}[A-Za-z]")

_LIKELY_FAILURE: Final = lazy_compile(
    r"^(?!.*(?:\b(?:0|no|none|not|without)\b|[│|]))(?:[\w./@-]{1,200}\.\w{1,6}:\d+(?::\d+)?: ?(?!\d*:? ?(?i:warn|note|info|hint|remark))|@@ -\d|[✗✕✖✘❌]"
    r"|.*(?:\bFAIL(?:ED|URE)?\b|\b(?:[Ff]ailed|[Tt]imed out|timeout|rejected|denied|refused|conflicts?)\b|\b[Ee]rror: ))"
)
"""A line that reads as a failure where no exit code and no known line says more."""

_NO_FAILURES: Final = lazy_compile(
    r"^\W*(?:\d+ (?:errors?|failures|failed|issues?|problems?)\W*)?0 (?:errors?|failed|failures|issues|problems)\b|\bno (?:errors|failures)\b"
    r"|\b\d+ fixed, 0 remaining\b|\b(\d+) offenses? detected, \1 offenses? corrected\b"
)
"""A line that counts failures, and has none: "3 errors 0 failures", "no errors", "2 fixed, 0 remaining"."""

_FILE_NAME: Final = lazy_compile(r"[^\s:]{1,200}\.\w{1,8}")
_LISTS: Final = read_word_list("endings")
_GROUPS: Final = {
    ProofKind.TESTS: ("tests",),
    **dict.fromkeys((ProofKind.BUILD, ProofKind.TYPES, ProofKind.LINT), ("code",)),
    ProofKind.FORMAT: ("format",),
    **dict.fromkeys((ProofKind.COMMIT, ProofKind.PUSH), ("git",)),
    **dict.fromkeys((ProofKind.MIGRATION, ProofKind.DEPLOYMENT, ProofKind.IMAGE), ("run",)),
    ProofKind.HEALTH: ("health",),
}
"""The groups of lines by which a run of a kind is read, as words/endings.txt names them."""

_GROUPS_OF_UNKNOWN: Final = ("tests", "code", "run")
"""The groups by which a run of an unknown program is read; a formatter's lines count only against it."""


def _any(patterns: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern that matches where one of several does."""
    return lazy_compile("|".join(f"(?:{pattern})" for pattern in patterns))


def _pattern_of(groups: Sequence[str], verdict: str) -> re.Pattern[str]:
    """Return the pattern of the lines in some groups that say that a run ended well (`good`) or not (`bad`)."""
    entries: list[str] = []
    for group in groups:
        entries += _LISTS[f"{group} {verdict}"]
    if verdict == "bad":
        entries += _LISTS["runner bad"]
    return _any(entries)


class _EndingPatterns(NamedTuple):
    """The lines that say that a run of a kind ended badly, and those that say that it ended well."""

    bad: re.Pattern[str]
    good: re.Pattern[str]


def _ending_patterns() -> dict[ProofKind, _EndingPatterns]:
    """Return the patterns of all kinds, from the lists in words/endings.txt."""
    of_unknown = _EndingPatterns(
        bad=_pattern_of(("tests", "code", "format", "run"), "bad"),
        good=_pattern_of(_GROUPS_OF_UNKNOWN, "good"),
    )
    patterns = {ProofKind.ANY: of_unknown}
    for kind, groups in _GROUPS.items():
        patterns[kind] = _EndingPatterns(_pattern_of(groups, "bad"), _pattern_of(groups, "good"))
    return patterns


_PATTERNS: Final = _ending_patterns()
_ANY_ERROR: Final = _any((*_LISTS["run bad"], *_LISTS["any error"]))


@dataclass(frozen=True, slots=True)
class RunEnding:
    """How a run ended: True, False, or None if nothing says it; and the line that says so."""

    passed: bool | None
    line: str = ""


@dataclass(frozen=True, slots=True)
class ReportedEnding:
    """How the call ended in which a program ran.

    | field             | what it says                                                                          |
    |-------------------|---------------------------------------------------------------------------------------|
    | `code`            | the exit code of the call, None where the host tells none                             |
    | `is_own_code`     | whether it is that of the program itself, and not that of `| tail` or `|| true`       |
    | `is_only_program` | whether no other program of the call could have failed                                |
    | `lists_files`     | whether the program prints the files at fault, and nothing else                       |
    """

    code: int | None
    is_own_code: bool = True
    is_only_program: bool = True
    lists_files: bool = False

    @classmethod
    def of_command(cls, command: str, code: int | None) -> "ReportedEnding":
        """Return the ending of a call by its command line alone: in `pytest | tail; ls` the code is not that of pytest."""
        return cls(code, is_own_code="|" not in command, is_only_program=";" not in command)

    @property
    def own_code(self) -> int | None:
        """The exit code where it is that of the program itself, else None."""
        if self.is_own_code:
            return self.code
        return None


def read_outcome(kind: ProofKind, output: str, ending: ReportedEnding) -> RunEnding:
    """Return how a run of a kind ended; the first row that fits decides.

    | the output                                             | its own exit code | passed                               |
    |--------------------------------------------------------|-------------------|--------------------------------------|
    | of an unknown program                                  | any               | by the code: nothing else is known   |
    | has a line that says that it failed                    | any, or none      | no, unless a service answered later  |
    | has none                                               | not 0             | see `_ending_of_bad_code`            |
    | has a line that says that it went well                 | 0, or none        | yes                                  |
    | has a line that reads as a failure                     | none, alone in its call | no                             |
    | has an error among its last lines, and is of no tests  | 0, or none        | no                                   |
    | has nothing of these                                   | 0                 | yes, or unknown after an error       |
    | has nothing of these                                   | none              | unknown                              |
    """
    lines = lines_of(output)
    own_code = ending.own_code
    if kind is ProofKind.ANY and own_code is not None:
        return _ending_of_unknown_program(lines, own_code)
    bad_lines = _bad_lines(kind, lines, ending)
    good_line = _last_good_line(kind, lines)
    if bad_lines and not _answered_at_last(kind, lines, good_line, bad_lines):
        return RunEnding(passed=False, line=_shown(_decisive_line(kind, bad_lines)))
    error = next((line for line in lines[-_LAST_LINES:] if _ANY_ERROR.search(line)), "")
    if own_code not in (0, None):
        return _ending_of_bad_code(ending, lines, good_line, error)
    if good_line:
        return RunEnding(passed=True, line=_shown(good_line))
    if not ending.is_own_code and ending.is_only_program:
        likely_failure = next(filter(_LIKELY_FAILURE.match, lines), "")
        if likely_failure:
            return RunEnding(passed=False, line=_shown(likely_failure))
    if error and kind is not ProofKind.TESTS:
        return RunEnding(passed=False, line=_shown(error))
    if own_code == 0:
        return _ending_of_good_code(lines, error)
    return RunEnding(passed=None, line=_shown(error))


def lines_of(output: str) -> list[str]:
    """Return the first and last lines of an output, without colors, signs of progress and indents."""
    most_characters = 4 * _MOST_LINES * _MOST_LINE
    if len(output) > most_characters:
        half = most_characters // 2
        output = f"{output[:half]}\n{output[-half:]}"
    if "\x1b" in output:
        output = _COLOR.sub("", output)
    stripped = (line[:_MOST_LINE].strip(" \t=!│╷╵─") for line in re.split(r"[\r\n]+", output))
    lines = [line for line in stripped if line]
    if len(lines) <= 2 * _MOST_LINES:
        return lines
    return [*lines[:_MOST_LINES], *lines[-_MOST_LINES:]]


def _ending_of_unknown_program(lines: Sequence[str], code: int) -> RunEnding:
    """Return the ending that an exit code tells, with the last line: nothing says more of a program that nobody knows."""
    last_line = f"exit code {code}"
    if lines:
        last_line = _shown(lines[-1])
    return RunEnding(passed=code == 0, line=last_line)


def _bad_lines(kind: ProofKind, lines: Sequence[str], ending: ReportedEnding) -> list[str]:
    """Return the lines that say that a run failed; a formatter that lists files may print nothing but their names."""
    bad = _PATTERNS[kind].bad
    bad_lines = [line for line in lines if bad.search(line) and not _NO_FAILURES.search(line)]
    if bad_lines or not ending.lists_files:
        return bad_lines
    return [line for line in lines if _FILE_NAME.fullmatch(line)]


def _last_good_line(kind: ProofKind, lines: Sequence[str]) -> str:
    """Return the last line that says that a run went well, empty where none does."""
    good = _PATTERNS[kind].good
    return next((line for line in reversed(lines) if good.search(line)), "")


def _answered_at_last(
    kind: ProofKind, lines: Sequence[str], good_line: str, bad_lines: Sequence[str]
) -> bool:
    """Return whether a service was tried until it answered: its failures before that do not count."""
    if kind is not ProofKind.HEALTH or not good_line:
        return False
    return lines.index(good_line) > lines.index(bad_lines[-1])


def _decisive_line(kind: ProofKind, bad_lines: Sequence[str]) -> str:
    """Return the line to show: tests sum up at the end, other programs name the first cause first."""
    if kind is ProofKind.TESTS:
        return bad_lines[-1]
    return bad_lines[0]


def _ending_of_bad_code(
    ending: ReportedEnding, lines: Sequence[str], good_line: str, error: str
) -> RunEnding:
    """Return the ending of a run with an exit code other than 0, none of whose lines says that it failed.

    | the output                  | the only program of the call | passed                                             |
    |-----------------------------|------------------------------|----------------------------------------------------|
    | says that all went well     | yes                          | unknown: a threshold, such as of coverage, may fail |
    | says that all went well     | no                           | yes: another program failed                        |
    | says nothing of the kind    | yes                          | no                                                 |
    | says nothing of the kind    | no                           | unknown: another program may have failed           |
    """
    if good_line:
        passed = None if ending.is_only_program else True
        return RunEnding(passed=passed, line=_shown(good_line))
    line = error or next(reversed(lines), f"exit code {ending.code}")
    passed = False if ending.is_only_program else None
    return RunEnding(passed=passed, line=_shown(line))


def _ending_of_good_code(lines: Sequence[str], error: str) -> RunEnding:
    """Return the ending of a run that ended with 0; an error in its last lines leaves it open."""
    passed = None if error else True
    return RunEnding(passed=passed, line=_shown(next(reversed(lines), "")))


def _shown(line: str) -> str:
    """Return a line, or of a long one its start."""
    if len(line) <= _MOST_SHOWN:
        return line
    return f"{line[: _MOST_SHOWN - 3]}..."
