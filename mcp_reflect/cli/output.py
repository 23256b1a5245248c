"""How commands talk to whoever runs them: tables and colors for people, JSON and tab-separated rows for programs."""

import json
import os
import re
import shutil
import signal
import sys
import textwrap
import unicodedata
from argparse import Namespace
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from difflib import unified_diff
from itertools import accumulate
from typing import Any, Final

from mcp_reflect.errors import InputError
from mcp_reflect.text.one_line import one_line, visible

# Styles of ECMA-48 (SGR).
BOLD: Final = "1"
DIM: Final = "2"
GREEN: Final = "32"
YELLOW: Final = "33"
RED: Final = "31"
_DIFF_STYLES: Final = {"+": GREEN, "-": RED}
"""The style of a line of a diff, by its first character."""

_STYLE: Final = re.compile(r"\x1b\[[0-9;]*m")
_SECOND_COLUMN: Final = re.compile(r" *\S+(?: \S+)* {2,}")
"""The first column of a line of a list, with the blanks up to its second column."""

_USUAL_COLUMNS: Final = 80  # that texts are written for
# The least width of a column that is cut, or of a text: a narrower terminal breaks lines itself.
_LEAST_COLUMNS: Final = 20
_LEAST_TEXT: Final = 10  # columns beside an indent
_GAP: Final = "  "  # between the columns of a table
_BAR: Final = "  | "  # before each line of a quotation
_LEAST_MB: Final = 100_000  # bytes that are shown as megabytes: 0.1 MB


def is_terminal() -> bool:
    """Return whether stdout is a terminal."""
    return sys.stdout.isatty()


def is_interactive() -> bool:
    """Return whether there is a person to ask: stdin and stdout are both terminals."""
    return sys.stdin.isatty() and is_terminal()


def write_line(text: str) -> None:
    """Print a line to stdout."""
    sys.stdout.write(f"{folded(text)}\n")


def write_json(value: Any) -> None:
    """Print a value as one line of JSON to stdout."""
    sys.stdout.write(f"{json.dumps(value, ensure_ascii=False)}\n")


def folded(text: str) -> str:
    """Return a text with its long lines broken between words, for a terminal of fewer than 80 columns.

    A line goes on below its own beginning, and one of a list (`show  one lesson, and …`) below its second column.
    """
    if not is_terminal():
        return text
    width = shutil.get_terminal_size().columns
    if width >= _USUAL_COLUMNS:
        return text
    return "\n".join(_folded_line(line, width) for line in text.split("\n"))


