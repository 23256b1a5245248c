"""What every command does: parse its words, open the engine, print for people or programs."""

import asyncio
import json
import os
import shutil
import sys
import tempfile
import unicodedata
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO, TypeVar

from mcp_reflect.config import Settings
from mcp_reflect.services.engine import Engine

if TYPE_CHECKING:
    import argparse

# A file replaced whole: whoever reads it, or whatever ends this process, finds the old text or the new one.


@contextmanager
def replacing(path: Path, mode: int = 0o600) -> Generator[TextIO]:
    """A text file (UTF-8, line ends as written) that takes the place of `path` when the block is left without an error.

    Through a link it is the file that the link leads to. `mode` holds its permissions. OSError where the disk does
    not let us; `path` is as it was then.
    """
    target = path.resolve()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    part = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.chmod(mode)
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    _sync(target.parent)


def _sync(folder: Path) -> None:
    """Have the new name on the disk too, where a folder can be synced (Windows has no such thing)."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass  # a file system without it; the file's own bytes are there
    finally:
        os.close(handle)


# What a person sees in a terminal: columns that fit, colours where wanted, no sign that the terminal would act on.
#
# Piped, the same rows are lines of tab-separated cells in full, for programs.


LEAST: Final = 20
"""The fewest columns that the widest cell of a table keeps, however narrow the terminal is."""

BOLD: Final = "1"
DIM: Final = "2"
GREEN: Final = "32"
YELLOW: Final = "33"
RED: Final = "31"


def seen_by_a_person() -> bool:
    """Whether the output goes to a terminal."""
    return sys.stdout.isatty()


def styled(text: str, style: str) -> str:
    """A text in a style of ECMA-48 (SGR), where a person sees it and NO_COLOR (no-color.org) does not forbid it."""
    plain = not seen_by_a_person() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return text if plain or not text else f"\x1b[{style}m{text}\x1b[0m"


def columns() -> int:
    """How many columns there are: COLUMNS, else what the terminal says, else 80."""
    return max(shutil.get_terminal_size().columns, LEAST)


def width(text: str) -> int:
    """How many columns a text takes: two for wide characters (Unicode Annex 11), none for marks on other ones."""
    return sum(map(_columns_of, text))


def fitted(text: str, most: int) -> str:
    """A text in at most that many columns, on one line; what is cut is said by an ellipsis."""
    flat = " ".join(text.split())
    if width(flat) <= most:
        return flat
    kept, taken = "", 0
    for char in flat:
        taken += _columns_of(char)
        if taken > most - 1:
            break
        kept += char
    return f"{kept.rstrip()}…"


def wrapped(text: str, indent: str = "  ") -> str:
    """A text in lines that fit the terminal, each behind `indent`; its own line ends stay."""
    return "\n".join(line for part in text.split("\n") for line in _lines(part, indent, columns()))


def visible(text: str) -> str:
    """A text with every sign that a terminal would act on, or not show, written as its code."""
    return "".join(char if char.isprintable() or char == "\n" else _code(char) for char in text)


def rows_shown(rows: Sequence[Sequence[str]], heads: Sequence[str], flexible: int) -> str:
    """Rows under heads. For a person the column `flexible` gives way until all fit; piped, cells parted by tabs."""
    clean = [[visible(" ".join(cell.split())) for cell in row] for row in rows]
    if not seen_by_a_person():
        return "\n".join("\t".join(row) for row in [list(heads), *clean])
    widths = [max(width(row[place]) for row in [heads, *clean]) for place in range(len(heads))]
    others = sum(size + 2 for place, size in enumerate(widths) if place != flexible)
    widths[flexible] = min(widths[flexible], max(columns() - others, LEAST))
    lines = [_line(heads, widths, BOLD), *(_line(row, widths) for row in clean)]
    return "\n".join(lines)


def _line(row: Sequence[str], widths: Sequence[int], style: str = "") -> str:
    cells = [fitted(cell, most) for cell, most in zip(row, widths, strict=True)]
    line = "  ".join(cell + " " * (most - width(cell)) for cell, most in zip(cells, widths, strict=True)).rstrip()
    return styled(line, style) if style else line


def _lines(part: str, indent: str, most: int) -> list[str]:
    lines, line = list[str](), indent
    for word in part.split(" "):
        if line != indent and width(line) + 1 + width(word) > most:
            lines.append(line)
            line = indent
        line += word if line == indent else f" {word}"
    return [*lines, line]


def _columns_of(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _code(char: str) -> str:
    return "\\t" if char == "\t" else f"<U+{ord(char):04X} {unicodedata.name(char, 'control')}>"


# What every command does: parse its words, open the engine, print for people or programs.


_Answer = TypeVar("_Answer")


def parser(command: str, about: str) -> "argparse.ArgumentParser":
    """A parser for one command, with `--json`, and examples at the end of its help."""
    import argparse  # noqa: PLC0415 - a hook has no words to parse

    from mcp_reflect.cli.parser import CliParser, shown  # noqa: PLC0415 - same

    made = CliParser(
        prog=f"mcp-reflect {command}",
        description=about,
        epilog=shown(command),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument("--json", action="store_true", help="print JSON for a program")
    return made


def with_engine(work: Callable[[Engine], Awaitable[_Answer]], settings: Settings | None = None) -> _Answer:
    """Run `work` with an engine over the bank that the settings (default: the environment) name, and close it."""

    async def run() -> _Answer:
        async with Engine(settings) as engine:
            return await work(engine)

    return asyncio.run(run())


def say(text: str) -> None:
    """A line for a person, or a program's JSON line."""
    sys.stdout.write(f"{text}\n")


def say_json(value: Any) -> None:
    """A value for a program, on one line."""
    say(json.dumps(value, ensure_ascii=False))


def vectors_said(state: Mapping[str, Any]) -> str:
    """Which embedder a bank has, and how many lessons have a vector of it, for a person."""
    return f"{state['embedder']}, {state['with_vector']} of {state['lessons']} lessons have a vector"


def table(rows: Sequence[Sequence[str]], heads: Sequence[str], widest: int = 60) -> str:
    """Rows under heads, in columns. Longer cells are cut at `widest` characters, and line ends become spaces."""
    cells = [[_cell(cell, widest) for cell in row] for row in (heads, *rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(heads))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def _cell(text: str, widest: int) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= widest else f"{flat[: widest - 1]}…"
