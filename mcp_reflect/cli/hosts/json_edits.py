"""Change JSON that people edit by hand: comments, order, indentation and trailing commas stay.

Grammar: RFC 8259, with the comments and trailing commas that VS Code and others allow. A change splices text in or
out, and the result is parsed again: if anything else changed, the edit is refused.
"""

import json
import re
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from mcp_reflect.errors import InputError
from mcp_reflect.security.redact import quoted

_SPACE: Final = re.compile(r"(?:\s|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)*")
_STRING: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_SCALAR: Final = re.compile(r"[^\s,\]}/:\"\[{]+")
_INDENT: Final = re.compile(r"\n([ \t]+)\S")
_LINE_END: Final = re.compile(r"[ \t]*\n")
_MAX_DEPTH: Final = 100


Path: TypeAlias = Sequence[str | int]
"""Names of members, and indexes of items, from the document down to a value."""


@dataclass(slots=True)
class Node:
    """A value and its position: `text[start:end]`.

    `parts` has the members of an object by name, or the items of a list by index: where each begins, and its node.
    """

    start: int
    end: int
    value: Any
    parts: dict[str | int, tuple[int, "Node"]] = field(default_factory=dict[str | int, "tuple[int, Node]"])


def read(text: str) -> Node:
    """Parse a document; one of spaces and comments alone is `{}`. Raises InputError that names the line of a fault."""
    start = _space(text, 0)
    if start == len(text):
        return Node(len(text), len(text), {})
    node = _value(text, start, 0)
    rest = _space(text, node.end)
    if rest != len(text):
        raise _fault(text, rest, "something follows the value")
    return node


def _space(text: str, place: int) -> int:
    """Return the position after spaces and comments."""
    match = _SPACE.match(text, place)
    return match.end() if match else place


def _value(text: str, start: int, depth: int) -> Node:
    if depth > _MAX_DEPTH:
        raise _fault(text, start, f"it is nested more than {_MAX_DEPTH} levels deep")
    opening = text[start : start + 1]
    if opening and opening in "{[":
        return _container(text, start, depth)
    match = (_STRING if opening == '"' else _SCALAR).match(text, start)
    if match is None:
        raise _fault(text, start, "a value is missing")
    try:
        return Node(start, match.end(), json.loads(match[0]))
    except ValueError:
        raise _fault(text, start, f"'{quoted(match[0], 40)}' is not a value") from None


def _container(text: str, start: int, depth: int) -> Node:
    """Return the object or list at `start`."""
    is_object = text[start] == "{"
    closing = "}" if is_object else "]"
    node = Node(start, start, None)
    place = _space(text, start + 1)
    while text[place : place + 1] != closing:
        name, value_start = _key(text, place) if is_object else (len(node.parts), place)
        if name in node.parts:
            raise _fault(text, place, f"'{quoted(name, 40)}' is there twice")
        part = _value(text, value_start, depth + 1)
        node.parts[name] = place, part
        place = _space(text, part.end)
        if text[place : place + 1] == ",":
            place = _space(text, place + 1)
        elif text[place : place + 1] != closing:
            raise _fault(text, place, f"a comma or '{closing}' is missing")
    node.end = place + 1
    values = {name: part.value for name, (_, part) in node.parts.items()}
    node.value = values if is_object else list(values.values())
    return node


def _key(text: str, place: int) -> tuple[str, int]:
    """Return the name of the member at `place`, and where its value begins."""
    key = _STRING.match(text, place)
    if key is None:
        raise _fault(text, place, "a name in quotes is missing")
    colon = _space(text, key.end())
    if text[colon : colon + 1] != ":":
        raise _fault(text, colon, "a colon is missing")
    return json.loads(key[0]), _space(text, colon + 1)


def _fault(text: str, place: int, what: str) -> InputError:
    line = text.count("\n", 0, place) + 1
    return InputError(f"line {line}", what, "Correct the file; nothing was changed.")


