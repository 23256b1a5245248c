"""A call as detectors compare it: its tool and arguments, its most telling line, and whether it failed or said no."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from mcp_reflect.guards.shell_tools import is_shell
from mcp_reflect.models.common import Json
from mcp_reflect.models.finding import SessionCall
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.sessions.acts import asks_for_help, program_of
from mcp_reflect.sessions.calls import CallWithAnswer
from mcp_reflect.sessions.headlines import headline
from mcp_reflect.sessions.tools import Kind, kind_of, named_arguments, parts_of
from mcp_reflect.sessions.word_tables import pattern_table, word_set
from mcp_reflect.shell import READING_PROGRAMS

MOST_TEXT: Final = 600  # characters of a text among the arguments of a call
MOST_LINE: Final = 200
MOST_DEPTH: Final = 6  # levels of nested arguments
MOST_ITEMS: Final = 20  # fields or entries of arguments
SHORT_ANSWER: Final = 300  # characters of an answer that can say as a whole that there is nothing
SHORT_LINE: Final = 80  # characters of the line that says so
ENDING: Final = 2_000  # characters in which the last lines are looked for
OPENING: Final = 3_000  # characters in which a host says that a call was refused

_REFUSED: Final = lazy_compile(
    r"(?i)user doesn't want to|command aborted|interrupted by (?:the )?user|operation was cancell?ed"
    r"|haven't granted|request(?:ed)? permissions?|user (?:rejected|denied|declined|cancell?ed)"
    r"|\Athis .{0,40}command (?:contains .{0,90})?requires approval|was blocked\. For security, Claude Code"
)
_REASON: Final = lazy_compile(
    r"(?i)(?:reason for the rejection|user feedback|the user said):\s*(\S[^\n]{1,200})"
)
_WORDS: Final = pattern_table("answer_words.txt", re.IGNORECASE)
"""What an answer and a person say, in nine languages."""

_IN_BACKGROUND: Final = ("run_in_background", "is_background", "isBackground")
_BACKGROUND: Final = lazy_compile(r"(?i)\brunning in (?:the )?background\b")
_CODE: Final = ("code", "source_code", "cell")
_UNREADABLE_CODE: Final = re.compile(r"(?m)^\s*(?:SyntaxError|IndentationError|TabError): ")
_EXIT_CODE: Final = re.compile(r"(?i)\A(?:Error: )?exit code:? (\d{1,3})\b")
_PROBES: Final = word_set(
    "which command type test [ ls stat ping pgrep lsof diff cmp nc dig host ps"
)


def session_call(number: int, call: CallWithAnswer) -> SessionCall:
    """Return the call with the line that tells how it ended.

    | the call                                   | its line                                        |
    |--------------------------------------------|-------------------------------------------------|
    | worked                                     | the last line of the answer                     |
    | was refused by the user, who said a wish   | that wish ("use pnpm")                          |
    | failed in another way                      | the line that names the error (`_telling_line`) |
    """
    fault = call.fault
    if fault is None:
        text = call.answer
        line = _last_line(text)
    else:
        text = fault.text
        line = preference_in(text) or _telling_line(call, text)
    return SessionCall(
        number=number,
        tool=call.tool,
        arguments=shortened(call.arguments),
        line=line[:MOST_LINE],
        failed=fault is not None and not call.empty,
        says_no=fault is not None or _says_no(text, line),
        expected=fault is not None and _is_expected(call, text),
        exit_code=_exit_code_of(call, text),
    )


def _telling_line(call: CallWithAnswer, text: str) -> str:
    """The line of a failure's text that names the error.

    Where no line names one, it is the last line of a shell's output, and the first of another tool's. Where that only
    says no ("not done"), it is the last line that says what was refused, if there is one.
    """
    line_without_error = 0
    if is_shell(call.tool):
        line_without_error = -1
    line = headline(text, line_without_error)
    if not only_says_no(line):
        return line
    return _refusing_line(text) or line


def only_says_no(line: str) -> bool:
    """True for a line that only says no, and not why: "not done", "failed"."""
    return bool(_WORDS["bare no"].match(line))


def _refusing_line(text: str) -> str:
    """Return the last line that says what was refused or is wrong, empty where each only says no."""
    for line in _lines_from_last(text):
        if _WORDS["refusing"].search(line) and not only_says_no(line):
            return line
    return ""


def _last_line(text: str) -> str:
    """Return the last line that is not blank, empty where there is none."""
    for line in _lines_from_last(text):
        if line:
            return line
    return ""


def _lines_from_last(text: str) -> Iterator[str]:
    """Yield the lines at the end of a text, the last one first."""
    for line in reversed(text[-ENDING:].split("\n")):
        yield line.strip()


def _says_no(text: str, line: str) -> bool:
    """True where a whole short answer says that there is nothing, or that something is not done."""
    is_short = len(text) <= SHORT_ANSWER and len(line) <= SHORT_LINE
    return is_short and bool(_WORDS["no"].search(line)) and not _WORDS["no fault"].search(line)


def _is_expected(call: CallWithAnswer, text: str) -> bool:
    """True for a failure that teaches nothing by itself.

    | the call                                             | example                              |
    |------------------------------------------------------|--------------------------------------|
    | was refused by the user, without a wish              | "The user doesn't want to proceed"   |
    | is a search that found nothing                       | `grep -r foo`                        |
    | only asks whether something is so                    | `which docker`, `git diff`           |
    | looked for a file that is not there                  | `cat notes.md`                       |
    | goes on in the background: its end is told elsewhere | `Bash(run_in_background=True, …)`    |
    | has code with a slip, typed for this call alone      | `SyntaxError` of a notebook's cell   |
    """
    is_refused_without_wish = refusal_in(text) is not None and not preference_in(text)
    return (
        is_refused_without_wish
        or call.empty
        or _is_probe(call.tool, call.arguments)
        or _is_look_for_absent_file(call, text)
        or _runs_in_background(call, text)
        or _is_slip_of_the_pen(call, text)
    )


def _runs_in_background(call: CallWithAnswer, text: str) -> bool:
    """True for a call that goes on in the background: its end is told by another answer."""
    values = named_arguments(call.arguments)
    is_asked = any(values.get(name) is True for name in _IN_BACKGROUND)
    return is_asked or bool(_BACKGROUND.search(text[:OPENING]))


def _is_slip_of_the_pen(call: CallWithAnswer, text: str) -> bool:
    """True where an interpreter could not read the code that was typed in this very call: no other session repeats it."""
    return _is_typed_code(call) and bool(_UNREADABLE_CODE.search(text[-ENDING:]))


def _is_typed_code(call: CallWithAnswer) -> bool:
    """True for a tool that runs code of its arguments; a shell's quotes are a subject of their own."""
    values = named_arguments(call.arguments)
    return not is_shell(call.tool) and any(isinstance(values.get(name), str) for name in _CODE)


