"""Read lists of words from a file: one entry a line, under a heading in brackets, with comment lines that begin with `# `.

[praise]
# What a reviewer says of good work.
well done
"""

import re
from functools import cache
from pathlib import Path
from typing import Final

_HEADING: Final = re.compile(r"\[([a-z_ ]+)\]")


@cache
def read_words_by_heading(path: Path) -> dict[str, tuple[str, ...]]:
    """Return the entries of a file by their heading, in their order."""
    lists: dict[str, list[str]] = {}
    entries: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        heading = _HEADING.fullmatch(line)
        if heading:
            entries = lists.setdefault(heading[1], [])
        elif line and not line.startswith("# "):
            entries.append(line)
    return {name: tuple(words) for name, words in lists.items()}
