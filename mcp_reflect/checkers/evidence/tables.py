"""Rows of lines, tables and JSON.

Rows that are alike (of one table, or lines of one form) share a table, so that claims over all of them can be compared.
"""

import ast
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final, cast

from mcp_reflect.checkers.evidence.rows import STOP, Cell, Figure, Row, figures, stem, stems, unit_of, words_of

_MOST_LINES: Final = 2_000
_MOST_ROWS: Final = 3_000
_MOST_CELLS: Final = 40
_LONGEST_LINE: Final = 400

_RULE: Final = re.compile(r"^[\s|+:=─━═┌┐└┘├┤┬┴┼-]{3,}$")
_BOXES: Final = str.maketrans("│┃║", "|||")
_UNIT_OF_LABEL: Final = re.compile(r"(?:[_ (]|(?<=[a-z])(?=[A-Z]))([A-Za-z]{1,7})\)?$")
_PAIR: Final = re.compile(
    r"\b([A-Za-z][\w.-]{0,40})=(\"[^\"]{0,200}\"|[^\s,;{}]{1,200}|\s{1,9}\d[\d.]{0,20}(?: ?[kKMGT]i?B)?)"
)
_KEY: Final = re.compile(r"^[\W_]{0,8}([A-Za-z][\w ()./-]{0,50}?)[.\s]{0,60}[:=]\s{1,40}(\S.*)$")


def _words(cells: Sequence[Cell]) -> frozenset[str]:
    """Return the words of the cells without a number, and of the first one, which often is an id."""
    return words_of(" ".join(cell.text for cell in cells if cell.figure is None or cell is cells[0]))


def read_tables(text: str, index: int, *, tested: bool) -> Iterator[Row]:
    """Return the rows of one result. Of the lines of a run of tests, which has its own rows, only units are read."""
    parsed = parsed_json(text)
    if parsed is None:
        yield from _from_lines(text, index, tested=tested)
        return
    # Plain objects of several results with the same fields are rows of one table.
    fields = cast("dict[str, object]", parsed) if isinstance(parsed, dict) else {}
    flat = bool(fields) and not any(isinstance(each, dict | list) for each in fields.values())
    yield from _from_json(cast("object", parsed), () if flat else (index,), frozenset())


def _labelled(label: str, text: str) -> Cell:
    """Return a cell under a label, which may name the unit of its number: "size (kbytes)", `took_ms`."""
    name = re.sub(r"([a-z])([A-Z])", r"\1 \2", label).replace("_", " ").strip()
    own = stems(name) | frozenset(re.findall(r"\bnot\b", name.lower()))  # "not_ok" is no "ok"
    if text in {"true", "false", "True", "False"}:
        return Cell(own, text.lower(), Figure(float(text[0] in "tT"), "flag", 0, 1.0, 0, 0, text))
    figure = next(figures(text), None)
    if figure is None or figure.text.strip() != re.sub(r" \(.*", "", text.strip()):
        return Cell(own, text.strip().lower())
    unit = _UNIT_OF_LABEL.search(label)
    kind, factor = unit_of(unit[1]) if unit and not figure.kind else ("", 1.0)
    if "%" in label and not figure.kind:
        figure = replace(figure, kind="%")
    if kind and len(unit[1] if unit else "") > 1:
        figure = Figure(figure.value * factor, kind, figure.places, factor, figure.start, figure.end, figure.text)
    return Cell(own, text.strip().lower(), figure)


def _from_plain(plain: Sequence[object], table: tuple[object, ...], outer: frozenset[str], key: str) -> Row:
    cells = tuple(_labelled(key, _written(item)) for item in plain[:_MOST_CELLS])
    if len(table) > 1 and not key:  # a tuple in a list: its columns have no names
        cells = tuple(replace(cell, label=frozenset({f"#{place}"})) for place, cell in enumerate(cells))
    line = f"{key}: {plain}".removeprefix(": ")[:_LONGEST_LINE]
    return Row(cells, outer | words_of(f"{key} {plain}"), line, (*table, key))