def _is_probe(tool: str, arguments: Json) -> bool:
    """True where a command only asks: for help, whether a program is there, whether two files differ."""
    parts = parts_of(tool, arguments)
    if not parts:
        return False
    last = parts[-1]
    return asks_for_help(last) or program_of(last) in _PROBES or last.head == "git diff"


def _is_look_for_absent_file(call: CallWithAnswer, text: str) -> bool:
    """True where a call looked for a file that is not there: looking is how one finds that out."""
    return _only_looks(call) and _says_absent(text[:OPENING])


def _only_looks(call: CallWithAnswer) -> bool:
    """True for a call that reads or searches, and does nothing else."""
    parts = parts_of(call.tool, call.arguments)
    if parts:
        return all(program_of(part) in READING_PROGRAMS | {"cd"} for part in parts)
    return kind_of(call.tool, call.arguments) in (Kind.READ, Kind.SEARCH)


@lru_cache(maxsize=256)
def _says_absent(text: str) -> bool:
    """True for a text that says that a file is not there."""
    return bool(_WORDS["absent file"].search(text))


def _exit_code_of(call: CallWithAnswer, text: str) -> int | None:
    """The exit code of a call: as the host noted it, else as the text begins with it ("Exit code 2"); None for neither."""
    noted = call.facts.get("exit_code")
    if isinstance(noted, int) and not isinstance(noted, bool):
        return noted
    match = _EXIT_CODE.match(call.error or text)
    if match is None:
        return None
    return int(match[1])


def refusal_in(text: str) -> str | None:
    """The reason for which the user refused a call ("wrong file"); empty for none, None where nobody refused the call."""
    return _refusal_in(text[:OPENING])


@lru_cache(maxsize=256)  # each failure of a run is asked three times
def _refusal_in(text: str) -> str | None:
    """As `refusal_in`, for the beginning of a text."""
    if not _REFUSED.search(text):
        return None
    reason = _REASON.search(text)
    if reason is None:
        return ""
    return reason[1].strip().rstrip(".")


def preference_in(text: str) -> str:
    """The reason for which the user refused a call, where it says what to do ("use pnpm"); else empty."""
    reason = refusal_in(text)
    if reason and _WORDS["wish"].search(reason):
        return reason
    return ""


def shortened(value: Json, depth: int = 0) -> Json:
    """Arguments as a session keeps them: long texts are cut in their middle, long lists at their end.

    What is nested deeper than MOST_DEPTH is None.
    """
    if isinstance(value, str):
        if len(value) <= MOST_TEXT:
            return value
        half = MOST_TEXT // 2
        return f"{value[:half]} ... {value[-half:]}"
    if isinstance(value, dict | list) and depth > MOST_DEPTH:
        return None
    if isinstance(value, dict):
        return {key: shortened(item, depth + 1) for key, item in [*value.items()][:MOST_ITEMS]}
    if isinstance(value, list):
        return [shortened(item, depth + 1) for item in value[:MOST_ITEMS]]
    return value
