"""JSON that people keep by hand, read with the place of each value: comments and trailing commas are allowed.

Grammar: RFC 8259, with the comments and trailing commas that VS Code and its like allow.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

from mcp_reflect.errors import InputError
from mcp_reflect.security.redact import quoted

_SPACE: Final = re.compile(r"(?:\s|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)*")
_STRING: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_SCALAR: Final = re.compile(r"[^\s,\]}/:\"\[{]+")
_MOST_DEEP: Final = 100


@dataclass(slots=True)
class Node:
    """A value, and where it stands: `text[start:end]`. Members carry where their key starts."""

    start: int
    end: int
    value: Any
    members: dict[str, tuple[int, "Node"]] = field(default_factory=dict[str, "tuple[int, Node]"])
    items: list["Node"] = field(default_factory=list["Node"])


def read(text: str) -> Node:
    """The value of a document. InputError names the line of what is no JSON; a document of spaces is `{}`."""
    start = space(text, 0)
    if start == len(text):
        return Node(len(text), len(text), {})
    node = _value(text, start, 0)
    rest = space(text, node.end)
    if rest != len(text):
        raise _fault(text, rest, "something follows the value")
    return node


def space(text: str, place: int) -> int:
    """Where spaces and comments end."""
    found = _SPACE.match(text, place)
    return found.end() if found else place


def _value(text: str, start: int, depth: int) -> Node:
    if depth > _MOST_DEEP:
        raise _fault(text, start, f"it is nested more than {_MOST_DEEP} levels deep")
    opening = text[start : start + 1]
    if opening == "{":
        return _object(text, start, depth)
    if opening == "[":
        return _list(text, start, depth)
    found = (_STRING if opening == '"' else _SCALAR).match(text, start)
    if found is None:
        raise _fault(text, start, "a value is missing")
    try:
        return Node(start, found.end(), json.loads(found[0]))
    except ValueError:
        raise _fault(text, start, f"'{quoted(found[0], 40)}' is no value") from None


def _object(text: str, start: int, depth: int) -> Node:
    node = Node(start, start, {})
    place = space(text, start + 1)
    while text[place : place + 1] != "}":
        key = _STRING.match(text, place)
        if key is None:
            raise _fault(text, place, "a name in quotes is missing")
        colon = space(text, key.end())
        if text[colon : colon + 1] != ":":
            raise _fault(text, colon, "a colon is missing")
        member = _value(text, space(text, colon + 1), depth + 1)
        name = json.loads(key[0])
        if name in node.members:
            raise _fault(text, place, f"'{quoted(name, 40)}' stands there twice")
        node.members[name] = (place, member)
        node.value[name] = member.value
        place = _after(text, member.end, "}")
    node.end = place + 1
    return node


def _list(text: str, start: int, depth: int) -> Node:
    node = Node(start, start, [])
    place = space(text, start + 1)
    while text[place : place + 1] != "]":
        item = _value(text, place, depth + 1)
        node.items.append(item)
        node.value.append(item.value)
        place = _after(text, item.end, "]")
    node.end = place + 1
    return node


def _after(text: str, end: int, closing: str) -> int:
    """Where the next member stands, or the closing sign."""
    place = space(text, end)
    if text[place : place + 1] == ",":
        return space(text, place + 1)
    if text[place : place + 1] != closing:
        raise _fault(text, place, f"a comma or '{closing}' is missing")
    return place


def _fault(text: str, place: int, what: str) -> InputError:
    line = text.count("\n", 0, place) + 1
    return InputError(f"line {line}", what, "Mend the file; nothing was changed.")
