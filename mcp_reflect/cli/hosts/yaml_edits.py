"""An entry written into a block of YAML that people keep by hand, and taken out again; other lines stay.

It knows block style alone, which is what goose writes. Another style is refused, never guessed at.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from mcp_reflect.errors import InputError

_INDENT: Final = re.compile(r"( *)(\S.*)?$")


def with_entry(text: str, block: str, name: str, entry: Mapping[str, Any]) -> str:
    """The document with `entry` (texts, flags, numbers, lists and mappings of text) as `name` in a top-level block."""
    lines = _lines(without_entry(text, block, name))
    start = _block(lines, block)
    if start is None:
        lines, start = [*lines, f"{block}:"], len(lines)
    lines[start] = f"{block}:"
    indent = next((_indent(line) for line in lines[start + 1 :] if line.strip()), 0) or 2
    made = [f"{' ' * indent}{name}:"]
    made += [f"{' ' * indent * 2}{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items()]
    return "\n".join([*lines[: start + 1], *made, *lines[start + 1 :]]) + "\n"


def without_entry(text: str, block: str, name: str) -> str:
    """The document without that entry; a block that is empty then goes too."""
    lines = _lines(text)
    start = _block(lines, block)
    if start is None:
        return text
    first = next((at for at in range(start + 1, _end(lines, start)) if lines[at].strip() == f"{name}:"), None)
    if first is None:
        return text
    last = _end(lines, first)
    kept = lines[:first] + lines[last:]
    if not any(line.strip() for line in kept[start + 1 : _end(kept, start)]):
        del kept[start : _end(kept, start)]
    return "\n".join(kept) + ("\n" if kept else "")


def _lines(text: str) -> list[str]:
    return text.rstrip("\n").split("\n") if text.strip("\n") else []


def _block(lines: list[str], block: str) -> int | None:
    """Where the block starts; InputError where it is there in another style."""
    for at, line in enumerate(lines):
        if re.match(rf"[\"']?{re.escape(block)}[\"']?\s*:", line):
            if re.fullmatch(rf"{re.escape(block)}:\s*(\{{\s*\}}|null|~)?\s*(#.*)?", line):
                return at
            raise InputError(
                "the file", f"'{block}' stands there in a form that cannot be changed", "Change it by hand (--print)."
            )
    return None


def _end(lines: list[str], start: int) -> int:
    """The line after what is indented more than line `start`; empty lines at the end are not part of it."""
    depth = _indent(lines[start])
    end = start + 1
    for at in range(start + 1, len(lines)):
        if lines[at].strip():
            if _indent(lines[at]) <= depth:
                break
            end = at + 1
    return end


def _indent(line: str) -> int:
    found = _INDENT.match(line)
    return len(found[1]) if found else 0