def _from_json(value: object, table: tuple[object, ...], outer: frozenset[str], key: str = "") -> Iterator[Row]:
    if isinstance(value, list):
        items = cast("list[object]", value)
        plain = [item for item in items if not isinstance(item, dict | list)]
        if plain:
            yield _from_plain(plain, table, outer, key)
        for item in items:
            if isinstance(item, dict | list):
                yield from _from_json(cast("object", item), (*table, key), outer, key)
    elif isinstance(value, dict):
        entries = cast("dict[str, object]", value)
        plain = {name: _written(each) for name, each in entries.items() if not isinstance(each, dict | list)}
        line = ", ".join(f"{name}: {text}" for name, text in plain.items())
        cells = tuple(_labelled(f"{key} {name}", text) for name, text in list(plain.items())[:_MOST_CELLS])
        words = outer | _words(cells)
        if cells:
            yield Row(cells, words, line[:_LONGEST_LINE], (*table, frozenset(plain)))
        for name, each in entries.items():
            if isinstance(each, dict | list):
                yield from _from_json(cast("object", each), (*table, name), words, name)


def _written(value: object) -> str:
    return json.dumps(value) if value is None or isinstance(value, bool) else str(value)


_CAPITALS: Final = re.compile(r"^\s*[A-Z%][A-Z%/+_-]*(?:\s+[A-Z%][A-Z%/+_-]*){2,}\s*$|^Filesystem\s.*Mounted on$")
_MARK: Final = re.compile(r"^\s{0,8}(?:(?P<good>[✓✔√])|[✗✘✖×X]) (?=\S)")


def _from_lines(text: str, index: int, *, tested: bool) -> Iterator[Row]:
    header, head = list[str](), ""
    lines = [line[:_LONGEST_LINE] for line in text.translate(_BOXES).split("\n")[:_MOST_LINES]]
    begin = 0
    for place, line in enumerate(lines):
        if _RULE.match(line):
            continue
        after = lines[place + 1] if place + 1 < len(lines) else ""
        parts = _under(head, line, header) if header else cells_of(line)
        if names := _header(line, after):
            header, begin = names, place
            head = after if _RULE.match(after) and " " in after.strip() else line
        elif header and 0 <= len(header) - len(parts) <= (len(header) > 3):  # the last cell may be empty
            cells = tuple(_labelled(name, part) for name, part in zip(header, parts, strict=False))
            yield Row(cells, _words(cells), line.strip(), (index, begin))
        elif (parsed := parsed_json(line)) is not None:
            yield from _from_json(parsed, (index,), frozenset())
        elif line.strip():
            yield _from_line(line, index, tested)
        else:
            header = []


def _under(head: str, line: str, header: Sequence[str]) -> list[str]:
    """Return the cells of a line that stand under the names of its header, else those that its form shows."""
    starts = [found.start() for found in re.finditer(r"\S+(?: \S+)*", head)]
    aligned = len(starts) == len(header) > 2 and "|" not in head
    if aligned and all(at >= len(line) or line[at - 1] == " " != line[at] for at in starts[1:]):
        return [line[at:end].strip() for at, end in pairwise([*starts, _LONGEST_LINE])]
    parts = cells_of(line)
    words = line.split(None, len(header) - 1) if _CAPITALS.match(head) else line.split()
    return words if len(parts) != len(header) == len(words) else parts


def cells_of(line: str) -> list[str]:
    """Return the cells of a line of a table: between bars, tabs, semicolons, commas, or two blanks."""
    for mark in ("|", "\t", ";", ","):
        if line.count(mark) > (0 if mark == "|" else 1) and not re.search(r"[,;] ", line):
            return [cell.strip() for cell in line.strip().strip("|").split(mark)]
    pair = re.fullmatch(r"([^\s,]*[^\W\d_][^\s,]*),([^\s,]+)", line.strip())
    return [*pair.groups()] if pair else re.split(r"\s{2,}", line.strip())


