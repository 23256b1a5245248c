"""The words and forms of word_lists.txt, by the name of their section."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

_FILE: Final = Path(__file__).with_name("word_lists.txt")


@cache
def listed_words(section: str) -> frozenset[str]:
    """Return the words of a section."""
    words: set[str] = set()
    for line in _lines_of(section):
        words.update(line.split())
    return frozenset(words)


@cache
def listed_forms(section: str) -> dict[str, tuple[str, ...]]:
    """Return the forms of each word of a section, in their order."""
    forms: dict[str, tuple[str, ...]] = {}
    for line in _lines_of(section):
        word, _, listed = line.partition(":")
        forms[word] = tuple(form.strip() for form in listed.split(";"))
    return forms


def _lines_of(section: str) -> Iterator[str]:
    """Yield the lines of a section without comments. A name that the file does not have is an error in the code."""
    lines = _FILE.read_text(encoding="utf-8").splitlines()
    start = lines.index(f"[{section}]") + 1
    for line in lines[start:]:
        if line.startswith("["):
            return
        if line and not line.startswith("#"):
            yield line
