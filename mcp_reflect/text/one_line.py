"""Text from outside as a person is shown it in a question: on one line, with each hidden character written out."""

import re
import unicodedata
from typing import Final

_LINE_BREAK: Final = re.compile(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
_BREAK_SIGN: Final = " ↵ "


def visible(text: str) -> str:
    """Return a text with each control or invisible character replaced by its code and name."""
    return "".join(map(_visible_char, text.replace("\t", "\\t")))


def _visible_char(char: str) -> str:
    """Return a character, or its code and name if it would not be seen."""
    if char.isprintable() or char == "\n":
        return char
    return f"<U+{ord(char):04X} {unicodedata.name(char, 'control')}>"


def one_line(text: str, most: int | None = None) -> str:
    """Return a text on one line, so that none of its lines can look like one of ours.

    ↵ stands for its line breaks, and one blank for several. Of a text above `most` characters the end is left out, and
    what is left out is counted.
    """
    parts = (" ".join(part.split()) for part in _LINE_BREAK.split(text))
    line = visible(_BREAK_SIGN.join(part for part in parts if part))
    if most is None or len(line) <= most:
        return line
    return f"{line[:most].rstrip()} … ({len(line) - most} characters more)"
