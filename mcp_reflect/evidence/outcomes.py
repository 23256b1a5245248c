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
    entries = [entry for group in groups for entry in _LISTS[f"{group} {verdict}"]]
    return _any([*entries, *_LISTS["runner bad"]] if verdict == "bad" else entries)


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
)
_FILES_ONLY: Final = lazy_compile(r"[^\s:]{1,200}\.\w{1,8}")


@dataclass(frozen=True, slots=True)
class Outcome:
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
    return lines if len(lines) <= 2 * _MOST_LINES else [*lines[:_MOST_LINES], *lines[-_MOST_LINES:]]


def read_outcome(kind: ProofKind, output: str, ending: Ending) -> Outcome:
    """Return how a run of a kind ended."""
    lines, code, own = lines_of(output), ending.code, ending.own
    if (
        kind is ProofKind.ANY and own and code is not None
    ):  # nothing says more of a program that nobody knows
        return Outcome(passed=code == 0, line=_shown(lines[-1]) if lines else f"exit code {code}")
    bad, good = _READERS[kind]
    listed = filter(_FILES_ONLY.fullmatch, lines if ending.lists else ())
    against = [line for line in lines if bad.search(line) and not _NOTHING.search(line)] or [
        *listed
    ]
    in_favor = next((line for line in reversed(lines) if good.search(line)), "")
    if (
        kind is ProofKind.HEALTH
        and in_favor
        and against
        and lines.index(in_favor) > lines.index(against[-1])
    ):
        against = []  # tried until it answered
    if against:
        return Outcome(passed=False, line=_shown(against[-1 if kind is ProofKind.TESTS else 0]))
    error = next((line for line in lines[-_TAIL:] if _ANY_ERROR.search(line)), "")
    if own and code not in (0, None):
        if (
            in_favor
        ):  # it says that all went well: something else in the chain failed, or a threshold
            return Outcome(passed=None if ending.alone else True, line=_shown(in_favor))
        line = error or (lines[-1] if lines else f"exit code {code}")
        return Outcome(passed=False if ending.alone else None, line=_shown(line))
    if in_favor:
        return Outcome(passed=True, line=_shown(in_favor))
    if not own and ending.alone and (told := next(filter(_WEAK.match, lines), "")):
        return Outcome(passed=False, line=_shown(told))
    if error and kind is not ProofKind.TESTS:
        return Outcome(passed=False, line=_shown(error))
    if own and code == 0:
        return Outcome(passed=None if error else True, line=_shown(lines[-1]) if lines else "")
    return Outcome(None, _shown(error))


def _shown(line: str) -> str:
    return line if len(line) <= _MOST_SHOWN else f"{line[: _MOST_SHOWN - 3]}..."
