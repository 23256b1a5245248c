"""The items of a guard compared with the words of a call: programs, arguments, paths, words of a text."""

import re
from fnmatch import fnmatchcase
from typing import Final

from mcp_reflect.patterns import lazy_compile
from mcp_reflect.shell import base_name, program_name

MOST_VALUE_CHARS: Final = 20_000
"""Characters of a value that are looked at."""

NUMBER: Final = lazy_compile(r"-?\d+(?:\.\d+)?")


def tool_key(tool: str) -> str:
    """Return the key under which guards of a tool are looked up."""
    return f"tool {tool.rsplit('__', 1)[-1].lower()}"


def path_key(path: str) -> str:
    """Return the key under which guards of a file are looked up."""
    last = base_name(path)
    if any(sign in last for sign in "*?["):
        extension = last.rsplit(".", 1)[-1]
        has_plain_ending = last != extension and set("*?[").isdisjoint(extension)
        return f"*.{extension}" if has_plain_ending else "*"
    if path.endswith("/"):
        return f"{last}/"
    return last


def name_of(head: str) -> str:
    """Return the program that the head of a guard names."""
    return program_name(head.split(maxsplit=1)[0]).lower()


def is_operand(word: str) -> bool:
    """True for an argument that is neither a flag nor a number nor a setting."""
    return bool(word) and word[0] not in "-<>" and not NUMBER.fullmatch(word) and "=" not in word


def is_argument(word: str, item: str) -> bool:
    """Return whether an argument, or the value in a flag, is what an item names."""
    if word[:1] == "-":
        word = word.partition("=")[2] or word[2:]
    return is_path(word, item) or word.rsplit(":", 1)[-1] == item


def is_path(path: str, item: str) -> bool:
    """True if a path is `item` or ends with it, lies in the folder `item/`, or matches the pattern `item`."""
    path, item = (
        path.replace("\\", "/").removeprefix("./"),
        item.replace("\\", "/").removeprefix("./"),
    )
    if not path or not item:
        return False
    if item == "/":
        return path == item
    if path == item or f"/{path.rstrip('/')}".endswith(f"/{item}"):
        return True
    if item[-1] == "/":
        return f"/{item}" in f"/{path}/"
    if any(sign in item for sign in "*?[") and item != "*" and len(path) < 1_000:
        return fnmatchcase(path if "/" in item else base_name(path), item) or fnmatchcase(
            path, f"*/{item}"
        )
    return False


def has_words(text: str, phrase: str) -> bool:
    """True if words stand in a text one after the other, in any case."""
    pattern = r"\s+".join(re.escape(word) for word in phrase.split())
    return (
        bool(pattern)
        and re.search(rf"(?i)(?<!\w){pattern}(?!\w)", text[:MOST_VALUE_CHARS]) is not None
    )
