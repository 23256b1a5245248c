"""Whether a run passed, judged by its output and exit code, and the line that decides it.

The summary of the runner counts most: its counts, verdict and diagnostics. If there is none, the exit code counts if it
is the run's own. If neither tells, the result is None.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from mcp_reflect.evidence.kinds import ProofKind
from mcp_reflect.patterns import lazy_compile

_MOST_LINES: Final = 300  # that are read at each end of an output
_MOST_LINE: Final = 400  # characters of a line that are read
_MOST_SHOWN: Final = 160
_TAIL: Final = 6  # last lines, in which an error counts against a program that ended well


def _any(patterns: Iterable[str]) -> re.Pattern[str]:
    return lazy_compile("|".join(f"(?:{pattern})" for pattern in patterns))


_COLOR: Final = lazy_compile(r"\x1b\[[0-9;?]{0,12}[A-Za-z]")

_SOME: Final = r"[1-9]\d{0,6}"
_COUNT: Final = rf"(?<![\w.#/-]){_SOME}"
_TESTS_BAD: Final = (
    rf"{_COUNT} (?:tests? |examples? |specs? |checks? )?(?:failed|failing|failures?|fail|errored|broken)\b(?![=:])",
    rf"{_COUNT} errors?(?: in [\d.]+ ?s|, \d+ (?:passed|failed))",
    rf"\b(?i:failures?|failed|fail|errors?)(?:=|: {{0,30}}){_SOME}\b", rf"\b(?:with|[Ss]tatus:?) {_SOME} (?i:errors?|failures?)\b", r"^[\W\d]*[✗✕✘❌] ",
    rf"^[ℹ#] fail {_SOME}",
    r"\bFAILED\b(?!\W{0,3}0\b)(?! tests? passed)", r"^FAIL\b", r"^--- FAIL", r"^not ok \d", r"^test result: FAILED", r"^FAILURES\b",
    r"^ERRORS$", r"^BUILD FAILED", r"\bBUILD FAILURE\b", r"^error: test failed", r"\b[Tt]est [Ss]uite (?:\S+ |.*)?fail(?:ed|ure)\b",
    r"^Some tests failed", r"[+-]\d+: Some tests failed", r"^ERROR collecting\b", r"^E {3,}\w*(?:Error|Exception)\b",
    r"^Interrupted: \d+ error", r"^(?:\S+ )?no tests (?:ran|found|to run)\b", r"^No tests? (?:found|files found)",
    r"^=+ no tests ran", r"^collected 0 items$", r"^✖ failing tests", r"\*\*\*Failed\b", r"\b[1-9]\d* fails?\b", r"^Some tests did not pass",
)  # fmt: skip
_TESTS_GOOD: Final = (
    r"\b\d+ (?:tests? |examples? |specs? )?(?:passed|passing|pass|successful)\b", r"^OK\b", r"^ok\s+\S", r"^PASS\b",
    r"^test result: ok", r"\b0 failures\b", r"\bAll (?:\d+ )?(?:tests?|specs) (?:passed|successful)", r"^Passed\b", r"^100% tests passed",
    r"\bBUILD SUCCESS", r"^Test Suite .* passed at", r"^[ℹ#] fail 0$", r"\bFailures: 0, Errors: 0\b", r"^all good$",
    r"^\(all tests passed", r"\bNo failures\b",
)  # fmt: skip
_CODE_BAD: Final = (
    r"\berror(?: TS\d+|\[[\w-]+\]| CS\d+| C\d{4}| AL\d+)\b", r"^(?:fatal )?error: ", r":\d+: (?:fatal )?error: ",
    r":\d+:\d+: (?:fatal )?(?:error|undefined)\b", r"^\S+\.go:\d+:\d+: \S", r" - error[: ]", r":\d+(?::\d+)? - error\b",
    r"^Found [1-9]\d* (?:\w+ ){0,2}(?:errors?|diagnostics?|files?|warnings?)\b", rf"{_COUNT} (?:type |lint )?errors?\b(?!\(s\))", rf"\b{_SOME} Error\(s\)",
    rf"^✖ {_SOME} problems?", rf"{_COUNT} (?:problems?|issues?|offenses?|violations?)\b(?! \(0 errors)", r"\bBUILD FAIL", r"\bBuild failed\b",
    r"^Failed to compile", r"\bcompiled with \d+ errors?", r"^ERROR in\b", r"\bcould not compile\b", r"\bCOMPILATION ERROR",
    r"\bundefined reference to\b", r"^\[ERROR\]", r"\bModule not found\b", r"^✘ \[ERROR\]", r"^Type error:",
    r"^\s*\d+:\d+ +error\b", r"^\S+:\d+:\d+: [A-Z]{1,4}\d{2,4}\b", r"^(?:E|F|W|C|PL\w)\d{3,4} ", r"^x Build failed",
    r"^error during build", r"^SyntaxError\b", r"^(?:ERROR|error): (?:failed|command|script)", r"^compilation terminated", r"\bUndefined control sequence\b|^Latexmk: Errors", r"\bSC\d{4} \(", r"\bexited(?: with)? \(?[1-9]",
)  # fmt: skip
_CODE_GOOD: Final = (
    r"\bSuccess: no issues\b", r"^All checks passed", r"\b0 errors\b", r"\b0 Error\(s\)", r"\bBuild succeeded", r"\bBUILD SUCCESS",
    r"\bcompiled successfully", r"^✓ (?:built|Compiled)", r"\bbuilt in\b", r"^Finished `", r"\bno offenses detected", r"^\[100%\] Built",
    r"^Done in\b", r"\bNo (?:lint |type )?(?:errors|issues|problems)\b", r"\bno (?:issues|problems|errors) found", r"^Successfully built",
    r"\bBuild complete", r"^0 issues",
)  # fmt: skip
_FORMAT_BAD: Final = (
    r"\bwould (?:re)?format\b", r"\bwould be reformatted\b", r"\bCode style issues\b", r"^\[warn\] \S+\.\w+$", r"^Diff in ",
    r"\bnot (?:properly )?formatted\b", r"\bIncorrectly formatted\b", r"\bFormatter would have\b", r"^ERROR: \S+ Imports are incorrectly",
    r"\berror: cannot format\b",
)  # fmt: skip
_FORMAT_GOOD: Final = (
    r"\b[Aa]ll matched files use Prettier", r"^All done!", r"\balready formatted\b", r"\bfiles? (?:left unchanged|reformatted)\b",
    r"\bfiles would be left unchanged", r"\bunchanged\)?$", r"^Formatted \d+",
)  # fmt: skip
_GIT_BAD: Final = (
    r"^fatal: ", r"^error: ", r"\[(?:remote )?rejected\]", r"^abort: ", r"\b(?:push|commit) (?:was )?rejected\b", r"\bnothing to commit\b", r"\bnothing added to commit\b", r"\bno changes added to commit\b",
    r"\bPermission denied\b", r"^Aborting commit", r"\bhook (?:declined|failed|exited)\b", r"^husky - .* failed",
    r"\bCONFLICT \(", r"^Automatic merge failed", r"^- exit code: [1-9]", r"^pull request create failed", r"^GraphQL: ",
)  # fmt: skip
_GIT_GOOD: Final = (
    r"^\[[^\]]+ (?:\(root-commit\) )?[0-9a-f]{7,40}\]", r"^ ?[*+ ]? ?\[?[\w. ]+\]? .* -> \S+", r"^\S+ .*-> \S+", r"\bEverything up-to-date",
    r"^[0-9a-f]{7,40} \S", r"^\d+ files? changed", r"https://\S+/(?:pull|merge_requests)/\d+", r"\bdigest: sha256:",
)  # fmt: skip
_RUN_BAD: Final = (
    r"^(?:\S+ )?(?:ERROR|Error|error|FATAL|Fatal|fatal)\b ?[:\]]", r"^\W+Error\b", r"^[✗✕✘❌] ", r"^(?:ERROR|FATAL) ", r"^│ Error:", r"\b(?:UPGRADE|INSTALLATION|BUILD|DEPLOY\w*) FAILED\b",
    r"\bmigration\b.{0,60}\bfailed\b", r"\bfailed to (?:apply|deploy|solve|start|build|push|pull|create|connect|fetch|compute)\b",
    r"^Traceback \(most recent", r"^(?:[\w.]+\.)?\w*(?:Error|Exception)\b[: ]", r"^\w+ aborted!", r"\bexceeded its progress deadline", r"\btimed out\b",
    r"\b(?:ImagePullBackOff|ErrImagePull|CrashLoopBackOff|CreateContainerError|OOMKilled)\b",
    r"\bfailed to start\b", r"\brolled back\b", r"\bdid not complete successfully\b", r"^denied: ", r"\bunauthorized: ", r"\bexited with (?:code )?[1-9]",
    r"\bDeployment failed", r"^✘ ", r"\bP3\d{3}\b", r"^FAILED: ", r"\bunhealthy\b", r"^executor failed", r"\bis not up to date\b",
    r"^fatal: .*\[", r"\bfailed=[1-9]", r"\bunreachable=[1-9]",
)  # fmt: skip
_RUN_GOOD: Final = (
    r"\b[Ss]uccessfully (?:rolled out|applied|deployed|built|tagged|rolled)", r"\bApply complete!", r"\bRunning upgrade\b", r"\bhas been (?:deployed|upgraded|successfully)",
    r"^STATUS: deployed", r"\bmigrated \(", r"\.\.\. ?OK$", r"\bsuccessfully applied\b", r"\bNo migrations to apply", r"\bupdate succeeded\b", r"^✅",
    r"\bwriting image sha256", r"\bnaming to \S+", r"\bSuccessfully (?:built|tagged)\b", r"\bBuilt$", r"^\+ \S+@\d", r"\balready up to date\b",
)  # fmt: skip
_HEALTH_BAD: Final = (
    r"^curl: \(\d+\)", r"\bHTTP/[\d.]+ [45]\d\d\b", r"^[45]\d\d$|^000$", r"\b(?:status|code|http)\w*\W{0,4}(?:000|[45]\d\d)\b",
    r"\b(?:CrashLoopBackOff|ImagePullBackOff|ErrImagePull|OOMKilled|CreateContainerConfigError)\b", r"\b0/\d+ ", r"\bunhealthy\b",
    r"\"(?:status|state|health)\": ?\"(?:down|error|fail\w*|unhealthy|degraded|critical)\"", r"\b(?:Connection refused|Could not connect|Failed to connect)\b",
    r"^(?:failed|inactive|dead)$", r"\bActive: (?:failed|inactive)", r"\bExited \([1-9]", r"\bno response$", r"\b(?:50\d|40[34]) [A-Z]\w+", r"\bEADDRINUSE\b",
    r"\baddress already in use\b", r"\bconnection timed out\b",
)  # fmt: skip
_HEALTH_GOOD: Final = (
    r"\bHTTP/[\d.]+ [23]\d\d\b", r"^[23]\d\d$", r"\b(?:status|code|http)\w*\W{0,4}[23]\d\d\b", r"\"(?:status|state|health)\": ?\"(?:ok|up|healthy|pass\w*|alive|ready)\"",
    r"\bRunning\b", r"^active$", r"\bActive: active", r"\((?:healthy|running)\)", r"\bUp \d+", r"\baccepting connections\b", r"^PONG$", r"^ok$",
    r"\b(?:listening|running|serving|started|ready)\b.{0,60}(?:https?://|\bport\b|:\d{2,5}\b)", r"\bready in\b", r"\bLocal: +http",
)  # fmt: skip
# A program that runs others says so of every kind.
_RUNNER_BAD: Final = (
    r"\bmake(?:\[\d+\])?: \*\*\* ", r"\bELIFECYCLE\b", r"^(?:npm )?(?:ERR!|error code [1-9E])", r"^error: Recipe `",
    r"^error Command failed with exit code", r"^[\W\d]*AssertionError\b", r"\.{3,}Failed$", r"^(?![✓✔√+]|(?i:ok|pass)\b|.*(?:\b(?:0|no|not|none) |[│|])).*\bfailed\W*$",
)  # fmt: skip
_MODES: Final = {
    ProofKind.TESTS: (_TESTS_BAD, _TESTS_GOOD),
    **dict.fromkeys((ProofKind.BUILD, ProofKind.TYPES, ProofKind.LINT), (_CODE_BAD, _CODE_GOOD)),
    ProofKind.FORMAT: (_FORMAT_BAD, _FORMAT_GOOD),
    **dict.fromkeys((ProofKind.COMMIT, ProofKind.PUSH), (_GIT_BAD, _GIT_GOOD)),
    **dict.fromkeys(
        (ProofKind.MIGRATION, ProofKind.DEPLOYMENT, ProofKind.IMAGE), (_RUN_BAD, _RUN_GOOD)
    ),
    ProofKind.HEALTH: (_HEALTH_BAD, _HEALTH_GOOD),
    ProofKind.ANY: (
        (*_TESTS_BAD, *_CODE_BAD, *_FORMAT_BAD, *_RUN_BAD),
        (*_TESTS_GOOD, *_CODE_GOOD, *_RUN_GOOD),
    ),
}
_READERS: Final = {
    kind: (_any((*bad, *_RUNNER_BAD)), _any(good)) for kind, (bad, good) in _MODES.items()
}
_ANY_ERROR: Final = _any(
    (*_RUN_BAD, r"^E {3,}", r"^(?:bash|sh|zsh): .*: ", r"\bcommand not found\b")
)
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
