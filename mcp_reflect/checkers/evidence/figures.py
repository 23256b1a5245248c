"""Figures of the work against the figures of the tool results, with unit, noun, label and row.

A figure is contradicted only by facts that carry its label: the same noun behind the number, or a label that stands
beside it in the claim, in a row that the claim names where there are several. Rounding as written is allowed;
"about" allows 5 %.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, cast

from mcp_reflect.checkers.evidence.claims import NUMBERS
from mcp_reflect.checkers.evidence.reading import Kind, Seen, parsed_json

_MOST_LINES: Final = 2_000
_MOST_FACTS: Final = 6_000
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
        for name in (f"{prefix}b", f"{prefix}ib")
    },
    **{prefix: ("size", 1e3**power) for power, prefix in enumerate("kmg", 1)},
    "byte": ("size", 1.0),
}
STOP: Final = frozenset(
    "a an the of in on at to for from by with and or but so as is are was were be been has have had it its this that "
    "these those there all both each every no not none only now then than also still just about some around over under "
    "up out i we you he she they them their our my your which who what when where will would can could per if while "
    "because".split()
)
_NUMBER: Final = re.compile(
    r"(?<![\w.,:/-])[$€£¥]?(?P<n>\d{1,3}(?:[,'’]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?![\d]|[.:/-]\d|[,'’]\d{3})"
    r"(?:\s?(?P<u>%|µs|us|ms|[kKMGT]i?B|[kMG](?=\s|$|\t)|seconds?|secs?|milliseconds?|minutes?|min|hours?|bytes?|"
    r"[sh]|B)(?!\w)|(?!\w))"
)
_WORD: Final = re.compile(r"[^\W\d_][\w./@-]*[^\W_]|[^\W\d_]")
_RULE: Final = re.compile(r"^[\s|+:=─━═┌┐└┘├┤┬┴┼-]{3,}$")
_BOXES: Final = str.maketrans("│┃║", "|||")
_PERCENTILE: Final = re.compile(
    r"\bp\(?(\d{2})(?:\.\d+)?\)?|\b(\d{2})(?:\.0+)?\s?%(?=\s+\d|ile)|\b(\d{2})th percentile"
)


@dataclass(frozen=True, slots=True)
class Figure:
    """A number as written: `value` in seconds, bytes, percent or plain, as `kind` says; `places` are its decimals.

    A true or false in JSON is a `flag` with the value 1 or 0.
    """

    value: float
    kind: str
    places: int
    factor: float
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Fact:
    """A figure of a tool result.

    `noun` is the stem of the word behind it ("files"), `keys` label it, `row` names the line or object it stands in.
    """

    figure: Figure
    noun: str
    keys: frozenset[str]
    row: frozenset[str]
    line: str


def stem(word: str) -> str:
    """Cut the endings of plural and past, so that "packages" and "package", "added" and "add" are the same."""
    return re.sub(r"(?<=\w{3})(?:ies|y|ing|ed|es|(?<!s)s|e)$", "", word.lower().rstrip(".-/"))


def stems(text: str) -> frozenset[str]:
    """Return the stems of the words that carry meaning, parts of paths and names among them."""
    words = {part for word in _WORD.findall(text) for part in (word, *re.split(r"[/_.@-]", word))}
    percentiles = {f"p{''.join(found)}" for found in _PERCENTILE.findall(text)}
    return frozenset({stem(word) for word in words if word and word.lower() not in STOP} | percentiles)


def figures(text: str) -> Iterator[Figure]:
    """Every number in a text with its unit, without versions, dates, times and ids."""
    for found in _NUMBER.finditer(text):
        number, unit = re.sub(r"[,'’]", "", found["n"]), found["u"] or ""
        kind, factor = _UNITS.get(unit.lower().rstrip("s") if len(unit) > 2 else unit.lower(), ("", 1.0))
        if len(number) <= 15:
            places = len(number.partition(".")[2])
            yield Figure(float(number) * factor, kind, places, factor, found.start(), found.end(), found[0])


def facts(seen: Iterable[Seen]) -> list[Fact]:
    """Return the figures of all results, in order; of a test run tables and units only, its counts are a report."""
    found: list[Fact] = []
    for result in seen:
        parsed = parsed_json(result.text)
        tested = any(report.kind is Kind.TESTS for report in result.reports)
        found += _from_lines(result.text, tested) if parsed is None else _from_json(parsed, "", frozenset())
    return found[:_MOST_FACTS]


def _from_json(value: object, key: str, row: frozenset[str]) -> Iterator[Fact]:
    if isinstance(value, dict):
        entries = cast("dict[str, object]", value)
        row |= stems(" ".join(str(v) for v in entries.values() if isinstance(v, str)))
        for name, inner in entries.items():
            yield from _from_json(inner, f"{key} {name}", row)
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from _from_json(inner, key, row)
    elif isinstance(value, int | float):
        label = re.sub(r"([a-z])([A-Z])", r"\1 \2", key).replace("_", " ").strip()
        flag = [Figure(float(value), "flag", 0, 1.0, 0, 0, "")] if isinstance(value, bool) else []
        for figure in flag or figures(repr(value)):
            yield Fact(figure, "", stems(label), row, f"{label}: {value!r}")


def _from_lines(text: str, tested: bool) -> Iterator[Fact]:
    header: list[str] = []
    lines = [line[:_LONGEST_LINE] for line in text.translate(_BOXES).split("\n")[:_MOST_LINES]]
    for place, line in enumerate(lines):
        row_cells = cells(line)
        if _RULE.match(line):
            continue
        if _is_header(lines, place, row_cells):
            header = row_cells
        elif header and len(row_cells) == len(header):
            row = frozenset(word.lower() for cell in row_cells for word in cell.split()[:3]) | stems(
                " ".join(row_cells)
            )
            for cell, name in zip(row_cells, header, strict=True):
                figure = next(figures(cell), None)
                if figure and figure.start == 0 and figure.end == len(cell):
                    yield Fact(figure, "", stems(name), row - {cell.lower()}, line)
        else:
            header = header if line.strip() else []
            yield from (fact for fact in _from_line(line) if fact.figure.kind or not tested)


def cells(line: str) -> list[str]:
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
    return bool(_RULE.match(after)) or (len(cells(after)) == len(names) and bool(re.search(r"\d", after)))


def _from_line(line: str) -> Iterator[Fact]:
    row, previous = stems(line), 0
    percentiles = frozenset(name for name in row if re.fullmatch(r"p\d\d", name))
    for figure in list(figures(line))[:40]:
        before = re.split(r"[,;|(]\s", line[previous : figure.start])[-1]
        noun = re.match(r"(?:\s*\(\+\)|\s)?\s?([^\W\d_][\w-]*)(?![\w./-])", line[figure.end :])
        label = stem(noun[1]) if noun and not figure.kind and noun[1].lower() not in STOP else ""
        words = before.split() if re.search(r"[:=]\s*[\"']?$", before) else before.split()[-2:]
        keys = stems(" ".join(word for word in words if not re.search(r"[./]\w", word)))
        yield Fact(figure, label, keys if figure.kind == "%" else keys | percentiles, row, line.strip())
        previous = figure.end


_ABOUT: Final = re.compile(
    r"\b(?:about|around|roughly|approximately|some|nearly|almost|close to|just (?:under|over)|a (?:little|good|bit)|"
    r"over|under|more than|less than|below|above|up to|at (?:least|most)|rund|etwa|environ|circa|ca\.?)\W{0,3}"
    r"(?:\w+ )?$|[~≈>]\s?$",
    re.IGNORECASE,
)
_TOLERANCE: Final = 0.05
_NO_CLAIM: Final = re.compile(
    r"\b(?:lines?|steps?|port|chapter|page|issue|section|item|option|rule|pr|#|version|v|node|python|day|from|threshold|"
    r"limit|target|goal|least|most|than|max(?:imum)?|min(?:imum)?|every|last|next|first|of|error|january|february|march|"
    r"april|may|june|july|august|september|october|november|december)\W{0,2}$",
    re.IGNORECASE,
)
_BORDER: Final = re.compile(r"[.;,] |(?<![\w.])\d[\d.,]*")
_SPELLED: Final = re.compile(r"\b(" + "|".join(NUMBERS) + r")\b", re.IGNORECASE)
_LEAST: Final = 4
"""The least score that contradicts: the noun, or a key and a word of the row."""

_SURE: Final = 7
"""The score of a fact with the claim's noun and key: it contradicts though another number on its line agrees."""

