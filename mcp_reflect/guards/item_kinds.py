"""The items of a guard of a program, each read into what it asks for: a flag, a variable, words, an argument.

A person writes an item as a text, whose beginning and end say its kind. `parse_item` reads it once for all calls.
"""

import re
from enum import Enum, auto
from functools import lru_cache
from typing import Final, NamedTuple

from mcp_reflect.patterns import lazy_compile

ANY_ARGUMENT: Final = "an argument"
"""The item of a guard that any argument meets which is not a flag."""

_IN_BACKGROUND: Final = "&"
_BEFORE_READER: Final = "| "
_BEHIND_EARLIER_COMMAND: Final = " &&"
_BEHIND_STARTER: Final = " ..."
_VARIABLE: Final = lazy_compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_MOST_PARSED: Final = 4_096
"""Items that are kept parsed, chosen: several of each guard of a large bank."""


class ItemKind(Enum):
    """What an item of a guard asks for."""

    ANY_ARGUMENT = auto()
    IN_BACKGROUND = auto()
    READER = auto()
    EARLIER_COMMAND = auto()
    STARTER = auto()
    PHRASE = auto()
    FLAG = auto()
    VARIABLE = auto()
    ARGUMENT = auto()


class GuardItem(NamedTuple):
    """An item of a guard of a program.

    `text` is the item as it is written. `name` is what it names: a program, the words of a command or a phrase, a flag, a
    variable, or an argument. `value` is that of a flag or a variable; "" for a variable means any, and None that the
    item names no value.
    """

    kind: ItemKind
    text: str
    name: str
    value: str | None = None


@lru_cache(maxsize=_MOST_PARSED)
def parse_item(text: str) -> GuardItem:
    """Return an item of a guard by its text; the first row that fits decides.

    | the text          | its kind          | the name     | the value | is met by                              |
    |-------------------|-------------------|--------------|-----------|----------------------------------------|
    | `an argument`     | `ANY_ARGUMENT`    |              |           | an argument that is no flag            |
    | `&`               | `IN_BACKGROUND`   |              |           | a program that nobody waits for        |
    | `| tail`          | `READER`          | `tail`       |           | output that goes to this program       |
    | `cd web &&`       | `EARLIER_COMMAND` | `cd web`     |           | this command before the program        |
    | `sudo ...`        | `STARTER`         | `sudo`       |           | a program that this one starts         |
    | `"drop table"`    | `PHRASE`          | `drop table` |           | a text with these words                |
    | `--depth=5`, `-f` | `FLAG`            | `--depth`    | `5`       | this flag, with that value if any      |
    | `CI=1`, `CI=`     | `VARIABLE`        | `CI`         | `1`       | this variable, set to that value if any|
    | `dist/`           | `ARGUMENT`        | `dist/`      |           | this argument                          |
    """
    if text == ANY_ARGUMENT:
        return GuardItem(ItemKind.ANY_ARGUMENT, text, "")
    if text == _IN_BACKGROUND:
        return GuardItem(ItemKind.IN_BACKGROUND, text, "")
    if text.startswith(_BEFORE_READER):
        return GuardItem(ItemKind.READER, text, text.removeprefix(_BEFORE_READER))
    if text.endswith(_BEHIND_EARLIER_COMMAND):
        return GuardItem(ItemKind.EARLIER_COMMAND, text, text.removesuffix(_BEHIND_EARLIER_COMMAND))
    if text.endswith(_BEHIND_STARTER):
        return GuardItem(ItemKind.STARTER, text, text.removesuffix(_BEHIND_STARTER))
    if text.startswith('"'):
        return GuardItem(ItemKind.PHRASE, text, text.strip('"'))
    if text.startswith("-"):
        name, equal, value = text.partition("=")
        return GuardItem(ItemKind.FLAG, text, name, value if equal else None)
    variable = _VARIABLE.fullmatch(text)
    if variable is not None:
        return GuardItem(ItemKind.VARIABLE, text, variable[1], variable[2])
    return GuardItem(ItemKind.ARGUMENT, text, text)
