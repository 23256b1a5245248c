"""The option in a word of a command, and its value: `-u` with `root` in `-iuroot`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mcp_reflect.shell.tables import words_of_table

_LONGEST_CLUSTER: Final = 12  # characters of a word such as `-iu` that is taken for several flags
VALUED: Final = words_of_table("options with a value")
"""Options of many programs whose value is the next word."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option that takes a value: `value` if that stands in its word, else the next word is it (`takes_next`).

    The name is empty for an option that takes no value.
    """

    name: str = ""
    value: str = ""
    takes_next: bool = False


def read_option(word: str, valued: frozenset[str]) -> Option:
    """Return the option of a word that takes a value; `valued` are the options of the program that take one.

    With `-u` and `--user` among those:

    | word          | option   | value         |
    |---------------|----------|---------------|
    | `-u`, `-iu`   | `-u`     | the next word |
    | `-iuroot`     | `-u`     | `root`        |
    | `--user`      | `--user` | the next word |
    | `--user=root` | `--user` | `root`        |
    | `-i`, `--x=1` | none     |               |
    """
    if word in valued:
        return Option(word, takes_next=True)
    name, equal, value = word.partition("=")
    if equal and name in valued:
        return Option(name, value)
    if word.startswith("--"):
        return Option()
    for index, letter in enumerate(word[1:_LONGEST_CLUSTER], start=1):
        if f"-{letter}" in valued:
            rest = word[index + 1 :]
            return Option(f"-{letter}", rest, takes_next=not rest)
    return Option()


def values_of(words: Sequence[str], options: frozenset[str]) -> list[str]:
    """Return the values of some options in their order, each in its word or behind it.

    "a" and "b" for `-sSLo a --output=b`, if `-o` and `--output` are among `options`.
    """
    values: list[str] = []
    if not options:
        return values
    for index, word in enumerate(words):
        option = read_option(word, options)
        if word[:1] != "-" or not option.name:
            continue
        if option.takes_next:
            values += words[index + 1 : index + 2]
        else:
            values.append(option.value)
    return values
