"""What a person sees in a terminal: columns that fit, colours where wanted, no sign that the terminal would act on.

Piped, the same rows are lines of tab-separated cells in full, for programs.
"""

import os
import shutil
import sys
import unicodedata
from collections.abc import Sequence
from typing import Final

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
