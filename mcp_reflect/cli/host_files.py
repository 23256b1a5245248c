"""Change the files of hosts, which people edit by hand: comments, order and quotes stay.

In JSON a change splices text in or out. VS Code and others allow comments and trailing commas there: they are blanks to
whatever reads the document here. tomlkit and ruamel.yaml change TOML and YAML.
"""

import json
import re
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from io import StringIO
from typing import Any, Final, Literal, NamedTuple, cast

from mcp_reflect.errors import InputError
from mcp_reflect.security.redact import quoted

_COMMENT: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/')
_TRAILING: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|,(?=\s*[}\]])')
_INDENT: Final = re.compile(r"\n([ \t]+)\S")
_SPACE: Final = re.compile(r"\s*")
_DECODER: Final = json.JSONDecoder()
_CORRECT: Final = "Correct the file; nothing was changed."
_BY_HAND: Final = "Correct the file, or write the entry by hand (--print)."

Path = Sequence[str | int]
"""Names of members, and indexes of items, from the document down to a value."""


class _Part(NamedTuple):
    """Positions of a member or an item: where it begins, and where its value does and ends."""

    begin: int
    value: int
    end: int


def read_json(text: str) -> Any:
    """Parse a document; one of spaces and comments alone is `{}`. Raises InputError that names the line of a fault."""
    bare = _bare(text)
    try:
        return json.loads(bare, object_pairs_hook=_unique) if bare.strip() else {}
    except json.JSONDecodeError as error:
        raise InputError(f"line {error.lineno}", f"it is not JSON: {error.msg}", _CORRECT) from None
    except RecursionError:
        raise InputError("the file", "it is nested too deep", _CORRECT) from None


def set_member(text: str, path: Path, value: Any) -> str:
    """Return the document with `value` at `path`; objects on the way are added if they are missing."""
    if not _bare(text).strip():
        text += "{}\n"
    read_json(text)  # it is valid from here on
    bare, depth = _bare(text), 0
    start = _after_space(bare, 0)
    while bare[start] == "{":
        part = _parts(bare, start).get(path[depth])
        if part is None or depth == len(path) - 1:
            for name in reversed(path[depth + 1 :]):
                value = {name: value}
            written = _written(text, value, depth + 1)
            if part:
                is_same = json.loads(bare[part.value : part.end]) == value
                return text if is_same else text[: part.value] + written + text[part.end :]
            return _with_part(text, start, f"{json.dumps(path[depth])}: {written}", depth)
        start, depth = part.value, depth + 1
    raise InputError("/".join(map(str, path[:depth])) or "the file", "it is not an object", _BY_HAND)


def add_item(text: str, path: Path, item: Any) -> str:
    """Return the document with `item` as the first of the list at `path`, which is added if it is missing."""
    trail = _trail(text, path)
    if trail is None:
        return set_member(text, path, [item])
    start = trail[-1][path[-1]].value
    if text[start] != "[":
        raise InputError("/".join(map(str, path)), "it is not a list", _BY_HAND)
    return _with_part(text, start, _written(text, item, len(path) + 1), len(path))


def remove_member(text: str, path: Path) -> str:
    """Return the document without the value at `path`, if it is there; what contained it alone goes too."""
    trail = _trail(text, path)
    if trail is None:
        return text
    depth = len(path) - 1
    while depth > 0 and len(trail[depth]) == 1:
        depth -= 1
    parts, (begin, _, end) = trail[depth], trail[depth][path[depth]]
    with_commas = _COMMENT.sub(_blank, text)
    if with_commas[after := _after_space(with_commas, end)] == ",":
        end = after + 1
    elif begin > min(part.begin for part in parts.values()):  # it is the last: the comma before it goes
        comma = with_commas.index(",", max(part.end for part in parts.values() if part.end <= begin))
        text, begin, end = text[:comma] + text[comma + 1 :], begin - 1, end - 1
    line, rest = text.rfind("\n", 0, begin) + 1, text.find("\n", end) + 1
    if rest and not text[line:begin].strip() and not text[end:rest].strip():
        begin, end = line, rest
    return text[:begin] + text[end:]


def remove_items(text: str, path: Path, matches: Callable[[Any], bool]) -> str:
    """Return the document without the matching items of the list at `path`; a list that is empty then goes too."""
    document = read_json(text)
    for name in path:
        document = cast("dict[str | int, Any]", document).get(name) if isinstance(document, dict) else None
    items = cast("list[Any]", document) if isinstance(document, list) else []
    for index in reversed(range(len(items))):
        if matches(items[index]):
            text = remove_member(text, (*path, index))
    return text


def _bare(text: str) -> str:
    return _TRAILING.sub(_blank, _COMMENT.sub(_blank, text))


