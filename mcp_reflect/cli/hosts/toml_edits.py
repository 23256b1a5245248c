"""A table written into TOML that people keep by hand, and taken out again; every other line stays as it is."""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from mcp_reflect.errors import InputError

_HEADER: Final = re.compile(r"\s*\[(\[?)([^\[\]]+)\]\]?\s*(#.*)?$")
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+$")


def with_table(text: str, path: Sequence[str], table: Mapping[str, Any]) -> str:
    """The document with a table at `path`, at its end. Values are text, lists of text and tables of text.

    InputError where the document is no TOML, or holds the table in a form that cannot be changed line by line.
    """
    expected = _read(text)
    place = expected
    for name in path[:-1]:
        place = place.setdefault(name, {})
    place[path[-1]] = dict(table)
    kept = without_table(text, path).rstrip("\n")
    changed = (f"{kept}\n\n" if kept else "") + "\n".join(_lines(path, table)) + "\n"
    return _checked(changed, expected)


def without_table(text: str, path: Sequence[str]) -> str:
    """The document without the table at `path` and its own tables; comments before the next table stay."""
    expected = _read(text)
    place = expected
    for name in path[:-1]:
        place = place.get(name, {})
    if path[-1] not in place:
        return text
    del place[path[-1]]
    kept: list[str] = []
    gone: list[str] = []
    ours = False
    for line in re.split(r"(?<=\n)", text):
        header = _HEADER.match(line)
        if header:
            if ours:
                kept += _leading(gone)
            ours = _names(header[2])[: len(path)] == list(path)
            gone = []
        (gone if ours else kept).append(line)
    changed = "".join(kept).rstrip("\n")
    for depth in range(len(path) - 1, 0, -1):  # a table that only held ours is gone with it
        owner = _at(expected, path[:depth])
        if owner == {}:
            del _at(expected, path[: depth - 1])[path[depth - 1]]
    return _checked(f"{changed}\n" if changed else "", expected)


def _lines(path: Sequence[str], table: Mapping[str, Any]) -> list[str]:
    name = ".".join(_key(one) for one in path)
    lines = [f"[{name}]"]
    lines += [
        f"{_key(key)} = {json.dumps(value, ensure_ascii=False)}"
        for key, value in table.items()
        if not isinstance(value, Mapping)
    ]
    for key, value in table.items():
        if isinstance(value, Mapping):
            lines += ["", *_lines([*path, key], cast("Mapping[str, Any]", value))]
    return lines


def _leading(gone: list[str]) -> list[str]:
    """The comments and empty lines that stand right before the next header."""
    count = 0
    for line in reversed(gone):
        if line.strip() and not line.lstrip().startswith("#"):
            break
        count += 1
    return gone[len(gone) - count :] if count else []


def _names(dotted: str) -> list[str]:
    try:
        value: Any = tomllib.loads(f"{dotted} = 1")
    except tomllib.TOMLDecodeError:
        return []
    names: list[str] = []
    while isinstance(value, dict):
        ((name, value),) = cast("dict[str, Any]", value).items()
        names.append(name)
    return names


def _key(name: str) -> str:
    return name if _BARE.match(name) else json.dumps(name)


def _at(value: Any, path: Sequence[str]) -> Any:
    for name in path:
        value = value[name]
    return value


def _read(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError("the file", f"it is no TOML: {error}", "Mend the file; nothing was changed.") from None


def _checked(changed: str, expected: dict[str, Any]) -> str:
    found = _read(changed)
    if _without_empty(found) != _without_empty(expected):
        raise InputError(
            "the file", "our table stands there in a form that cannot be changed", "Change it by hand (--print)."
        )
    return changed


def _without_empty(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    inner = {name: _without_empty(one) for name, one in cast("dict[str, Any]", value).items()}
    return {name: one for name, one in inner.items() if one != {}}
