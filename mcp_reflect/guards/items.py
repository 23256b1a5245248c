"""The items of a guard compared with the words of a call: programs, arguments, paths, words of a text."""

import re
from fnmatch import fnmatchcase
from typing import Final

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.shell import base_name, program_name

MOST_VALUE_CHARS: Final = 20_000
"""Characters of a value that are looked at."""

NUMBER: Final = lazy_compile(r"-?\d+(?:\.\d+)?")
_CERTAIN_NUMBER: Final = lazy_compile(
    r"[-+]?(?:(?:\d+|\d{1,3}(?:,\d{3})+|\d{1,3}(?:_\d{3})+)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,4})?"
)
_SEPARATORS_OF_SERVER: Final = lazy_compile(r"__|[./:]")
_MOST_DIGITS: Final = 60  # characters of a text that is read as a number
WILDCARDS: Final = frozenset("*?[")
_MOST_PATTERN_CHARS: Final = 1_000  # of a path that is compared with a pattern, which takes time


def tool_key(tool: str) -> str:
    """Return the key under which guards of a tool are looked up: its name without the server before it."""
    return f"tool {parts_of_tool(tool)[-1]}"


def parts_of_tool(tool: str) -> list[str]:
    """Return the server and the name of a tool in lower case: mcp, jira and search of `mcp__jira__search`.

    Hosts write them in their own ways: `jira.search`, `jira/search`, `jira:search`.
    """
    parts = [part for part in _SEPARATORS_OF_SERVER.split(tool.lower()) if part]
    return parts or [tool.lower()]


def number_in(text: str) -> float | None:
    """Return the number that a text certainly is, None for any other text.

    | text                                | number |
    |-------------------------------------|--------|
    | `1000`, `1e3`, `1,000`, ` 1_000.0 ` | 1000   |
    | `1,5`, `1.000,5`, `100k`, `12-3`    | None   |
    """
    plain = text.strip()
    is_short = len(plain) <= _MOST_DIGITS and plain.isascii()
    if not is_short or _CERTAIN_NUMBER.fullmatch(plain) is None:
        return None
    return float(plain.replace(",", "").replace("_", ""))


def path_key(path: str) -> str:
    """Return the key under which a guard of a file or a pattern is looked up.

    | the path                   | key     |
    |----------------------------|---------|
    | `src/a.py`                 | `a.py`  |
    | `web/dist/`                | `dist/` |
    | `src/*.py`                 | `*.py`  |
    | `src/*`, `src/a.*`, `*.p?` | `*`     |
    """
    name = base_name(path)
    if WILDCARDS.isdisjoint(name):
        return f"{name}/" if path.endswith("/") else name
    stem, _, extension = name.rpartition(".")
    if stem and WILDCARDS.isdisjoint(extension):
        return f"*.{extension}"
    return "*"


def name_of(head: str) -> str:
    """Return the program that the head of a guard names."""
    return program_name(head.split(maxsplit=1)[0]).lower()


def is_operand(word: str) -> bool:
    """Return whether a word is an argument that is neither a flag, a redirect, a number nor a setting (`NAME=value`)."""
    if not word or word[0] in "-<>":
        return False
    return not NUMBER.fullmatch(word) and "=" not in word


def is_argument(word: str, item: str) -> bool:
    """Return whether a word of a command is the argument that an item names.

    That is the word itself, the value in a flag (`--out=dist/`), or what stands behind its last colon
    (`HEAD:main`).
    """
    if word[:1] == "-":
        word = word.partition("=")[2] or word[2:]
    return is_path(word, item) or word.rsplit(":", 1)[-1] == item


def is_path(path: str, item: str) -> bool:
    """Return whether a path is what an item of a guard names.

    | the item      | the paths                                       |
    |---------------|-------------------------------------------------|
    | `b/a.py`      | `b/a.py`, `x/b/a.py`                            |
    | `dist/`       | all in a folder of that name: `web/dist/x`      |
    | `*.pem`       | each file whose name fits, in any folder        |
    | `b/*.py`      | `b/a.py`, `x/b/a.py`                            |
    | `/`, `*`, `.` | that text alone: it would be any path otherwise |
    """
    if item in (".", "./"):
        return path in (".", "./")
    path = path.replace("\\", "/").removeprefix("./")
    item = item.replace("\\", "/").removeprefix("./")
    if not path or not item:
        return False
    if item == "/":
        return path == item
    if path == item or f"/{path.rstrip('/')}".endswith(f"/{item}"):
        return True
    if item[-1] == "/":
        return f"/{item}" in f"/{path}/"
    is_pattern = item != "*" and not WILDCARDS.isdisjoint(item)
    if not is_pattern or len(path) >= _MOST_PATTERN_CHARS:
        return False
    compared = path if "/" in item else base_name(path)
    return fnmatchcase(compared, item) or fnmatchcase(path, f"*/{item}")


def has_words(text: str, phrase: str) -> bool:
    """Return whether the words of a phrase stand in a text one after the other, in any case: "drop table"."""
    pattern = r"\s+".join(re.escape(word) for word in phrase.split())
    if not pattern:
        return False
    whole_words = rf"(?i)(?<!\w){pattern}(?!\w)"
    return re.search(whole_words, text[:MOST_VALUE_CHARS]) is not None