def _header(line: str, after: str) -> list[str]:
    """Return the names of a first line of words over a ruled line, or over a line with as many cells and a number."""
    names = cells_of(line)
    ruled = bool(_RULE.match(after))
    if ruled and "|" not in line and len(spans := [found.span() for found in re.finditer(r"\S+", after)]) > len(names):
        names = [line[start:end].strip() for start, end in spans]
    single = line.split() if _CAPITALS.match(line) and any(name.count(" ") > 1 for name in names) else names
    if len(single) < 2 or any(re.match(r"[-+]?\d", name) or len(name) > 30 or "=" in name for name in single):
        return []
    cells = [] if ruled else _under(line, after, single)
    alike = 0 <= len(single) - len(cells) <= (single is not names) and re.search(r"\d", after)
    # "db-1" over "db-2" is a value and no name of a column.
    value = any(
        re.search(r"\d", name) and _shape(name) == _shape(cell) for name, cell in zip(single, cells, strict=False)
    )
    return single if ruled or (alike and not value) else []


def _shape(cell: str) -> str:
    return re.sub(r"[a-z]+", "a", re.sub(r"\d+", "0", cell.lower()))


def _from_line(line: str, index: int, tested: bool) -> Row:
    """Read a line: the words before a number label it, or the key before a colon; `key=value` pairs are cells too."""
    previous, cells = 0, [_labelled(key, text.strip('" ')) for key, text in _PAIR.findall(line)[:_MOST_CELLS]]
    if len(cells) > 1:
        return Row(tuple(cells), _words(cells), line.strip(), (index, frozenset(cell.label for cell in cells)))
    percentiles = frozenset(name for name in stems(line) if re.fullmatch(r"p\d\d", name))
    pair = _KEY.match(line)
    if pair and not cells:
        cells.append(_labelled(pair[1], pair[2]))
    for figure in list(figures(line))[:_MOST_CELLS]:
        before = re.split(r"[,;|(]\s", line[previous : figure.start])[-1]
        previous = figure.end
        noun = re.match(r"(?:\s*\(\+\)|\s)?\s?(?:to )?([^\W\d_][\w-]*)(?![\w/-]|\.\w)", line[figure.end :])
        label = stem(noun[1]) if noun and not figure.kind and noun[1].lower() not in STOP else ""
        words = before.split() if re.search(r"[:=]\s*[\"']?$", before) else before.split()[-2:]
        keys = stems(" ".join(word for word in words if not re.search(r"[./]\w", word)))
        whole = pair and cells and cells[0].figure and figure.start == pair.start(2)
        if (figure.kind or not tested) and not whole:
            cells.append(Cell(keys if figure.kind == "%" else keys | percentiles, figure.text, figure, label))
    if (mark := _MARK.match(line)) and not tested:
        cells.append(Cell(frozenset({"stat"}), "passed" if mark["good"] else "failed"))
    form = (index, *((cell.figure.kind, cell.noun) if cell.figure else cell.label for cell in cells))
    return Row(tuple(cells), stems(line), line.strip(), form, free=True)


_DECIMAL: Final = re.compile(r"\bDecimal\('([\d.-]{1,40})'\)")


def parsed_json(text: str) -> object:
    """Return the JSON or Python literal of a text, HTTP headers apart; None where there is none, or too deep."""
    body = (text.split("\n\n", 1)[-1] if text.startswith("HTTP/") else text).strip()
    if not body or body[0] not in "[{(" or len(body) > 100_000 or body.count("[") + body.count("{") > 5_000:
        return None
    if deepest(body) > 60:
        return None
    try:
        return json.loads(body)
    except ValueError:
        pass
    try:  # the repr of Python's lists, tuples and dicts
        return json.loads(json.dumps(ast.literal_eval(_DECIMAL.sub(r"\1", body))))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def deepest(text: str) -> int:
    """Return how deep brackets nest, without regard to quotes: an upper bound that costs one pass."""
    depth = most = 0
    for char in text:
        if char in "[{(":
            depth += 1
            most = max(most, depth)
        elif char in "]})":
            depth -= 1
    return most
