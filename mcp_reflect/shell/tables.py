"""The tables of the shell's and of programs' words, from the files of this folder."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

_EVERY_PROGRAM_TELLS_WITH: Final = ("--help", "--version")


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A program that starts another, such as `sudo` or `docker exec`.

    `operands` counts its own words before the other program (the container of `docker exec`), `valued` are its options
    with a value, and `with_two_values` those with two. With an option of `only_tells_with`, such as `--help`, it tells
    something about itself and starts nothing.
    """

    name: str
    operands: int
    valued: frozenset[str]
    only_tells_with: frozenset[str]
    with_two_values: frozenset[str]


def _lines(name: str) -> list[str]:
    """Return the lines of a file of this folder, without comments and empty ones."""
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


@lru_cache(maxsize=1)
def _tables() -> dict[str, list[str]]:
    """Return the words of each section of tables.txt by the section's name."""
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
    """Return the words of a section of tables.txt."""
    return frozenset(_tables()[name])


@lru_cache(maxsize=1)
def other_names() -> dict[str, str]:
    """Return programs that have two names, each with the name that is used here: `gmake` is `make`."""
    pairs = (word.partition("=") for word in _tables()["other names"])
    return {other_name: name for other_name, _, name in pairs}


@lru_cache(maxsize=1)
def usual_names() -> dict[str, tuple[str, ...]]:
    """Return programs, or programs with a subcommand, by which another command goes, each with the words of that.

    `docker-compose` goes for `docker compose`, and `k3s kubectl` for `kubectl`.
    """
    pairs = (line.partition("|") for line in _lines("usual_names.txt"))
    return {name.strip(): tuple(usual.split()) for name, _, usual in pairs}


@lru_cache(maxsize=1)
def wrappers() -> dict[str, Wrapper]:
    """Return the programs that start others, by their name with subcommands: `sudo`, `docker exec`."""
    by_name: dict[str, Wrapper] = {}
    for line in _lines("wrappers.txt"):
        wrapper = _wrapper_of_line(line)
        by_name[wrapper.name] = wrapper
    return by_name


def _wrapper_of_line(line: str) -> Wrapper:
    """Return the wrapper of a line of wrappers.txt: "docker exec | 1 | -e -u --map:2 | --list".

    The fields are the name, the number of operands, the options with a value (`:2` behind one with two), and the options
    with which it starts nothing, which may be missing.
    """
    name, operands, options_with_values, *last_field = (part.strip() for part in line.split("|"))
    valued: set[str] = set()
    with_two_values: set[str] = set()
    for entry in options_with_values.split():
        option = entry.removesuffix(":2")
        valued.add(option)
        if option != entry:
            with_two_values.add(option)
    only_tells_with = " ".join(last_field).split()
    return Wrapper(
        name=name,
        operands=int(operands),
        valued=frozenset(valued),
        only_tells_with=frozenset((*_EVERY_PROGRAM_TELLS_WITH, *only_tells_with)),
        with_two_values=frozenset(with_two_values),
    )


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A program that runs a file, a module or code, such as `python build.py`, `python -m pytest` and `python -c '…'`.

    `module` are its options before a module (`-m`), `code` those before code (`-c`), `valued` others with a value (`-W`).
    """

    module: frozenset[str]
    code: frozenset[str]
    valued: frozenset[str]


@lru_cache(maxsize=1)
def interpreters() -> dict[str, Interpreter]:
    """Return the interpreters by their names, from lines such as "python | -m | -c | -W -X"."""
    by_name: dict[str, Interpreter] = {}
    for line in _lines("interpreters.txt"):
        name, *options = (part.strip() for part in line.split("|"))
        module, code, valued = (frozenset(part.split()) for part in options)
        by_name[name] = Interpreter(module, code, valued)
    return by_name


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
    subcommands: dict[str, set[str]] = {name: set() for name in wrapping_programs()}
    for name in wrappers():
        first, *others = name.split()
        subcommands[first].update(others[:1])
    return {name: frozenset(words) for name, words in subcommands.items()}
