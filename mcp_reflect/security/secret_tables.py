"""The data files of this folder: tables with a row a line and cells parted by tabs; `# ` begins a comment."""

from functools import cache
from pathlib import Path


@cache
def rows_of(name: str) -> tuple[tuple[str, ...], ...]:
    """Return the cells of each row of a table."""
    lines = Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("# ")]
    return tuple(map(tuple, rows))


@cache
def words_of(name: str, kind: str) -> frozenset[str]:
    """Return the words of a kind: each row has a kind, a tab, and words parted by blanks."""
    words: set[str] = set()
    for row in rows_of(name):
        if row[0] == kind:
            words.update(row[1].split())
    return frozenset(words)


def pattern_of(name: str, kind: str) -> str:
    """Return the rows of a kind as one pattern: each row has a kind, a tab, and patterns parted by bars."""
    return "|".join(row[1] for row in rows_of(name) if row[0] == kind)
