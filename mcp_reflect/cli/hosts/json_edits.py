"""Changes to JSON with comments, which keep comments, order and indentation."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from mcp_reflect.errors import InputError
from mcp_reflect.security.redact import quoted

# JSON that people keep by hand, read with the place of each value: comments and trailing commas are allowed.
#
# Grammar: RFC 8259, with the comments and trailing commas that VS Code and its like allow.


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


# Changes to JSON that people keep by hand: comments, order, indentation and trailing commas stay as they are.
#
# A change splices text in or out, and is read back: where more than it was to change has changed, it is refused.


_UNIT: Final = re.compile(r"\n([ \t]+)\S")
_LINE_END: Final = re.compile(r"[ \t]*\n")


def with_member(text: str, path: Sequence[str], value: Any) -> str:
    """The document with `value` at `path`; objects on the way are made. Nothing else changes."""
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
        raise InputError("/".join(path[:depth]), "it is no object", "Mend the file, or write the entry by hand.")
    unit = _unit(text)
    written = _indented(value, unit, depth + 1)
    if name in node.members:
        old = node.members[name][1]
        changed = text[: old.start] + written + text[old.end :]
    else:
        last = max((one.end for _, one in node.members.values()), default=None)
        changed = _spliced(text, node, last, f"{json.dumps(name)}: {written}", unit, depth)
    return _checked(changed, expected)


def without_member(text: str, path: Sequence[str]) -> str:
    """The document without what is at `path`; objects on the way that are empty then go too. May be unchanged."""
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


def with_item(text: str, path: Sequence[str], item: Any) -> str:
    """The document with `item` at the end of the list at `path`, which is made where there is none."""
    found = _at(read(text), path)
    if found is None:
        return with_member(text, path, [item])
    if not isinstance(found.value, list):
        raise InputError("/".join(path), "it is no list", "Mend the file, or write the entry by hand.")
    node, unit = read(text), _unit(text)
    expected = _put(node.value, path, [*(one.value for one in found.items), item])
    last = found.items[-1].end if found.items else None
    written = _indented(item, unit, len(path) + 1)
    return _checked(_spliced(text, found, last, written, unit, len(path)), expected)


def without_items(text: str, path: Sequence[str], ours: Callable[[Any], bool]) -> str:
    """The document without those items of the list at `path`; a list that is empty then goes too."""
    while True:
        found = _at(read(text), path)
        place = next((place for place, one in enumerate(found.items) if ours(one.value)), None) if found else None
        if found is None or place is None:
            return text
        if len(found.items) == 1:
            return without_member(text, path)
        kept = [one.value for one in found.items if one is not found.items[place]]
        expected = _put(read(text).value, path, kept)
        text = _checked(_cut(text, found, found.items[place].start, found.items[place].end), expected)


def _spliced(text: str, owner: Node, last: int | None, written: str, unit: str, depth: int) -> str:
    """The text with `written` as the last member of `owner`, on a line of its own."""
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
    """The text without a member or item of `owner`, its comma, and the line that is empty then."""
    after = space(text, end)
    ends = [one.end for one in (*owner.items, *(member for _, member in owner.members.values())) if one.end <= start]
    if text[after : after + 1] == ",":
        end = after + 1
    elif ends:
        comma = space(text, max(ends))  # it parted us from the one before, which is the last now
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


def _unit(text: str) -> str:
    found = _UNIT.search(text)
    return found[1] if found else "  "


def _at(node: Node, path: Sequence[str]) -> Node | None:
    for name in path:
        if name not in node.members:
            return None
        node = node.members[name][1]
    return node


def _put(value: Any, path: Sequence[str], new: Any) -> Any:
    """A copy of `value` with `new` at `path`."""
    made: Any = json.loads(json.dumps(value))
    place = made
    for name in path[:-1]:
        if not isinstance(place, dict):
            return made
        place = cast("dict[str, Any]", place).setdefault(name, {})
    if isinstance(place, dict):
        place[path[-1]] = new
    return made


def _parent(value: Any, path: Sequence[str]) -> Any:
    for name in path[:-1]:
        value = value[name]
    return value


def _checked(changed: str, expected: Any) -> str:
    if read(changed).value != expected:
        raise _refused()
    return changed


def _refused() -> InputError:
    return InputError("the file", "it cannot be changed without touching more", "Write the entry by hand (--print).")
