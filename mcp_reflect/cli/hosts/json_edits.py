"""Change JSON that people edit by hand: comments, order, indentation and trailing commas stay.

The library reads it without the comments and trailing commas that VS Code and others allow. A change splices text in
or out, and the result is parsed again: if anything else changed, the edit is refused.
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
_COMMENT: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/')
_TRAILING: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|,(?=\s*[}\]])')
_INDENT: Final = re.compile(r"\n([ \t]+)\S")
_LINE_END: Final = re.compile(r"[ \t]*\n")
_DECODER: Final = json.JSONDecoder()
_FIX: Final = "Correct the file; nothing was changed."


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
    bare = _TRAILING.sub(_blank, _COMMENT.sub(_blank, text))
    start = _space(bare, 0)
    if start == len(bare):
        return Node(len(text), len(text), {})
    try:
        return _node(bare, start, json.loads(bare, object_pairs_hook=_unique))
    except json.JSONDecodeError as error:
        raise InputError(f"line {error.lineno}", f"it is not JSON: {error.msg}", _FIX) from None
    except RecursionError:
        raise InputError("the file", "it is nested too deep", _FIX) from None


def _blank(match: re.Match[str]) -> str:
    """Return a string as it is, and blanks in the place of a comment or a trailing comma."""
    return match[0] if match[0][0] == '"' else re.sub(r"[^\n]", " ", match[0])


def _unique(members: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in members]
    for name in names if len({*names}) < len(names) else ():
        if names.count(name) > 1:
            raise InputError("the file", f"'{quoted(name, 40)}' is there twice", _FIX)
    return dict(members)


def _space(text: str, place: int) -> int:
    """Return the position after spaces and comments."""
    match = _SPACE.match(text, place)
    return match.end() if match else place


def _node(bare: str, start: int, value: Any) -> Node:
    """Return the node of a value of a valid document without comments and trailing commas."""
    node = Node(start, start, value)
    if not isinstance(value, dict | list):
        node.end = _DECODER.raw_decode(bare, start)[1]
        return node
    place = _space(bare, start + 1)
    while bare[place] not in "}]":
        begins, name = place, len(node.parts)
        if isinstance(value, dict):
            name, place = _DECODER.raw_decode(bare, place)
            place = _space(bare, _space(bare, place) + 1)  # behind the colon
        node.parts[name] = begins, _node(bare, place, value[name])
        place = _space(bare, node.parts[name][1].end)
        place = _space(bare, place + 1) if bare[place] == "," else place
    node.end = place + 1
    return node


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
