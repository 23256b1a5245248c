"""Put one table into a TOML text, or take it out, and leave every other byte as it is.

tomlkit moves what follows dotted keys into the table that it appends, and changes line ends. So the table is written as
text behind everything else, which TOML allows wherever its parent is no inline table; and is cut out again by lines.
"""

import re
import tomllib
from collections.abc import Mapping
from typing import Any, Final

_PART: Final = re.compile(r"""[ \t]*(?:([\w-]+)|"([^"\\]*)"|'([^']*)')[ \t]*(\.|\])""", re.ASCII)
# What ends a text that a bracket or a quote began, looked for from left to right.
_TOKEN: Final = re.compile(r'"""|\'\'\'|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|[\[\]{}]|#[^\n]*|\n')
_SAME: Final = re.compile(r'(?:[^\\]|\\.)*?("""+)', re.DOTALL)


def with_table(text: str, block: str, name: str, entry: Mapping[str, Any]) -> str:
    """Return a text with `entry` as the table `block.name`: in its place if it is there, else at the end."""
    line_end = "\r\n" if "\r\n" in text else "\n"
    table = _written(block, name, entry).replace("\n", line_end)
    spans = _spans(text, (block, name))
    if spans:
        start, end = spans[0]
        rest = _cut(text, spans[1:])
        return rest[:start] + table + rest[end:]
    return f"{text}{line_end}{table}" if text.strip("\ufeff") else text + table


def without_table(text: str, block: str, name: str) -> str:
    """Return a text without the table and its subtables, and without the line end that `with_table` put before it."""
    return _cut(text, [_with_line_end(text, *span) for span in _spans(text, (block, name))])


def _with_line_end(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a span with the line end before it; where others would then share a line, its own last one stays."""
    if text[:start].endswith("\n"):
        start -= 2 if text[:start].endswith("\r\n") else 1
    if start > 0 and end < len(text) and not text[:start].endswith("\n"):
        end -= 2 if text[:end].endswith("\r\n") else 1
    return start, end


def _cut(text: str, spans: list[tuple[int, int]]) -> str:
    for start, end in reversed(spans):
        text = text[:start] + text[end:]
    return text


def _written(block: str, name: str, entry: Mapping[str, Any]) -> str:
    """Return a table with its subtables as TOML."""
    plain = {key: value for key, value in entry.items() if not isinstance(value, Mapping)}
    lines = [f"[{block}.{_key(name)}]"]
    lines += [f"{_key(key)} = {_value(value)}" for key, value in plain.items()]
    for key, value in entry.items():
        if isinstance(value, Mapping):
            lines += ["", f"[{block}.{_key(name)}.{_key(key)}]"]
            lines += [f"{_key(one)} = {_value(two)}" for one, two in value.items()]  # type: ignore[misc]
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[\w-]+", name, re.ASCII) else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return f'"{"".join(map(_escaped, str(value)))}"'


def _escaped(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    return char if char >= " " and char != "\x7f" else f"\\u{ord(char):04x}"


def _spans(text: str, path: tuple[str, ...]) -> list[tuple[int, int]]:
    """Return where a table and its subtables stand, each from its header to the end of its last entry."""
    found: list[tuple[int, int]] = []
    own: int | None = None  # where the table begins in which we are, if it is one of these
    last = 0  # the end of its last entry
    for start, end, names in _statements(text):
        if names is not None:
            if own is not None:
                found.append((own, last))
            own = start if names[: len(path)] == path else None
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
    place = 1 if text.startswith("\ufeff") else 0
    while place < len(text):
        end = _end_of_statement(text, place)
        line = text[place:end]
        if line.strip() and not line.lstrip().startswith("#"):
            # An entry begins with its key, so only a header begins with a bracket.
            header = line.strip().startswith("[")
            found.append((place, end, _names(line.strip().lstrip("[")) if header else None))
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
        end = text.find(quotes, start)
        end = len(text) if end < 0 else end + 3
    else:
        found = _SAME.match(text, start)
        end = found.end() if found else len(text)
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
