"""The tables of the shell's and of programs' words, from the files of this folder."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

_TELLING: Final = ("--help", "--version")


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A program that starts another: the operands before that one, its options with a value, those that start nothing."""

    name: str
    operands: int
    valued: frozenset[str]
    telling: frozenset[str]
    with_two_values: frozenset[str]


def _lines(name: str) -> list[str]:
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


@lru_cache(maxsize=1)
def _tables() -> dict[str, list[str]]:
    tables: dict[str, list[str]] = {}
    words: list[str] = []
    for line in _lines("tables.txt"):
        if line.startswith("[") and line.endswith("]"):
            words = tables.setdefault(line[1:-1], [])
        else:
            words += line.split()
    return tables


@lru_cache(maxsize=64)
def words_of_table(name: str) -> frozenset[str]:
    """Return the words of a table."""
    return frozenset(_tables()[name])


@lru_cache(maxsize=1)
def other_names() -> dict[str, str]:
    """Return programs with another name, each with the one that is used here."""
    pairs = (word.partition("=") for word in _tables()["other names"])
    return {name: known for name, _, known in pairs}


@lru_cache(maxsize=1)
def wrappers() -> dict[str, Wrapper]:
    """Return what starts other programs, by its words."""
    found: dict[str, Wrapper] = {}
    for line in _lines("wrappers.txt"):
        name, operands, valued, *others = (part.strip() for part in line.split("|"))
        telling = frozenset((*_TELLING, *" ".join(others).split()))
        options = valued.split()
        pairs = frozenset(one.removesuffix(":2") for one in options if one.endswith(":2"))
        plain = frozenset(one.removesuffix(":2") for one in options)
        found[name] = Wrapper(name, int(operands), plain, telling, pairs)
    return found


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A program that runs a file, a module or code: the options before a module and before code, and others with a value."""

    module: frozenset[str]
    code: frozenset[str]
    valued: frozenset[str]


@lru_cache(maxsize=1)
def interpreters() -> dict[str, Interpreter]:
    """Return the interpreters by their names."""
    found: dict[str, Interpreter] = {}
    for line in _lines("interpreters.txt"):
        name, *options = (part.strip() for part in line.split("|"))
        module, code, valued = (frozenset(part.split()) for part in options)
        found[name] = Interpreter(module, code, valued)
    return found


@lru_cache(maxsize=1)
def options_with_scripts() -> dict[str, frozenset[str]]:
    """Return, by a program or by it and its subcommand, the options whose value is a script."""
    pairs = (line.partition("|") for line in _lines("scripts.txt"))
    return {name.strip(): frozenset(options.split()) for name, _, options in pairs}


@lru_cache(maxsize=1)
def wrapping_programs() -> frozenset[str]:
    """Return the first words of all wrappers."""
    return frozenset(name.split()[0] for name in wrappers())


@lru_cache(maxsize=1)
def wrapper_subcommands() -> dict[str, frozenset[str]]:
    """Return, by the first word of wrappers, the words that may come next in their names: `git` has bisect, submodule."""
    found: dict[str, set[str]] = {name: set() for name in wrapping_programs()}
    for name in wrappers():
        first, *others = name.split()
        found[first].update(others[:1])
    return {name: frozenset(words) for name, words in found.items()}
