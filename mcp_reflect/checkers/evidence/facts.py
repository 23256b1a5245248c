"""What tool results show, read once: rows of cells, each with its label, its text and its number.

A row is a line, a row of a table or an object of JSON. Rows that are alike (of one table, or lines of one form)
share a table, so that claims over all of them can be compared.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

from mcp_reflect.checkers.evidence.reading import Kind, Seen, parsed_json

_MOST_LINES: Final = 2_000
_MOST_ROWS: Final = 3_000
_MOST_CELLS: Final = 40
_LONGEST_LINE: Final = 400

# The kind of a unit and its factor to seconds or bytes. A size is compared with both 1000 and 1024 as its base.
_UNITS: Final = {
    "%": ("%", 1.0),
    **dict.fromkeys(("us", "µs"), ("time", 1e-6)),
    **dict.fromkeys(("ms", "millisecond"), ("time", 1e-3)),
    **dict.fromkeys(("s", "sec", "second"), ("time", 1.0)),
    **dict.fromkeys(("min", "minute"), ("time", 60.0)),
    **dict.fromkeys(("h", "hour"), ("time", 3600.0)),
    **{
        name: ("size", 1e3**power)
        for power, prefix in enumerate(("", *"kmgt"))
        for name in (f"{prefix}b", f"{prefix}ib", f"{prefix}byte")
    },
    **{prefix: ("size", 1e3**power) for power, prefix in enumerate("kmg", 1)},
}
STOP: Final = frozenset(
    "a an the of in on at to for from by with and or but so as is are was were be been has have had it its this that "
    "these those there all both each every no not none only now then than also still just about some around over under "
    "up out i we you he she they them their our my your which who what when where will would can could per if while "
    "because".split()
)
NUMBERS: Final = {
    word: value
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty".split()
    )
}
_NUMBER: Final = re.compile(
    r"(?<![\w.,:/-])[$€£¥]?(?P<n>\d{1,3}(?:\.\d{3})+,\d\d|\d{1,3}(?:[,'’]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?![\d]|[.:/-]\d|[,'’]\d{3})"
    r"(?:\s?(?P<u>%|µs|us|ms|[kKMGT]i?B|[kMG](?=\s|$|\t)|seconds?|secs?|milliseconds?|minutes?|min|hours?|bytes?|"
    r"[sh]|B|(?<=\d)[md])(?!\w)|(?!\w))"
)
_SPELLED: Final = re.compile(r"\b(" + "|".join(NUMBERS) + r")\b", re.IGNORECASE)
_WORD: Final = re.compile(r"[^\W\d_][\w./@-]*[^\W_]|[^\W\d_]")
_RULE: Final = re.compile(r"^[\s|+:=─━═┌┐└┘├┤┬┴┼-]{3,}$")
_BOXES: Final = str.maketrans("│┃║", "|||")
_PERCENTILE: Final = re.compile(
    r"\bp\(?(\d{2})(?:\.\d+)?\)?|\b(\d{2})(?:\.0+)?\s?%(?=\s+\d|ile)|\b(\d{2})th percentile|\bmed(?:ian)?\b"
)
_UNIT_OF_LABEL: Final = re.compile(r"(?:[_ (]|(?<=[a-z])(?=[A-Z]))([A-Za-z]{1,7})\)?$")
_PAIR: Final = re.compile(r"\b([A-Za-z][\w.-]{0,40})=(\"[^\"]{0,200}\"|[^\s,;{}]{1,200})")
_KEY: Final = re.compile(r"^[\W_]{0,8}([A-Za-z][\w ()./-]{0,50}?)[.\s]{0,60}[:=]\s{1,40}(\S.*)$")
_NAME: Final = re.compile(r"[A-Z][^_]*|[^_]*\d[^_]*")  # a key that names a thing and no field: "Basel", "2025-03"
_JOINED: Final = re.compile(r"(?<![\w.-])\d+(?:[-/:]\d+)+(?![\w-])")
SUMMED: Final = frozenset({"total", "sum", "all", "overall", "summary"})


@dataclass(frozen=True, slots=True)
class Figure:
    """A number as written: `value` in seconds, bytes, percent or plain, as `kind` says; `places` are its decimals.

    A true or false is a `flag` with the value 1 or 0.
    """

    value: float
    kind: str
    places: int
    factor: float
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Cell:
    """A value of a row: `label` are the stems that name it, `noun` the stem of the word behind a number ("files")."""

    label: frozenset[str]
    text: str
    figure: Figure | None = None
    noun: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """A line, a row of a table or an object: `words` are its stems and digits, `table` is shared by rows alike."""

    cells: tuple[Cell, ...]
    words: frozenset[str]
    line: str
    table: object
    free: bool = False


def stem(word: str) -> str:
    """Cut the endings of plural and past, so that "packages" and "package", "added" and "add" are the same."""
    return re.sub(r"(?<=\w{3})(?:ies|y|ing|ed|es|(?<!s)s|e)$", "", word.lower().rstrip(".-/"))


def stems(text: str) -> frozenset[str]:
    """Return the stems of the words that carry meaning, parts of paths and names among them."""
    found = _WORD.findall(text)
    words = {
        *found,
        *(part for word in found for part in re.split(r"[/_.@-]", word) if len(part) > 1 and part.isalpha()),
    }
    percentiles = {f"p{''.join(found) or 50}" for found in _PERCENTILE.findall(text)}
    return frozenset({stem(word) for word in words if word and word.lower() not in STOP} | percentiles)


def words_of(text: str) -> frozenset[str]:
    """Return the stems and the whole numbers of a text."""
    numbers = re.findall(r"(?<![\w.,-])\d+(?:,\d{3})*(?!\d|[.,]\d)", text)
    return stems(text) | {number.replace(",", "") for number in numbers} | set(_JOINED.findall(text))


def _words(cells: Sequence[Cell]) -> frozenset[str]:
    """Return the words of the cells without a number, and of the first one, which often is an id."""
    return words_of(" ".join(cell.text for cell in cells if cell.figure is None or cell is cells[0]))


def figures(text: str) -> Iterator[Figure]:
    """Every number in a text with its unit, without versions, dates, times and ids."""
    for found in _NUMBER.finditer(text):
        number, unit = found["n"], found["u"] or ""
        number = (
            number.replace(".", "").replace(",", ".") if re.search(r"\..*,", number) else re.sub(r"[,'’]", "", number)
        )
        kind, factor = _unit(unit)
        if len(number) <= 15:
            places = len(number.partition(".")[2])
            yield Figure(float(number) * factor, kind, places, factor, found.start(), found.end(), found[0])


def spelled(text: str) -> Iterator[Figure]:
    """Every number in words, from two on, that a noun follows."""
    for found in _SPELLED.finditer(text):
        noun = re.match(r"\s([^\W\d_]{3,})", text[found.end() :])
        if noun and noun[1].lower() not in STOP and found[1].lower() != "one":
            yield Figure(NUMBERS[found[1].lower()], "", 0, 1.0, found.start(), found.end(), found[1])


def _unit(name: str) -> tuple[str, float]:
    if name in {"m", "d"}:
        return "time", 60.0 if name == "m" else 86400.0
    return _UNITS.get(name.lower().rstrip("s") if len(name) > 2 else name.lower(), ("", 1.0))


def rows(seen: Iterable[Seen]) -> list[Row]:
    """Return the rows of all results, in order. The counts of a run of tests are a report and no cells."""
    found: list[Row] = []
    for result in seen:
        parsed = parsed_json(result.text)
        tested = any(report.kind is Kind.TESTS for report in result.reports)
        # Plain objects of several results with the same fields are rows of one table.
        fields = cast("dict[str, object]", parsed) if isinstance(parsed, dict) else {}
        flat = bool(fields) and not any(isinstance(each, dict | list) for each in fields.values())
        table = () if flat else (result.index,)
        found += (
            _from_lines(result, tested) if parsed is None else _from_json(cast("object", parsed), table, frozenset())
        )
    return found[:_MOST_ROWS]


def _labelled(label: str, text: str) -> Cell:
    """Return a cell under a label, which may name the unit of its number: "size (kbytes)", `took_ms`."""
    name = re.sub(r"([a-z])([A-Z])", r"\1 \2", label).replace("_", " ").strip()
    own = stems(name) | frozenset(re.findall(r"\bnot\b", name.lower()))  # "not_ok" is no "ok"
    if text in {"true", "false", "True", "False"}:
        return Cell(own, text.lower(), Figure(float(text[0] in "tT"), "flag", 0, 1.0, 0, 0, text))
    figure = next(figures(text), None)
    if figure is None or figure.text.strip() != text.strip():
        return Cell(own, text.strip().lower())
    unit = _UNIT_OF_LABEL.search(label)
    kind, factor = _unit(unit[1]) if unit and not figure.kind else ("", 1.0)
    if kind and len(unit[1] if unit else "") > 1:
        figure = Figure(figure.value * factor, kind, figure.places, factor, figure.start, figure.end, figure.text)
    return Cell(own, text.strip().lower(), figure)


def _from_plain(plain: Sequence[object], table: tuple[object, ...], outer: frozenset[str], key: str) -> Row:
    cells = tuple(_labelled(key, _written(item)) for item in plain[:_MOST_CELLS])
    if len(table) > 1 and not key:  # a tuple in a list: its columns have no names
        cells = tuple(replace(cell, label=frozenset({f"#{place}"})) for place, cell in enumerate(cells))
    line = f"{key}: {plain}".removeprefix(": ")[:_LONGEST_LINE]
    return Row(cells, outer | words_of(f"{key} {plain}"), line, (*table, key))


def _from_map(named: dict[str, str], table: object, outer: frozenset[str], key: str) -> Iterator[Row]:
    """Return a row for each name that an object maps to a number."""
    for name, text in list(named.items())[:_MOST_ROWS]:
        cells = (Cell(frozenset({"#0"}), name.lower()), _labelled(key, text))
        yield Row(cells, outer | words_of(name), f"{name}: {text}", table)


def _number(text: str) -> bool:
    return re.fullmatch(r"-?\d+(?:\.\d+)?", text) is not None


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
        if len(plain) > 1 and all(_NAME.fullmatch(name) and _number(text) for name, text in plain.items()):
            yield from _from_map(plain, (*table, key, "#"), outer, key)
            plain = {}
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


def _from_lines(result: Seen, tested: bool) -> Iterator[Row]:
    header: list[str] = []
    lines = [line[:_LONGEST_LINE] for line in result.text.translate(_BOXES).split("\n")[:_MOST_LINES]]
    begin = 0
    for place, line in enumerate(lines):
        parts = cells_of(line)
        if _RULE.match(line):
            continue
        if _is_header(lines, place, parts):
            header, begin = parts, place
        elif header and 0 <= len(header) - len(parts) <= (len(header) > 3):  # the last cell may be empty
            cells = tuple(_labelled(name, part) for name, part in zip(header, parts, strict=False))
            yield Row(cells, _words(cells), line.strip(), (result.index, begin))
        elif (parsed := parsed_json(line)) is not None:
            yield from _from_json(parsed, (result.index,), frozenset())
        elif line.strip():
            yield _from_line(line, result.index, tested)
        else:
            header = []


def cells_of(line: str) -> list[str]:
    """Return the cells of a line of a table: between bars, tabs, semicolons, commas, or two blanks."""
    for mark in ("|", "\t", ";", ","):
        if line.count(mark) > (0 if mark == "|" else 1) and not re.search(r"[,;] ", line):
            return [cell.strip() for cell in line.strip().strip("|").split(mark)]
    return re.split(r"\s{2,}", line.strip())


def _is_header(lines: Sequence[str], place: int, names: list[str]) -> bool:
    """True for a first line of words over a ruled line, or over a line with as many cells and a number."""
    if len(names) < 2 or any(re.match(r"[-+]?\d", cell) or len(cell) > 30 for cell in names) or place + 1 >= len(lines):
        return False
    after = lines[place + 1]
    return bool(_RULE.match(after)) or (len(cells_of(after)) == len(names) and bool(re.search(r"\d", after)))


def _from_line(line: str, index: int, tested: bool) -> Row:
    """Read a line: the words before a number label it, or the key before a colon; `key=value` pairs are cells too."""
    previous, cells = 0, [_labelled(key, text.strip('"')) for key, text in _PAIR.findall(line)[:_MOST_CELLS]]
    if len(cells) > 1:
        return Row(tuple(cells), _words(cells), line.strip(), (index, frozenset(cell.label for cell in cells)))
    percentiles = frozenset(name for name in stems(line) if re.fullmatch(r"p\d\d", name))
    pair = _KEY.match(line)
    if pair and not cells:
        cells.append(_labelled(pair[1], pair[2]))
    for figure in list(figures(line))[:_MOST_CELLS]:
        before = re.split(r"[,;|(]\s", line[previous : figure.start])[-1]
        previous = figure.end
        noun = re.match(r"(?:\s*\(\+\)|\s)?\s?([^\W\d_][\w-]*)(?![\w./-])", line[figure.end :])
        label = stem(noun[1]) if noun and not figure.kind and noun[1].lower() not in STOP else ""
        words = before.split() if re.search(r"[:=]\s*[\"']?$", before) else before.split()[-2:]
        keys = stems(" ".join(word for word in words if not re.search(r"[./]\w", word)))
        whole = pair and pair[2].strip() == figure.text.strip() and cells
        if (figure.kind or not tested) and not whole:
            cells.append(Cell(keys if figure.kind == "%" else keys | percentiles, figure.text, figure, label))
    form = (index, *((cell.figure.kind, cell.noun) if cell.figure else cell.label for cell in cells))
    return Row(tuple(cells), stems(line), line.strip(), form, free=True)
