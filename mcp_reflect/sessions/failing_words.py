"""Whether an answer reads as a failure by its words alone, where neither an exit code nor a status tells.

The same words mean different things: "Error: no such file" is a failure where a shell prints it, and the content of a file
where it was read.
"""

from typing import Final

from mcp_reflect.models.common import Json
from mcp_reflect.models.run import ErrorCategory
from mcp_reflect.sessions.error_categories import category_of
from mcp_reflect.sessions.headlines import (
    ERROR_FORMS,
    EXCEPTION_LINE,
    first_line,
    last_lines,
)
from mcp_reflect.sessions.tools import (
    Kind,
    command_of,
    tool_words,
)
from mcp_reflect.shell import doing_in

# Characters of a text that was fetched: one that opens like an error is an error only if it is this short.
MESSAGE_LIMIT: Final = 400
_MOST_LINES: Final = 12  # of an output that is an error as a whole, however long they are
# Words in the names of tools that look up errors: what they print opens like an error and is none.
_ABOUT_ERRORS: Final = frozenset(
    {"errors", "exceptions", "failures", "logs", "incidents", "alerts"}
)
_SHELL_WORDS: Final = frozenset({"bash", "shell", "terminal", "command", "sh"})
_COMPLAINING: Final = ("bash:", "sh:", "zsh:", "fatal:", "error:", "usage:")
# The first line of an answer that is an error message and nothing else.
_OPENING = ERROR_FORMS["opening"]
_PROGRAM = ERROR_FORMS["program"]
_ANYWHERE = ERROR_FORMS["anywhere"]
_TESTS = ERROR_FORMS["tests"]


def looks_failed(text: str, kind: Kind, tool: str, arguments: Json) -> bool:
    """True for the output of a program that failed, or for an answer of another tool that is an error message.

    `text` is the stripped answer of a call, `kind` what its tool does.
    """
    if kind is Kind.RUN:
        return _run_failed(text)
    return _is_message(text, kind, tool, arguments)


def _run_failed(text: str) -> bool:
    """True for the output of a program that failed, where no exit code tells.

    A stack trace or an exception stands at its end, failed tests anywhere in it; an error message opens a short one.
    """
    last = last_lines(text, 3)
    ends_in_stack = any(line.startswith("at ") for line in last)
    if ends_in_stack and _ANYWHERE.search(text):  # a stack follows the error's name
        return True
    if _TESTS.search(text):
        return True
    if any(EXCEPTION_LINE.match(line) or _ANYWHERE.match(line) for line in last):
        return True
    is_short = len(text) <= 2 * MESSAGE_LIMIT or text.count("\n") <= _MOST_LINES
    return is_short and _opens_with_error(text)


def _is_message(text: str, kind: Kind, tool: str, arguments: Json) -> bool:
    """True where the answer of a tool that runs nothing is an error message and nothing else.

    A short answer is, whose first line opens like an error; of a tool that looks up errors none is. A longer one is, if
    the tool does something (`Edit`) and the answer begins with "error" or the like.
    """
    if tool_words(tool) & _ABOUT_ERRORS:
        return False
    if len(text) <= MESSAGE_LIMIT and _opens_with_error(text):
        return kind is not Kind.READ or _is_about_reading(text, tool, arguments)
    starts = text.lower().startswith(("error", "traceback", "your proposed edit has introduced"))
    return kind is Kind.OTHER and starts and len(text) <= 10 * MESSAGE_LIMIT


def _is_about_reading(text: str, tool: str, arguments: Json) -> bool:
    """True for an error of the reading itself ("cat: a.txt: No such file"), not for a line of the file that was read."""
    command = command_of(arguments)
    if command and tool_words(tool) & _SHELL_WORDS:
        # A shell names the program that complains.
        return text.lower().startswith((f"{_program_of(command)}:", *_COMPLAINING))
    return category_of(first_line(text)) not in (
        ErrorCategory.ASSERTION,
        ErrorCategory.RESOURCE_EXHAUSTION,
    )


def _program_of(command: str) -> str:
    """The program that does the work of a command: `cat` of `cd src && cat a.py`; empty where none does."""
    doing = doing_in(command)
    if doing is None:
        return ""
    return doing.program


def _opens_with_error(text: str) -> bool:
    """True where the first line is an error message, as a program or a tool writes it."""
    line = first_line(text)
    return bool(_OPENING.match(line) or _PROGRAM.match(line))
