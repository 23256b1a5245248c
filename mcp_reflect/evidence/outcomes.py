"""Whether a run passed, judged by its output and exit code, and the line that decides it.

The summary of the runner counts most: its counts, verdict and diagnostics. If there is none, the exit code counts if it
is the run's own. If neither tells, the result is None.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from mcp_reflect.evidence.kinds import ProofKind
from mcp_reflect.evidence.word_lists import read_word_list
from mcp_reflect.patterns import lazy_compile

_MOST_LINES: Final = 300  # that are read at each end of an output
_MOST_LINE: Final = 400  # characters of a line that are read
_MOST_SHOWN: Final = 160
_TAIL: Final = 6  # last lines, in which an error counts against a program that ended well


def _any(patterns: Iterable[str]) -> re.Pattern[str]:
    return lazy_compile("|".join(f"(?:{pattern})" for pattern in patterns))


_COLOR: Final = lazy_compile(r"\x1b\[[0-9;?]{0,12}[A-Za-z]")

_LISTS: Final = read_word_list("endings")


_GROUPS: Final = {
    ProofKind.TESTS: ("tests",),
    **dict.fromkeys((ProofKind.BUILD, ProofKind.TYPES, ProofKind.LINT), ("code",)),
    ProofKind.FORMAT: ("format",),
    **dict.fromkeys((ProofKind.COMMIT, ProofKind.PUSH), ("git",)),
    **dict.fromkeys((ProofKind.MIGRATION, ProofKind.DEPLOYMENT, ProofKind.IMAGE), ("run",)),
    ProofKind.HEALTH: ("health",),
}
"""The groups of lines by which a run of a kind is read."""
_BAD_OF_ANY: Final = ("tests", "code", "format", "run")
_GOOD_OF_ANY: Final = ("tests", "code", "run")


def _reader(groups: Sequence[str], verdict: str) -> re.Pattern[str]:
    """Return the lines of groups that say that a run ended well (`good`) or not (`bad`)."""
    entries: list[str] = []
    for group in groups:
        entries += _LISTS[f"{group} {verdict}"]
    if verdict == "bad":
        entries += _LISTS["runner bad"]
    return _any(entries)


_READERS: Final = {
    ProofKind.ANY: (_reader(_BAD_OF_ANY, "bad"), _reader(_GOOD_OF_ANY, "good")),
    **{kind: (_reader(groups, "bad"), _reader(groups, "good")) for kind, groups in _GROUPS.items()},
}
_ANY_ERROR: Final = _any((*_LISTS["run bad"], *_LISTS["any error"]))
# What reads as a failure where no exit code and no known line says more.
_WEAK: Final = lazy_compile(
    r"^(?!.*(?:\b(?:0|no|none|not|without)\b|[│|]))(?:[\w./@-]{1,200}\.\w{1,6}:\d+(?::\d+)?: ?(?!\d*:? ?(?i:warn|note|info|hint|remark))|@@ -\d|[✗✕✖✘❌]"
    r"|.*(?:\bFAIL(?:ED|URE)?\b|\b(?:[Ff]ailed|[Tt]imed out|timeout|rejected|denied|refused|conflicts?)\b|\b[Ee]rror: ))"
)
_NOTHING: Final = lazy_compile(
    r"^\W*(?:\d+ (?:errors?|failures|failed|issues?|problems?)\W*)?0 (?:errors?|failed|failures|issues|problems)\b|\bno (?:errors|failures)\b"
    r"|\b\d+ fixed, 0 remaining\b|\b(\d+) offenses? detected, \1 offenses? corrected\b"
)
_FILES_ONLY: Final = lazy_compile(r"[^\s:]{1,200}\.\w{1,8}")


@dataclass(frozen=True, slots=True)
class RunEnding:
    """How a run ended: True, False, or None if nothing says it; and the line that says so."""

    passed: bool | None
    line: str = ""


@dataclass(frozen=True, slots=True)
class Ending:
    """How the call ended that held the run.

    `code` is None where the host says nothing. `own`: the code is the run's own, not that of `| tail` or `|| true`.
    `alone`: no other program of the chain could have failed. `lists`: what the program prints are the files at fault.
    """

    code: int | None
    own: bool = True
    alone: bool = True
    lists: bool = False


def lines_of(output: str) -> list[str]:
    """Return the first and last lines of an output, without colors, signs of progress and indents."""
    if len(output) > 4 * _MOST_LINES * _MOST_LINE:
        half = 2 * _MOST_LINES * _MOST_LINE
        output = f"{output[:half]}\n{output[-half:]}"
    if "\x1b" in output:
        output = _COLOR.sub("", output)
    lines = [line[:_MOST_LINE].strip(" \t=!│╷╵─") for line in re.split(r"[\r\n]+", output)]
    lines = [line for line in lines if line]
    if len(lines) <= 2 * _MOST_LINES:
        return lines
    return [*lines[:_MOST_LINES], *lines[-_MOST_LINES:]]


def read_outcome(kind: ProofKind, output: str, ending: Ending) -> RunEnding:
    """Return how a run of a kind ended: first by lines that say so, then by its exit code, then by weaker lines."""
    lines = lines_of(output)
    code = ending.code
    if kind is ProofKind.ANY and ending.own and code is not None:
        return _of_unknown_program(lines, code)
    _, good = _READERS[kind]
    against = _lines_against(kind, lines, ending)
    in_favor = next((line for line in reversed(lines) if good.search(line)), "")
    if against and not _answered_at_last(kind, lines, in_favor, against):
        return RunEnding(passed=False, line=_shown(_line_that_tells(kind, against)))
    error = next((line for line in lines[-_TAIL:] if _ANY_ERROR.search(line)), "")
    if ending.own and code not in (0, None):
        return _of_bad_code(ending, lines, in_favor, error)
    if in_favor:
        return RunEnding(passed=True, line=_shown(in_favor))
    if not ending.own and ending.alone and (weak := next(filter(_WEAK.match, lines), "")):
        return RunEnding(passed=False, line=_shown(weak))
    if error and kind is not ProofKind.TESTS:
        return RunEnding(passed=False, line=_shown(error))
    if ending.own and code == 0:
        return _of_good_code(lines, error)
    return RunEnding(None, _shown(error))


def _of_unknown_program(lines: Sequence[str], code: int) -> RunEnding:
    """Return the outcome by the exit code: nothing says more of a program that nobody knows."""
    last_line = f"exit code {code}"
    if lines:
        last_line = _shown(lines[-1])
    return RunEnding(passed=code == 0, line=last_line)


def _lines_against(kind: ProofKind, lines: Sequence[str], ending: Ending) -> list[str]:
    """Return the lines that say that a run failed; a formatter that lists files may print nothing but their names."""
    bad, _ = _READERS[kind]
    against = [line for line in lines if bad.search(line) and not _NOTHING.search(line)]
    if against or not ending.lists:
        return against
    return [line for line in lines if _FILES_ONLY.fullmatch(line)]


def _answered_at_last(
    kind: ProofKind, lines: Sequence[str], in_favor: str, against: Sequence[str]
) -> bool:
    """True for a service that was tried until it answered: its failures before that do not count."""
    if kind is not ProofKind.HEALTH or not in_favor:
        return False
    return lines.index(in_favor) > lines.index(against[-1])


def _line_that_tells(kind: ProofKind, against: Sequence[str]) -> str:
    """Return the line to show: tests sum up at the end, other programs name the first cause first."""
    if kind is ProofKind.TESTS:
        return against[-1]
    return against[0]


def _of_bad_code(ending: Ending, lines: Sequence[str], in_favor: str, error: str) -> RunEnding:
    """Return the outcome of a run with an exit code other than 0, whose lines say nothing against it.

    Where it says that all went well, something else in the chain failed; of a run that stands alone it may have been a
    threshold, and nobody knows. Where it says nothing, the code counts for a run that stands alone.
    """
    if in_favor:
        passed = None if ending.alone else True
        return RunEnding(passed, line=_shown(in_favor))
    line = error or next(reversed(lines), f"exit code {ending.code}")
    passed = False if ending.alone else None
    return RunEnding(passed, line=_shown(line))


def _of_good_code(lines: Sequence[str], error: str) -> RunEnding:
    """Return the outcome of a run that ended with 0; an error in its last lines leaves it open."""
    passed = None if error else True
    return RunEnding(passed, line=_shown(next(reversed(lines), "")))


def _shown(line: str) -> str:
    return line if len(line) <= _MOST_SHOWN else f"{line[: _MOST_SHOWN - 3]}..."