def _blank(match: re.Match[str]) -> str:
    """Return a string as it is, and blanks in the place of a comment or a trailing comma."""
    return match[0] if match[0][0] == '"' else re.sub(r"[^\n]", " ", match[0])


def _unique(members: list[tuple[str, Any]]) -> dict[str, Any]:
    names: set[str] = set()
    for name, _ in members:
        if name in names:
            raise InputError("the file", f"'{quoted(name, 40)}' is there twice", _CORRECT)
        names.add(name)
    return dict(members)


def _after_space(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return match.end() if match else place


def _parts(bare: str, start: int) -> dict[str | int, _Part]:
    """Return the members of the object, or the items of the list, that begins at `start` of a valid document."""
    parts: dict[str | int, _Part] = {}
    place = _after_space(bare, start + 1)
    while bare[place] not in "}]":
        begins: int = place
        name: str | int = len(parts)
        if bare[start] == "{":
            name, place = _DECODER.raw_decode(bare, place)
            place = _after_space(bare, _after_space(bare, place) + 1)  # behind the colon
        end = _DECODER.raw_decode(bare, place)[1]
        parts[name] = _Part(begins, place, end)
        place = _after_space(bare, end)
        place = _after_space(bare, place + 1) if bare[place] == "," else place
    return parts


def _trail(text: str, path: Path) -> list[dict[str | int, _Part]] | None:
    """Return the parts of each value on the way to `path`; None if nothing is there."""
    read_json(text)
    bare, trail = _bare(text), list[dict[str | int, _Part]]()
    start = _after_space(bare, 0)
    for name in path:
        parts = _parts(bare, start) if bare[start : start + 1] in ("{", "[") else {}
        if name not in parts:
            return None
        trail.append(parts)
        start = parts[name].value
    return trail


def _unit(text: str) -> str:
    indent = _INDENT.search(text)
    return indent[1] if indent else "  "


def _written(text: str, value: Any, depth: int) -> str:
    """Return a value as it is written at a depth of the document."""
    unit = _unit(text)
    return json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", f"\n{unit * depth}")


def _with_part(text: str, start: int, part: str, depth: int) -> str:
    """Return the text with a new first part, on lines of its own, of the object or list that begins at `start`."""
    unit, inside = _unit(text), text[start + 1 :]
    is_first = not _parts(_bare(text), start)
    rest = inside if not inside.split("\n", 1)[0].strip() else f"\n{unit * (depth + (not is_first))}{inside.lstrip()}"
    return f"{text[: start + 1]}\n{unit * (depth + 1)}{part}{'' if is_first else ','}{rest}"


Language = Literal["toml", "yaml"]
Table = MutableMapping[str, Any]


def set_entry(language: Language, text: str, block: str, name: str, entry: Mapping[str, Any]) -> str:
    """Return the document with `entry` as `name` in the table `block`.

    Raises InputError if the text is not in the language, or `block` is not a table.
    """
    document = _parse(language, text)
    if not document.get(block):
        document[block] = {}
    parent = _table(document[block], block)
    if parent.get(name) == entry:
        return text
    parent[name] = dict(entry)
    return _format(language, document, text)


def remove_entry(language: Language, text: str, block: str, name: str) -> str:
    """Return the document without that entry, and without the table `block` if it is empty then."""
    document = _parse(language, text)
    if not document.get(block) or name not in (parent := _table(document[block], block)):
        return text
    del parent[name]
    if not parent:
        del document[block]
    return _format(language, document, text) if document else ""


def _parse(language: Language, text: str) -> Table:
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415 - only an installation needs it
    from tomlkit import parse  # noqa: PLC0415 - same
    from tomlkit.exceptions import TOMLKitError  # noqa: PLC0415 - same

    try:
        document: Any = parse(text) if language == "toml" else _yaml().load(text)
    except (TOMLKitError, YAMLError) as error:
        fault = f"it is not {language.upper()}: {' '.join(str(error).split())}"
        raise InputError("the file", fault, _CORRECT) from None
    return _table({} if document is None else document, "the file")


def _format(language: Language, document: Table, before: str) -> str:
    if language == "toml":
        from tomlkit import dumps  # noqa: PLC0415 - only an installation needs it

        return dumps(document)
    yaml = _yaml()
    if any(line.startswith("  - ") for line in before.splitlines()):  # lists keep the indentation that they have
        yaml.indent(mapping=2, sequence=4, offset=2)
    stream = StringIO()
    yaml.dump(document, stream)
    return stream.getvalue()


def _yaml() -> Any:
    from ruamel.yaml import YAML  # noqa: PLC0415 - only an installation needs it

    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 1_000_000
    return yaml


def _table(value: Any, name: str) -> Table:
    if not isinstance(value, MutableMapping):
        raise InputError(name, "it is not a table", _BY_HAND)
    return cast("Table", value)
