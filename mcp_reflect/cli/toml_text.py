"""Put one table into a TOML text, or take it out, and leave every other byte as it is.

tomlkit moves what follows dotted keys into the table that it appends, and changes line ends. So the table is written as
text behind everything else, which TOML allows wherever its parent is no inline table; and is cut out again by lines.
"""

import re
import tomllib
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, cast

_BYTE_ORDER_MARK: Final = "\ufeff"

_NAME_IN_HEADER: Final = re.compile(
    r"""[ \t]*(?:([\w-]+)|"([^"\\]*)"|'([^']*)')[ \t]*(\.|\])""", re.ASCII
)
# What ends a text that a bracket or a quote began, looked for from left to right.
_TOKEN: Final = re.compile(r'"""|\'\'\'|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|[\[\]{}]|#[^\n]*|\n')
_STRING_REST: Final = re.compile(r'(?:[^\\]|\\.)*?("""+)', re.DOTALL)
"""What stands behind the opening quotes of a string of many lines, with its closing ones."""


class _Span(NamedTuple):
    """A part of the text, from `start` up to and without `end`."""

    start: int
    end: int


class _Statement(NamedTuple):
    """A header or an entry of a text, by the indexes of its start and end.

    `names` are those of a header: ("a", "b") for `[a.b]`, empty for one that is not written like ours. They are None for
    an entry.
    """

    start: int
    end: int
    names: tuple[str, ...] | None


def with_table(text: str, block: str, name: str, entry: Mapping[str, Any]) -> str:
    """Return a text with `entry` as the table `block.name`: in place of that table, else at the end.

    For the entry {"command": "x"} it ends with `[mcp_servers.mcp-reflect]` and `command = "x"` on two lines.
    """
    table = _written(block, name, entry).replace("\n", _line_end_of(text))
    spans = _spans(text, (block, name))
    if spans:
        first = spans[0]
        text = _cut(text, spans[1:])
        return text[: first.start] + table + text[first.end :]
    if not text.strip(_BYTE_ORDER_MARK):
        return text + table
    return f"{text}{_line_end_of(text)}{table}"


def _line_end_of(text: str) -> str:
    """Return the line end that a text has."""
    if "\r\n" in text:
        return "\r\n"
    return "\n"


def without_table(text: str, block: str, name: str) -> str:
    """Return a text without the table `block.name` and its subtables, and without the line end before each of them.

    `with_table` put that line end there.
    """
    return _cut(text, [_with_line_end(text, span) for span in _spans(text, (block, name))])


def _with_line_end(text: str, span: _Span) -> _Span:
    """Return a span with the line end before it.

    Where the lines before and behind the span would then become one line, the span's own last line end stays.
    """
    start, end = span
    start -= _length_of_line_end(text[:start])
    joins_two_lines = start > 0 and end < len(text) and not text[:start].endswith("\n")
    if joins_two_lines:
        end -= _length_of_line_end(text[:end]) or 1
    return _Span(start, end)


def _length_of_line_end(text: str) -> int:
    """Return the number of characters of the line end with which a text ends: 0 for none."""
    if text.endswith("\r\n"):
        return 2
    return int(text.endswith("\n"))


def _cut(text: str, spans: list[_Span]) -> str:
    """Return a text without some spans, which are in order."""
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
    """Return a name as a key: in quotes if it has other characters than letters, digits, _ and -."""
    if re.fullmatch(r"[\w-]+", name, re.ASCII):
        return name
    return _value(name)


def _value(value: Any) -> str:
    """Return a value as TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return f'"{"".join(map(_escaped, str(value)))}"'


def _escaped(char: str) -> str:
    """Return a character as it stands in a string: quotes, backslashes and control characters are escaped."""
    if char in '"\\':
        return f"\\{char}"
    is_control = char < " " or char == "\x7f"
    if is_control:
        return f"\\u{ord(char):04x}"
    return char


def _spans(text: str, path: tuple[str, ...]) -> list[_Span]:
    """Return where the table of a path of names and its subtables stand, each from its header to the end of its last entry.

    For ("mcp_servers", "x") these are `[mcp_servers.x]` and `[mcp_servers.x.env]` with their entries. TOML allows a table
    of another name between them.
    """
    spans: list[_Span] = []
    is_inside = False  # of the table, or of a subtable
    for start, end, names in _statements(text):
        if names is not None:
            is_inside = names[: len(path)] == path
            if is_inside:
                spans.append(_Span(start, end))
        elif is_inside:
            spans[-1] = _Span(spans[-1].start, end)
    return _joined(text, spans)


def _joined(text: str, spans: list[_Span]) -> list[_Span]:
    """Return the spans; neighbors with nothing but blanks between them become one."""
    joined: list[_Span] = []
    for span in spans:
        if joined and not text[joined[-1].end : span.start].strip():
            joined[-1] = _Span(joined[-1].start, span.end)
        else:
            joined.append(span)
    return joined


def _statements(text: str) -> list[_Statement]:
    """Return the headers, with their names, and the entries of a text, from the start to the end of their lines.

    `[a.b]` and `c = 1` on two lines are a header with the names ("a", "b") and an entry. Blank lines and comments are
    neither. A value may have many lines: strings and brackets are followed to their end.
    """
    statements: list[_Statement] = []
    index = len(text) - len(text.removeprefix(_BYTE_ORDER_MARK))
    while index < len(text):
        end = _end_of_statement(text, index)
        line = text[index:end].strip()
        if line.startswith("["):  # an entry begins with its key
            statements.append(_Statement(index, end, _names(line.lstrip("["))))
        elif line and not line.startswith("#"):
            statements.append(_Statement(index, end, None))
        index = end
    return statements


def _end_of_statement(text: str, start: int) -> int:
    """Return where the statement that begins at `start` ends: at the first line end outside of brackets and strings."""
    open_brackets = 0
    token = _TOKEN.search(text, start)
    while token:
        index = token.end()
        match token[0]:
            case '"""' | "'''":
                index = _end_of_string(text, index, token[0])
            case "[" | "{":
                open_brackets += 1
            case "]" | "}":
                open_brackets -= 1
            case "\n" if open_brackets <= 0:
                return index
            case _:  # a string or a comment on one line, or a line end within brackets
                pass
        token = _TOKEN.search(text, index)
    return len(text)


def _end_of_string(text: str, start: int, quotes: str) -> int:
    """Return where a string of many lines ends; one or two quotes may stand before the last three."""
    if quotes == "'''":  # nothing is escaped in it
        closing = text.find(quotes, start)
        if closing < 0:
            return len(text)
        end = closing + len(quotes)
    else:
        rest = _STRING_REST.match(text, start)
        if rest is None:
            return len(text)
        end = rest.end()
    while text[end : end + 1] == quotes[0]:
        end += 1
    return end


def _names(header: str) -> tuple[str, ...]:
    """Return the names in a header without its first brackets: ("a", "b c") for `a."b c"]`.

    It is empty for a header whose names are not written like ours, as with an escape in quotes: it cannot be our table.
    """
    names: list[str] = []
    index = 0
    part = _NAME_IN_HEADER.match(header, index)
    while part:
        names.append(part[1] or part[2] or part[3] or "")
        if part[4] == "]":
            return tuple(names)
        index = part.end()
        part = _NAME_IN_HEADER.match(header, index)
    return ()


def toml_values(text: str) -> dict[str, Any]:
    """Return what a text says. Raises `tomllib.TOMLDecodeError`."""
    return tomllib.loads(text.removeprefix(_BYTE_ORDER_MARK))
