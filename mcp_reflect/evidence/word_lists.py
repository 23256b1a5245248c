"""The lists of words in the folder `words/`."""

import re
from functools import cache
from pathlib import Path
from typing import Final

from mcp_reflect.text.word_lists import read_words_by_heading

_FOLDER: Final = Path(__file__).parent / "words"


@cache
def read_word_list(name: str) -> dict[str, tuple[str, ...]]:
    """Return the entries of a file by their heading, in their order."""
    return read_words_by_heading(_FOLDER / f"{name}.txt")


def pattern_of(heading: str, name: str = "output_lines") -> re.Pattern[str]:
    """Return the pattern that finds any entry under a heading of a list of words."""
    entries = read_word_list(name)[heading]
    return re.compile("|".join(f"(?:{entry})" for entry in entries), re.IGNORECASE)
