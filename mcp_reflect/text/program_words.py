"""The words for what programs do: a lesson that names `pytest` alone is about tests, and a person asks for "tests"."""

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Final

from mcp_reflect.text.stemmer import stem

_FILE: Final = Path(__file__).with_name("program_words.txt")


def words_for_programs(terms: Iterable[str]) -> list[str]:
    """Return the words for what the programs among these terms do, each once: "pytest" -> "tests", "suite".

    Terms are stems, as those of an index.
    """
    table = _table()
    words: list[str] = []
    for term in terms:
        words += table.get(term, ())
    return list(dict.fromkeys(words))


@lru_cache(maxsize=1)
def _table() -> dict[str, list[str]]:
    """Return the packaged list, lines `words: programs`, as the words for each program's stem."""
    lines = [line for line in _FILE.read_text("utf-8").splitlines() if line and line[0] != "#"]
    table: dict[str, list[str]] = {}
    for line in lines:
        words, _, programs = line.partition(":")
        table |= dict.fromkeys(map(stem, programs.split()), words.split())
    return table
