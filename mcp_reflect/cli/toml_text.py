"""Put one table into a TOML text, or take it out, and leave every other byte as it is.

tomlkit moves what follows dotted keys into the table that it appends, and changes line ends. So the table is written as
text behind everything else, which TOML allows wherever its parent is no inline table; and is cut out again by lines.
"""

import re
import tomllib
from collections.abc import Mapping
from typing import Any, Final, cast

_PART: Final = re.compile(r"""[ \t]*(?:([\w-]+)|"([^"\\]*)"|'([^']*)')[ \t]*(\.|\])""", re.ASCII)
# What ends a text that a bracket or a quote began, looked for from left to right.
_TOKEN: Final = re.compile(r'"""|\'\'\'|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|[\[\]{}]|#[^\n]*|\n')
_SAME: Final = re.compile(r'(?:[^\\]|\\.)*?("""+)', re.DOTALL)


def with_table(text: str, block: str, name: str, entry: Mapping[str, Any]) -> str:
    """Return a text with `entry` as the table `block.name`: in its place if it is there, else at the end."""
    table = _written(block, name, entry).replace("\n", _line_end_of(text))
    spans = _spans(text, (block, name))
    if spans:
        start, end = spans[0]
        rest = _cut(text, spans[1:])
        return rest[:start] + table + rest[end:]
    if not text.strip("\ufeff"):
        return text + table
    return f"{text}{_line_end_of(text)}{table}"


def _line_end_of(text: str) -> str:
    if "\r\n" in text:
        return "\r\n"
    return "\n"


def without_table(text: str, block: str, name: str) -> str:
    """Return a text without the table and its subtables, and without the line end that `with_table` put before it."""
    return _cut(text, [_with_line_end(text, *span) for span in _spans(text, (block, name))])


def _with_line_end(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a span with the line end before it; where others would then share a line, its own last one stays."""
    start -= _length_of_line_end(text[:start])
    if start > 0 and end < len(text) and not text[:start].endswith("\n"):
        end -= _length_of_line_end(text[:end]) or 1
    return start, end


def _length_of_line_end(text: str) -> int:
    """Return the number of characters of the line end with which a text ends: 0 for none."""
    if text.endswith("\r\n"):
        return 2
    return int(text.endswith("\n"))


def _cut(text: str, spans: list[tuple[int, int]]) -> str:
    for start, end in reversed(spans):
        text = text[:start] + text[end:]
    return text


def _written(block: str, name: str, entry: Mapping[str, Any]) -> str:
    """Return a table with its subtables as TOML."""
    lines = [f"[{block}.{_key(name)}]", *_entries_of(entry)]
    for key, value in entry.items():
        if isinstance(value, Mapping):
            subtable = cast("Mapping[str, Any]", value)
            lines += ["", f"[{block}.{_key(name)}.{_key(key)}]", *_entries_of(subtable)]
    return "\n".join(lines) + "\n"


def _entries_of(table: Mapping[str, Any]) -> list[str]:
    """Return a line for each value of a table that is not a table itself."""
    return [
        f"{_key(key)} = {_value(value)}"
        for key, value in table.items()
        if not isinstance(value, Mapping)
    ]


def _key(name: str) -> str:
    if re.fullmatch(r"[\w-]+", name, re.ASCII):
        return name
    return _value(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return f'"{"".join(map(_escaped, str(value)))}"'


def _escaped(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    is_control = char < " " or char == "\x7f"
    if is_control:
        return f"\\u{ord(char):04x}"
    return char


def _spans(text: str, path: tuple[str, ...]) -> list[tuple[int, int]]:
    """Return where a table and its subtables stand, each from its header to the end of its last entry."""
    found: list[tuple[int, int]] = []
    own: int | None = None  # where the table begins in which we are, if it is one of these
    last = 0  # the end of its last entry
    for start, end, names in _statements(text):
        if names is not None:
            if own is not None:
                found.append((own, last))
            own = None
            if names[: len(path)] == path:
                own = start
        last = end
    if own is not None:
        found.append((own, last))
    return _joined(text, found)


def _joined(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans that only blanks part as one."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and not text[joined[-1][1] : start].strip():
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _statements(text: str) -> list[tuple[int, int, tuple[str, ...] | None]]:
    """Return the headers, with their names, and the entries of a text, from the start to the end of their lines.

    Blank lines and comments are neither. A value may have many lines: strings and brackets are followed to their end.
    """
    found: list[tuple[int, int, tuple[str, ...] | None]] = []
    place = len(text) - len(text.removeprefix("\ufeff"))
    while place < len(text):
        end = _end_of_statement(text, place)
        line = text[place:end].strip()
        if line.startswith(
            "["
        ):  # an entry begins with its key, so only a header begins with a bracket
            found.append((place, end, _names(line.lstrip("["))))
        elif line and not line.startswith("#"):
            found.append((place, end, None))
        place = end
    return found


def _end_of_statement(text: str, start: int) -> int:
    depth, place = 0, start
    while found := _TOKEN.search(text, place):
        sign, place = found[0], found.end()
        if sign in ('"""', "'''"):
            place = _end_of_string(text, place, sign)
        elif sign in ("[", "{"):
            depth += 1
        elif sign in ("]", "}"):
            depth -= 1
        elif sign == "\n" and depth <= 0:
            return place
    return len(text)


def _end_of_string(text: str, start: int, quotes: str) -> int:
    """Return where a string of many lines ends; one or two quotes may stand before the last three."""
    if quotes == "'''":
        end = text.find(quotes, start) + len(quotes)
        is_open = end < len(quotes)
    else:
        found = _SAME.match(text, start)
        is_open = found is None
        end = found.end() if found else 0
    if is_open:
        return len(text)
    while text[end : end + 1] == quotes[0]:
        end += 1
    return end


def _names(header: str) -> tuple[str, ...]:
    names: list[str] = []
    place = 0
    while found := _PART.match(header, place):
        names.append(found[1] or found[2] or found[3] or "")
        place = found.end()
        if found[4] == "]":
            return tuple(names)
    return ()  # a name that ours are not written like


def toml_values(text: str) -> dict[str, Any]:
    """Return what a text says. Raises `tomllib.TOMLDecodeError`."""
    return tomllib.loads(text.removeprefix("\ufeff"))