def _folded_line(line: str, width: int) -> str:
    """Return a line broken between words to fit `width` columns, and indented below its own beginning."""
    if _width(_STYLE.sub("", line)) <= width:
        return line
    column = _SECOND_COLUMN.match(line)
    indent = len(line) - len(line.lstrip()) + 2
    if column is not None and column.end() <= width // 2:
        indent = column.end()
    wrapper = textwrap.TextWrapper(
        max(width, indent + _LEAST_TEXT),
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return wrapper.fill(line)


def write_result(options: Namespace, value: Any, text: str) -> None:
    """Print `value` as JSON where the command was given --json, else `text`."""
    if options.json:
        write_json(value)
    else:
        write_line(text)


def styled(text: str, style: str) -> str:
    """Return a text in a style if stdout is a terminal that has them and NO_COLOR (no-color.org) is not set."""
    if not style or not text or not _has_styles():
        return text
    return f"\x1b[{style}m{text}\x1b[0m"


def _has_styles() -> bool:
    """Return whether styles are shown: on a terminal that has them, unless the person does not want them."""
    return is_terminal() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def table(rows: Sequence[Sequence[str]], heads: Sequence[str], flexible: int) -> str:
    """Return rows under heads, as a text for a person or a program.

    On a terminal the columns are aligned, and the column with the index `flexible` is cut until the table fits. In a pipe
    each row is one line of whole cells separated by tabs.
    """
    cells = [list(heads)]
    cells += [[visible(" ".join(cell.split())) for cell in row] for row in rows]
    if not is_terminal():
        return "\n".join("\t".join(row) for row in cells)
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
    width_of_gaps = len(_GAP) * len(widths)
    width_of_others = sum(widths) - widths[flexible]
    free_columns = shutil.get_terminal_size().columns - width_of_gaps - width_of_others
    widths[flexible] = min(widths[flexible], max(free_columns, _LEAST_COLUMNS))
    lines = [_GAP.join(map(_fitted, row, widths)).rstrip() for row in cells]
    return "\n".join([styled(lines[0], BOLD), *lines[1:]])


def _width(text: str) -> int:
    """Return the columns that a text takes on a terminal."""
    return sum(map(_columns, text))


def _columns(char: str) -> int:
    """Return the columns that a character takes: two if it is wide (CJK), none if it joins the one before."""
    if unicodedata.east_asian_width(char) in "WF":
        return 2
    if unicodedata.combining(char):
        return 0
    return 1


def _fitted(text: str, width: int) -> str:
    """Return a text with spaces to this width, or cut to it with an ellipsis."""
    if _width(text) > width:
        width_up_to = [*accumulate(map(_columns, text))]  # of the text up to each character
        fitting_chars = bisect_right(width_up_to, width - len("…"))
        text = f"{text[:fitting_chars]}…"
    return text + " " * (width - _width(text))


def diff(path: object, before: str | None, after: str | None) -> str:
    """Return the change of a file as a unified diff; None is a file that is not there."""
    old_lines = [visible(line) for line in (before or "").splitlines()]
    new_lines = [visible(line) for line in (after or "").splitlines()]
    lines = unified_diff(old_lines, new_lines, str(path), str(path), lineterm="", n=2)
    return "".join(f"{styled(line, _DIFF_STYLES.get(line[0], ''))}\n" for line in lines)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, such as "1 lesson" or "2 lessons"."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun}s"


def counted_sessions(number: int, size: int) -> str:
    """Return a number of sessions with the bytes that were read of them, such as "2 sessions (23 KB)"."""
    sessions = counted(number, "session")
    if not size:
        return sessions
    return f"{sessions} ({size_text(size)})"


def size_text(size: int) -> str:
    """Return a number of bytes in the unit that shows more than a zero: "23 KB", and "0.1 MB" from 100,000 bytes on."""
    if size < _LEAST_MB:
        return f"{max(round(size / 1e3), 1)} KB"
    return f"{size / 1e6:.1f} MB"


def aligned(values: Mapping[str, str]) -> str:
    """Return each value on a line beside its name."""
    width = max(map(len, values), default=0)
    return "\n".join(
        f"{styled(f'{name:<{width}}', DIM)}  {one_line(value)}" for name, value in values.items()
    )


def wrapped(text: str) -> str:
    """Return a text as lines that begin two columns to the right and fit the terminal; its own line breaks stay."""
    width = sys.maxsize
    if is_terminal():
        width = max(shutil.get_terminal_size().columns, _LEAST_COLUMNS)
    wrapper = textwrap.TextWrapper(
        width, initial_indent="  ", subsequent_indent="  ", replace_whitespace=False
    )
    return "\n".join(wrapper.fill(line) or "  " for line in text.split("\n"))


def quotation(text: str) -> str:
    """Return a text from outside as it is shown in a question: on lines that each begin with a bar, which no line of ours has.

    It is one line, wrapped to the terminal: a long one can neither look like our words nor begin a row of the screen.
    """
    line = one_line(text)
    if not is_terminal():
        return f"{_BAR}{line}"
    width = shutil.get_terminal_size().columns - len(_BAR)
    if _width(line) > len(line):
        width //= 2  # a character may take two columns
    wrapper = textwrap.TextWrapper(
        max(width, _LEAST_TEXT), initial_indent="", subsequent_indent="", break_on_hyphens=False
    )
    return "\n".join(f"{_BAR}{piece}" for piece in wrapper.wrap(line) or [""])


def ask(question: str) -> str | None:
    """Print a question and return the line that a person types, without spaces around it; None at the end of input.

    Ctrl-C ends the process at once: Python's handlers can wait for the line first.
    """
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        return input(question).strip()
    except EOFError:
        return None
    finally:
        signal.signal(signal.SIGINT, before)


def confirm(question: str, consequence: str) -> bool:
    """Ask a yes-or-no question and return whether the answer is yes.

    Raises InputError if there is no person to ask; `consequence` says why the question matters, for example
    "erasing cannot be undone".
    """
    if not is_interactive():
        raise InputError(
            "--yes", f"{consequence}, and there is no terminal to ask in", "Add --yes."
        )
    return (ask(f"{question} [y/N] ") or "").lower() in ("y", "yes")
