"""The data files of this folder: tables with a row a line and cells parted by tabs; `# ` begins a comment."""

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import count
from pathlib import Path
from typing import Final


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


_SEARCHED: Final = (
    2_000  # characters of a text that is searched sooner than the letters of cues are told
)
_FIRST: Final = (
    100  # searches of a process, with which a hook has done; behind them the letters are told
)
_searches: Final = count()
_LETTERS: Final = bytes(at if chr(at).islower() and at < 128 else 32 for at in range(256))


def letters_of(text: str) -> list[bytes]:
    """Return the runs of small letters of a text, without accents."""
    return text.encode(errors="replace").translate(_LETTERS).split()


@cache
def _longest_run(cue: str) -> str:
    return max(letters_of(cue), key=len, default=b"").decode()


def standing_in(cues: Iterable[str], folded: str, words: str) -> Iterator[str]:
    """Yield the cues that stand in a text in lower case; `words` has each run of letters of it once.

    A long text is searched for those only of which it has the longest run of letters, and so is each behind the first
    ones of a process.
    """
    is_short = len(folded) <= _SEARCHED and next(_searches) < _FIRST
    for cue in cues:
        if (is_short or _longest_run(cue) in words) and cue in folded:
            yield cue
