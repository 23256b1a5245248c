"""The word for what a program does: a lesson that names pytest alone is about tests, and a person asks for those."""

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Final

_FILE: Final = Path(__file__).with_name("program_words.txt")


def words_for_programs(terms: Iterable[str]) -> list[str]:
    """Return the words for what the programs among these terms do, each once."""
    table = _table()
    return list(dict.fromkeys(table[term] for term in terms if term in table))


@lru_cache(maxsize=1)
def _table() -> dict[str, str]:
    lines = [line for line in _FILE.read_text("utf-8").splitlines() if line and line[0] != "#"]
    table: dict[str, str] = {}
    for line in lines:
        word, _, programs = line.partition(":")
        table |= dict.fromkeys(programs.split(), word)
    return table
