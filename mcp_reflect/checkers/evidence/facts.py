"""Facts in tool results: each figure with its unit, what it counts, its labels and its row."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, cast

from mcp_reflect.checkers.evidence.reading import Kind, Seen, parsed_json

_MOST_LINES: Final = 2_000
_MOST_FACTS: Final = 6_000
_LONGEST_LINE: Final = 400

# Factors to seconds and bytes. A size is compared with both 1000 and 1024 as its base.
_TIME: Final = {
    **dict.fromkeys(("us", "µs"), 1e-6),
    **dict.fromkeys(("ms", "millisecond"), 1e-3),
    **dict.fromkeys(("s", "sec", "second", "sekunde"), 1.0),
    **dict.fromkeys(("min", "minute"), 60.0),
    **dict.fromkeys(("h", "hour"), 3600.0),
}
_SIZE: Final = {
    **dict.fromkeys(("b", "byte"), 0),
    **dict.fromkeys(("kb", "kib", "k"), 1),
    **dict.fromkeys(("mb", "mib", "m"), 2),
    **dict.fromkeys(("gb", "gib", "g"), 3),
    **dict.fromkeys(("tb", "tib", "t"), 4),
}
STOP: Final = frozenset(
    word
    for line in (
        "a an the of in on at to for from by with and or but so as is are was were be been has have had it its this",
        "that these those there all both each every no not none only now then than also still just about some around",
        "over under up out i we you he she they them their our my your which who what when where will would can could",
        "per if while because",
    )
    for word in line.split()
)
_NUMBER: Final = re.compile(
    r"(?<![\w.,:/-])(?P<money>[$€£¥])?(?P<n>\d{1,3}(?:[,'’]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?![\d]|[.:/-]\d|[,'’]\d{3})"
    r"(?:\s?(?P<u>%|µs|us|ms|[kKMGT]i?B|[kMG](?=\s|$|\t)|seconds?|secs?|milliseconds?|minutes?|min|hours?|bytes?|"
    r"[sh]|B)"
    r"(?!\w)|(?!\w))"
)
_VERSION: Final = re.compile(
    r"(?<![\w.-])v?(\d+\.\d+(?:\.\d+)+(?:[-+.][\w.]+)?|(?<=v)\d+\.\d+)(?![\w])|\bv(\d+\.\d+)\b"
)
_WORD: Final = re.compile(r"[^\W\d_][\w./@-]*[^\W_]|[^\W\d_]")
_KEY: Final = re.compile(r"([A-Za-z][\w ./()%-]{0,40}?)\s*[:=]\s*[\"']?$")
_RULE: Final = re.compile(r"^[\s|+:=─━═┌┐└┘├┤┬┴┼-]{3,}$")
_SOURCE: Final = re.compile(r"[{};]\s*$|^\s*>?\s*\d+ \|")
_BOXES: Final = str.maketrans("│┃║", "|||")
_PERCENTILE: Final = re.compile(
    r"\bp\(?(\d{2})(?:\.\d+)?\)?|\b(\d{2})(?:\.0+)?\s?%(?=\s+\d|ile)|\b(\d{2})th percentile"
)


@dataclass(frozen=True, slots=True)
class Figure:
    """A number as written: `value` in seconds, bytes, percent or plain, as `kind` says; `places` are its decimals."""

    value: float
    kind: str
    places: int
    factor: float
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Fact:
    """A figure of a tool result. `noun` is what follows it, `keys` label it, `row` names the line it stands in."""

    figure: Figure
    noun: str
    keys: frozenset[str]
    row: frozenset[str]
    line: str
    source: int
    alone: bool = False
    """True for the only plain number of its line: it belongs to whatever the line names."""
    verb: str = ""
    """The stem of the word behind the noun: "files changed"."""


def stem(word: str) -> str:
    """Cut the endings of plural and past, so that "packages" and "package", "added" and "add" are the same."""
    word = word.lower().rstrip(".-/")
    if len(word) < 4 or not word.isalpha():
        return word
    for ending, replacement in (("ies", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("es", "e"), ("s", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word.removesuffix(ending) + replacement
            break
    return word.rstrip("e") if len(word) > 3 else word


def stems(text: str) -> frozenset[str]:
    """Return the stems of the words that carry meaning, parts of paths and names among them."""
    words: set[str] = set()
    for word in _WORD.findall(text):
        parts = [word, *re.split(r"[/_.@-]", word)] if re.search(r"[/_.@-]", word) else [word]
        words |= {stem(part) for part in parts if part and part.lower() not in STOP}
    words |= {f"p{''.join(found)}" for found in _PERCENTILE.findall(text)}
    if re.search(r"\bmed(?:ian)?\b", text, re.IGNORECASE):
        words |= {"p50", "median"}
    return frozenset(words)


def figures(text: str) -> Iterator[Figure]:
    """Every number in a text with its unit, without versions, dates, times and ids."""
    for found in _NUMBER.finditer(text):
        number = re.sub(r"[,'’]", "", found["n"])
        if len(number) > 15:
            continue
        unit = (found["u"] or "").rstrip("s") if len(found["u"] or "") > 2 else (found["u"] or "")
        value, kind, factor = float(number), "", 1.0
        low = unit.lower()
        if unit == "%":
            kind = "%"
        elif low in _TIME and unit != "M":
            kind, factor = "time", _TIME[low]
        elif low in _SIZE:
            kind, factor = "size", 1000.0 ** _SIZE[low]
        places = len(number.partition(".")[2])
        yield Figure(value * factor, kind, places, factor, found.start(), found.end(), found[0])


def versions(text: str) -> list[tuple[str, int, int]]:
    """Every version number with its place: three parts, or two after a v."""
    return [(found[1] or found[2], found.start(), found.end()) for found in _VERSION.finditer(text)]


def facts(seen: Iterable[Seen]) -> list[Fact]:
    """Return the figures of all results, in order."""
    found: list[Fact] = []
    for result in seen:
        parsed = parsed_json(result.text)
        if any(report.kind is Kind.TESTS for report in result.reports):
            found += [fact for fact in _from_lines(result) if fact.figure.kind]
        elif parsed is not None:
            _from_json(parsed, "", frozenset(), result.index, found)
        else:
            found += _from_lines(result)
        if len(found) > _MOST_FACTS:
            break
    return found[:_MOST_FACTS]


def _from_json(value: object, key: str, row: frozenset[str], source: int, found: list[Fact]) -> None:
    if len(found) > _MOST_FACTS:
        return
    if isinstance(value, dict):
        entries = cast("dict[str, object]", value)
        names = " ".join(str(v) for v in entries.values() if isinstance(v, str) and len(v) < 60)
        ids = " ".join(str(v) for k, v in entries.items() if k.lower().endswith(("id", "no", "number")))
        own = row | stems(names) | frozenset(ids.lower().split())
        for name, inner in entries.items():
            _from_json(inner, f"{key} {name}", own, source, found)
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            _from_json(inner, key, row, source, found)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        text = repr(value)
        for figure in figures(text):
            label = re.sub(r"([a-z])([A-Z])", r"\1 \2", key).replace("_", " ")
            found.append(Fact(figure, "", stems(label), row, f"{label.strip()}: {text}", source))


def _from_lines(result: Seen) -> Iterator[Fact]:
    header: list[str] = []
    lines = result.text.translate(_BOXES).split("\n")[:_MOST_LINES]
    for place, raw in enumerate(lines):
        line = raw[:_LONGEST_LINE]
        cells = _cells(line)
        if _RULE.match(line) or _SOURCE.search(line):
            continue
        if _is_header(lines, place, cells):
            header = cells
            continue
        if header and len(cells) == len(header):
            yield from _from_row(cells, header, line, result.index)
        else:
            if not line.strip():
                header = []
            yield from _from_line(line, result.index)


def _cells(line: str) -> list[str]:
    for mark in ("|", "\t", ";", ","):
        if line.count(mark) > (0 if mark == "|" else 1) and not re.search(r"[,;] ", line):
            return [cell.strip() for cell in line.strip().strip("|").split(mark)]
    return re.split(r"\s{2,}", line.strip())


def _is_header(lines: Sequence[str], place: int, cells: list[str]) -> bool:
    """True for a first line of words over lines with as many cells, of which some are numbers."""
    if len(cells) < 2 or any(re.match(r"[-+]?\d", cell) for cell in cells) or any(len(cell) > 30 for cell in cells):
        return False
    after = [line for line in lines[place + 1 : place + 3] if line.strip() and not _RULE.match(line)]
    ruled = place + 1 < len(lines) and bool(_RULE.match(lines[place + 1]))
    if ruled:
        return True
    return bool(after) and len(_cells(after[0])) == len(cells) and bool(re.search(r"\d", after[0]))


def _from_row(cells: list[str], header: list[str], line: str, source: int) -> Iterator[Fact]:
    row = frozenset(word.lower() for cell in cells for word in cell.split()[:3]) | stems(" ".join(cells))
    for cell, name in zip(cells, header, strict=True):
        for figure in list(figures(cell))[:1]:
            if figure.start == 0:
                yield Fact(figure, "", stems(name), row - {cell.lower()}, line, source)


def _from_line(line: str, source: int) -> Iterator[Fact]:
    names = stems(line)
    percentiles = frozenset(name for name in names if re.fullmatch(r"p\d\d", name))
    previous, found = 0, list(figures(line))[:40]
    plain = sum(not figure.kind for figure in found)
    for figure in found:
        before = re.split(r"[,;|(]\s", line[previous : figure.start])[-1]
        noun = re.match(r"(?:\s*\(\+\)|\s)?\s?([^\W\d_][\w-]*)(?![./])(?: ([^\W\d_]+))?", line[figure.end :])
        label = stem(noun[1]) if noun and not figure.kind else ""
        verb = stem(noun[2]) if noun and noun[2] else ""
        key = _KEY.search(before)
        words = [word for word in (key[1] if key else before).split() if not re.search(r"[./]\w", word)]
        keys = stems(" ".join(words if key else words[-2:]))
        if figure.kind != "%":
            keys |= percentiles
        label = "" if label in STOP else label
        yield Fact(figure, label, keys, names, line.strip(), source, plain == 1 and len(line.split()) < 4, verb)
        previous = figure.end
