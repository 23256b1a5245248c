"""Print results: tables for people, JSON and tab-separated rows for programs; ask questions."""

import json
import shutil
import signal
import sys
import textwrap
import unicodedata
from argparse import Namespace
from collections.abc import Mapping, Sequence
from difflib import unified_diff
from typing import Any

from mcp_reflect.errors import InputError


def is_terminal() -> bool:
    """Return whether stdout is a terminal."""
    return sys.stdout.isatty()


def is_interactive() -> bool:
    """Return whether there is a person to ask: stdin and stdout are both terminals."""
    return sys.stdin.isatty() and is_terminal()


def write_line(text: str) -> None:
    """Print a line to stdout."""
    sys.stdout.write(f"{text}\n")


def write_json(value: Any) -> None:
    """Print a value as one line of JSON to stdout."""
    write_line(json.dumps(value, ensure_ascii=False))


def write_result(options: Namespace, value: Any, text: str) -> None:
    """Print `value` as JSON where the command was given --json, else `text`."""
    if options.json:
        write_json(value)
    else:
        write_line(text)


def visible(text: str) -> str:
    """Return a text in which each character that a terminal would act on, or hide, is written as its code."""
    return "".join(
        char if char.isprintable() or char == "\n" else f"<U+{ord(char):04X} {unicodedata.name(char, 'control')}>"
        for char in text.replace("\t", "\\t")
    )


def table(rows: Sequence[Sequence[str]], heads: Sequence[str], flexible: int) -> str:
    """Return rows under heads.

    On a terminal they are aligned, and the column `flexible` is cut until the table fits. In a pipe each row is one
    line of whole cells separated by tabs.
    """
    cells = [list(heads), *([visible(" ".join(cell.split())) for cell in row] for row in rows)]
    if not is_terminal():
        return "\n".join(map("\t".join, cells))
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    room = shutil.get_terminal_size().columns - sum(widths) - 2 * len(widths) + widths[flexible]
    widths[flexible] = min(widths[flexible], max(room, 20))
    for row in cells:
        if len(row[flexible]) > widths[flexible]:
            row[flexible] = f"{row[flexible][: widths[flexible] - 1]}…"
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in cells)


def diff(path: object, before: str | None, after: str | None) -> str:
    """Return the change of a file as a unified diff."""
    old, new = ([visible(line) for line in (text or "").splitlines()] for text in (before, after))
    return "".join(f"{line}\n" for line in unified_diff(old, new, str(path), str(path), lineterm="", n=2))


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, such as "1 lesson" or "2 lessons"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def aligned(values: Mapping[str, str]) -> str:
    """Return each value on a line beside its name."""
    width = max(map(len, values), default=0)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in values.items())


def indented(text: str) -> str:
    """Return a text with each line two columns to the right."""
    return textwrap.indent(text, "  ")


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
        raise InputError("--yes", f"{consequence}, and there is no terminal to ask in", "Add --yes.")
    return (ask(f"{question} [y/N] ") or "").lower() in ("y", "yes")