def set_member(text: str, path: Path, value: Any) -> str:
    """Return the document with `value` at `path`; missing objects on the path are added."""
    node = read(text)
    if node.start == node.end:
        text = text + "{}" + ("" if text.endswith("\n") else "\n") if text.strip() else "{}\n"
        node = read(text)
    expected = target = deepcopy(node.value)
    depth = 0
    while depth < len(path) - 1 and path[depth] in node.parts:
        node, target = node.parts[path[depth]][1], target[path[depth]]
        depth += 1
    name = path[depth]
    if not isinstance(node.value, list if isinstance(name, int) else dict):
        where = "/".join(map(str, path[:depth]))
        raise InputError(where, "it is not an object", "Correct the file, or write the entry by hand.")
    for inner in reversed(path[depth + 1 :]):
        value = {inner: value}
    if isinstance(name, int):
        target.append(value)
    else:
        target[name] = value
    indent = _INDENT.search(text)
    unit = indent[1] if indent else "  "
    written = json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", f"\n{unit * (depth + 1)}")
    if name in node.parts:
        old = node.parts[name][1]
        changed = text[: old.start] + written + text[old.end :]
    else:
        changed = _spliced(
            text, node, f"{json.dumps(name)}: {written}" if isinstance(name, str) else written, unit, depth
        )
    return _checked(changed, expected)


def remove_member(text: str, path: Path) -> str:
    """Return the document without the value at `path`, if it is there; what contained it alone goes too."""
    trail = [read(text)]
    expected = target = deepcopy(trail[0].value)
    for name in path:
        if name not in trail[-1].parts:
            return text
        trail.append(trail[-1].parts[name][1])
    depth = len(path) - 1
    while depth > 0 and len(trail[depth].parts) == 1:
        depth -= 1
    for name in path[:depth]:
        target = target[name]
    del target[path[depth]]
    start, gone = trail[depth].parts[path[depth]]
    return _checked(_cut(text, trail[depth], start, gone.end), expected)


def append_item(text: str, path: Path, item: Any) -> str:
    """Return the document with `item` at the end of the list at `path`, which is added if it is missing."""
    owner = _at(read(text), path)
    if owner is None:
        return set_member(text, path, [item])
    if not isinstance(owner.value, list):
        where = "/".join(map(str, path))
        raise InputError(where, "it is not a list", "Correct the file, or write the entry by hand.")
    return set_member(text, (*path, len(owner.parts)), item)


def remove_items(text: str, path: Path, matches: Callable[[Any], bool]) -> str:
    """Return the document without the matching items of the list at `path`; a list that is empty then goes too."""
    while (owner := _at(read(text), path)) is not None:
        index = next((index for index, (_, item) in owner.parts.items() if matches(item.value)), None)
        if index is None:
            break
        text = remove_member(text, (*path, index))
    return text


def _at(node: Node, path: Path) -> Node | None:
    for name in path:
        if name not in node.parts:
            return None
        node = node.parts[name][1]
    return node


def _spliced(text: str, owner: Node, written: str, unit: str, depth: int) -> str:
    """Return the text with `written` as the last part of `owner`, on a line of its own."""
    last = max((part.end for _, part in owner.parts.values()), default=None)
    close = owner.end - 1
    inside = text[owner.start + 1 : close].rstrip()
    place = owner.start + 1 + len(inside)
    trailing = last is not None and text[_space(text, last)] == ","
    if last is not None and not trailing:
        text, place, close = f"{text[:last]},{text[last:]}", place + 1, close + 1
    line = f"\n{unit * (depth + 1)}{written}{',' if trailing else ''}"
    tail = text[place:close]
    ending = tail if "\n" in tail else f"\n{unit * depth}"
    return text[:place] + line + ending + text[close:]


def _cut(text: str, owner: Node, start: int, end: int) -> str:
    """Return the text without a part of `owner`, its comma, and the line that is empty then."""
    after = _space(text, end)
    ends = [part.end for _, part in owner.parts.values() if part.end <= start]
    if text[after : after + 1] == ",":
        end = after + 1
    elif ends:
        comma = _space(text, max(ends))  # it followed the previous part, which is the last now
        text = text[:comma] + text[comma + 1 :]
        start, end = start - 1, end - 1
    line = text.rfind("\n", 0, start) + 1
    rest = _LINE_END.match(text, end)
    if rest and not text[line:start].strip():
        start, end = line, rest.end()
    cut = text[:start] + text[end:]
    close = _space(cut, owner.start + 1)
    if cut[close] in "]}" and not cut[owner.start + 1 : close].strip():
        cut = cut[: owner.start + 1] + cut[close:]
    return cut


def _checked(changed: str, expected: Any) -> str:
    if read(changed).value != expected:
        raise InputError("the file", "it cannot be changed without touching more", "Add the entry by hand (--print).")
    return changed