_GENERIC: Final = stems("time way thing part place case other more new number value result run day step")
_COMMON: Final = stems(
    "file test line error warning issue problem package item second minute commit step byte row user order"
)
"""Nouns of many texts: they label a number only together with a word of its line beside it, as in "files changed"."""
_LIMIT: Final = re.compile(
    r"\b(?:targets?|thresholds?|limits?|goals?|timeouts?|minimum|maximum|budget|required|retr\w+|port|wrote|by hand|"
    r"days?|weeks?|months?|years?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Claimed:
    """A figure of the work: the nouns behind it, the stems beside it, of its clause and of its sentence.

    `about` is True if it is said to be approximate.
    """

    figure: Figure
    nouns: frozenset[str]
    near: frozenset[str]
    clause: frozenset[str]
    words: frozenset[str]
    about: bool


def claimed(clause: str, sentence: str) -> Iterator[Claimed]:
    """Return the figures that a clause states, spelled-out numbers with a noun among them."""
    if _LIMIT.search(clause):
        return
    words, own = (
        stems(text) | {number.replace(",", "") for number in re.findall(r"\d[\d,]*", text)}
        for text in (sentence, clause)
    )
    for figure in [*figures(clause), *spelled(clause)]:
        before, after = clause[: figure.start], clause[figure.end :]
        if _NO_CLAIM.search(before) or re.match(r"\s(?:a|an|per|each)\b", after):
            continue
        following = re.match(r"\s?((?:[^\W\d_][\w-]*\s?){0,3})", after)
        nouns = [word for word in (following[1].split() if following else []) if word.lower() not in STOP]
        counted = frozenset(stem(noun) for noun in nouns[:2]) if not figure.kind else frozenset[str]()
        beside = _BORDER.split(before)[-1].split()[-4:], _BORDER.split(after)[0].split()[:4]
        near = stems(" ".join((*beside[0], *beside[1])))
        yield Claimed(figure, counted - _GENERIC, near, own, words, bool(_ABOUT.search(before)))


def spelled(clause: str) -> Iterator[Figure]:
    """Every number in words, from two on, that a noun follows."""
    for found in _SPELLED.finditer(clause):
        noun = re.match(r"\s([^\W\d_]{3,})", clause[found.end() :])
        if noun and noun[1].lower() not in STOP and found[1].lower() != "one":
            yield Figure(NUMBERS[found[1].lower()], "", 0, 1.0, found.start(), found.end(), found[1])


def compare(claim: Claimed, facts: Sequence[Fact]) -> tuple[bool | None, str]:
    """Return if one figure agrees with the facts of its kind that carry its label best, and the line that decided.

    None where the results do not decide it. A time or size may also stand in the results without its unit.
    """
    kind = claim.figure.kind
    same_kind = [f for f in facts if kind == f.figure.kind or (not f.figure.kind and kind in {"time", "size"})]
    labelled = [fact for fact in same_kind if _labels(claim, fact)]
    everywhere = frozenset[str]().union(*(fact.row for fact in labelled[:1])).intersection(*(f.row for f in labelled))
    common = everywhere if len(labelled) > 1 else frozenset[str]()
    scored = [(_score(claim, fact, common), fact) for fact in labelled]
    best = max((score for score, _ in scored), default=0)
    top = [fact for score, fact in scored if score == best]
    agreeing = [fact for fact in same_kind if equal(claim.figure, fact.figure, about=claim.about)]
    if shown := [fact for fact in top if fact in agreeing]:
        return True, shown[0].line
    if best < _LEAST or len({fact.figure.value for fact in top}) > 1 or _derived(claim, labelled):
        return None, ""
    if agreeing and not (best >= _SURE and all(fact.line == top[0].line for fact in agreeing)):
        return None, ""
    return False, top[-1].line


def _labels(claim: Claimed, fact: Fact) -> bool:
    """True if a fact carries the noun of a claim or a label near its number, or is alone in its line with a name."""
    if fact.noun in claim.nouns:
        return fact.noun not in _COMMON or bool((fact.keys | fact.row - {fact.noun}) & claim.near)
    named = len(fact.line.split()) < 3 and any(re.search(r"\w[./_-]\w", name) for name in fact.row & claim.near)
    return not fact.noun and (named or bool(fact.keys & (claim.near | claim.nouns) - _GENERIC - _COMMON))


def _score(claim: Claimed, fact: Fact, common: frozenset[str]) -> int:
    """Score how well the labels fit: noun 4, key 3, words of the row 3 or 4 in the same clause, else 2."""
    keys = fact.keys & (claim.near | claim.nouns)
    rows = (fact.row & claim.words) - keys - claim.nouns - common
    near = min(len(rows & claim.clause), 2)
    return 4 * (fact.noun in claim.nouns) + 3 * bool(keys) + (2 + near if near else 2 * bool(rows))


def equal(written: Figure, shown: Figure, *, about: bool = False) -> bool:
    """True if a figure of the work agrees with one of the results as it is rounded, with 1000 or 1024 for sizes."""
    values = [shown.value]
    if written.kind and not shown.kind:
        values += [shown.value * scale for scale in (written.factor, 1e-3, 1e-6, 1e-9, 60.0, 3600.0, 1e3, 1e6)]
    if written.kind == "size":
        values += [shown.value * 1.024**n for n in range(-3, 8)]
    step = 0.5001 * 10.0**-written.places * written.factor
    return any(abs(value - written.value) <= max(step, _TOLERANCE * abs(value) if about else 0.0) for value in values)


def _derived(claim: Claimed, labelled: Sequence[Fact]) -> bool:
    """True if the value is the sum or difference of two labelled facts, or the sum of all of them."""
    values = [fact.figure.value for fact in labelled[:60] if fact.figure.value]
    results = [sum(values), *(value for a, b in combinations(values, 2) for value in (a + b, abs(a - b)))]
    step = 0.5 * 10.0**-claim.figure.places * claim.figure.factor
    return any(abs(result - claim.figure.value) <= step for result in results)
