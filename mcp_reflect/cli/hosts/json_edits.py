"""Change JSON that people edit by hand: comments, order, indentation and trailing commas stay.

Grammar: RFC 8259, with the comments and trailing commas that VS Code and others allow. A change splices text in or
out, and the result is parsed again: if anything else changed, the edit is refused.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from mcp_reflect.errors import InputError
from mcp_reflect.security.redact import quoted

_SPACE: Final = re.compile(r"(?:\s|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)*")
_STRING: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_SCALAR: Final = re.compile(r"[^\s,\]}/:\"\[{]+")
_INDENT: Final = re.compile(r"\n([ \t]+)\S")
_LINE_END: Final = re.compile(r"[ \t]*\n")
_MAX_DEPTH: Final = 100


@dataclass(slots=True)
class Node:
    """A value and its position: `text[start:end]`. A member is the position of its key and its node."""

    start: int
    end: int
    value: Any
    members: dict[str, tuple[int, "Node"]] = field(default_factory=dict[str, "tuple[int, Node]"])
    items: list["Node"] = field(default_factory=list["Node"])


def read(text: str) -> Node:
    """Parse a document; one of spaces and comments alone is `{}`. Raises InputError that names the line of a fault."""
    start = space(text, 0)
    if start == len(text):
        return Node(len(text), len(text), {})
    node = _value(text, start, 0)
    rest = space(text, node.end)
    if rest != len(text):
        raise _fault(text, rest, "something follows the value")
    return node


def space(text: str, place: int) -> int:
    """Return the position after spaces and comments."""
    match = _SPACE.match(text, place)
    return match.end() if match else place


def _value(text: str, start: int, depth: int) -> Node:
    if depth > _MAX_DEPTH:
        raise _fault(text, start, f"it is nested more than {_MAX_DEPTH} levels deep")
    opening = text[start : start + 1]
    if opening == "{":
        return _object(text, start, depth)
    if opening == "[":
        return _list(text, start, depth)
    match = (_STRING if opening == '"' else _SCALAR).match(text, start)
    if match is None:
        raise _fault(text, start, "a value is missing")
    try:
        return Node(start, match.end(), json.loads(match[0]))
    except ValueError:
        raise _fault(text, start, f"'{quoted(match[0], 40)}' is not a value") from None


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
            raise _fault(text, place, f"'{quoted(name, 40)}' is there twice")
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
    """Return the position of the next member, or of the closing bracket."""
    place = space(text, end)
    if text[place : place + 1] == ",":
        return space(text, place + 1)
    if text[place : place + 1] != closing:
        raise _fault(text, place, f"a comma or '{closing}' is missing")
    return place


def _fault(text: str, place: int, what: str) -> InputError:
    line = text.count("\n", 0, place) + 1
    return InputError(f"line {line}", what, "Correct the file; nothing was changed.")


def set_member(text: str, path: Sequence[str], value: Any) -> str:
    """Return the document with `value` at `path`; missing objects on the path are added."""
    node = read(text)
    if node.start == node.end:
        text = text + "{}" + ("" if text.endswith("\n") else "\n") if text.strip() else "{}\n"
        node = read(text)
    expected = _put(node.value, path, value)
    depth = 0
    while depth < len(path) - 1 and path[depth] in node.members:
        node = node.members[path[depth]][1]
        depth += 1
    for name in reversed(path[depth + 1 :]):
        value = {name: value}
    name = path[depth]
    if not isinstance(node.value, dict):
        raise InputError("/".join(path[:depth]), "it is not an object", "Correct the file, or write the entry by hand.")
    unit = _indent_of(text)
    written = _indented(value, unit, depth + 1)
    if name in node.members:
        old = node.members[name][1]
        changed = text[: old.start] + written + text[old.end :]
    else:
        last = max((one.end for _, one in node.members.values()), default=None)
        changed = _spliced(text, node, last, f"{json.dumps(name)}: {written}", unit, depth)
    return _checked(changed, expected)


def remove_member(text: str, path: Sequence[str]) -> str:
    """Return the document without the member at `path`, if it is there; objects on the path that are empty go too."""
    node = read(text)
    trail = [node]
    for name in path:
        if name not in trail[-1].members:
            return text
        trail.append(trail[-1].members[name][1])
    expected = json.loads(json.dumps(node.value))
    depth = len(path) - 1
    while depth > 0 and len(trail[depth].members) == 1:
        depth -= 1
    _parent(expected, path[: depth + 1]).pop(path[depth])
    owner = trail[depth]
    start, gone = owner.members[path[depth]]
    return _checked(_cut(text, owner, start, gone.end), expected)


def append_item(text: str, path: Sequence[str], item: Any) -> str:
    """Return the document with `item` at the end of the list at `path`, which is added if it is missing."""
    owner = _at(read(text), path)
    if owner is None:
        return set_member(text, path, [item])
    if not isinstance(owner.value, list):
        raise InputError("/".join(path), "it is not a list", "Correct the file, or write the entry by hand.")
    unit = _indent_of(text)
    expected = _put(read(text).value, path, [*(other.value for other in owner.items), item])
    last = owner.items[-1].end if owner.items else None
    written = _indented(item, unit, len(path) + 1)
    return _checked(_spliced(text, owner, last, written, unit, len(path)), expected)


def remove_items(text: str, path: Sequence[str], matches: Callable[[Any], bool]) -> str:
    """Return the document without the matching items of the list at `path`; a list that is empty then goes too."""
    while (owner := _at(read(text), path)) is not None:
        item = next((item for item in owner.items if matches(item.value)), None)
        if item is None:
            break
        if len(owner.items) == 1:
            return remove_member(text, path)
        kept = [other.value for other in owner.items if other is not item]
        expected = _put(read(text).value, path, kept)
        text = _checked(_cut(text, owner, item.start, item.end), expected)
    return text


def _spliced(text: str, owner: Node, last: int | None, written: str, unit: str, depth: int) -> str:
    """Return the text with `written` as the last member of `owner`, on a line of its own."""
    close = owner.end - 1
    inside = text[owner.start + 1 : close].rstrip()
    place = owner.start + 1 + len(inside)
    trailing = last is not None and text[space(text, last)] == ","
    if last is not None and not trailing:
        text, place, close = f"{text[:last]},{text[last:]}", place + 1, close + 1
    line = f"\n{unit * (depth + 1)}{written}{',' if trailing else ''}"
    tail = text[place:close]
    ending = tail if "\n" in tail else f"\n{unit * depth}"
    return text[:place] + line + ending + text[close:]


def _cut(text: str, owner: Node, start: int, end: int) -> str:
    """Return the text without a member or item of `owner`, its comma, and the line that is empty then."""
    after = space(text, end)
    ends = [one.end for one in (*owner.items, *(member for _, member in owner.members.values())) if one.end <= start]
    if text[after : after + 1] == ",":
        end = after + 1
    elif ends:
        comma = space(text, max(ends))  # it followed the previous item, which is the last now
        text = text[:comma] + text[comma + 1 :]
        start, end = start - 1, end - 1
    line = text.rfind("\n", 0, start) + 1
    rest = _LINE_END.match(text, end)
    if rest and not text[line:start].strip():
        start, end = line, rest.end()
    cut = text[:start] + text[end:]
    close = space(cut, owner.start + 1)
    if cut[close] in "]}" and not cut[owner.start + 1 : close].strip():
        cut = cut[: owner.start + 1] + cut[close:]
    return cut


def _indented(value: Any, unit: str, depth: int) -> str:
    return json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", f"\n{unit * depth}")


def _indent_of(text: str) -> str:
    match = _INDENT.search(text)
    return match[1] if match else "  "


def _at(node: Node, path: Sequence[str]) -> Node | None:
    for name in path:
        if name not in node.members:
            return None
        node = node.members[name][1]
    return node


def _put(value: Any, path: Sequence[str], new: Any) -> Any:
    """Return a copy of `value` with `new` at `path`."""
    copy: Any = json.loads(json.dumps(value))
    owner = copy
    for name in path[:-1]:
        if not isinstance(owner, dict):
            return copy
        owner = cast("dict[str, Any]", owner).setdefault(name, {})
    if isinstance(owner, dict):
        owner[path[-1]] = new
    return copy


def _parent(value: Any, path: Sequence[str]) -> Any:
    for name in path[:-1]:
        value = value[name]
    return value


def _checked(changed: str, expected: Any) -> str:
    if read(changed).value != expected:
        raise InputError("the file", "it cannot be changed without touching more", "Add the entry by hand (--print).")
    return changed
