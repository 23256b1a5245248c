"""Figures of the work against the figures of the tool results, with unit, noun, label and row.

A figure is contradicted only by facts that carry its label: the same noun behind the number, or a label that stands
beside it in the claim, in a row that the claim names where there are several. Rounding as written is allowed;
"about" allows 5 %.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import combinations
from typing import Final, cast

from mcp_reflect.checkers.evidence.claims import NUMBERS
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
    """A figure of a tool result.

    `noun` and `verb` are the stems of the words behind it ("files changed"), `keys` label it, `row` names the line or
    object it stands in. `alone` is True for the only plain number of its line: it belongs to whatever the line names.
    """

    figure: Figure
    noun: str
    keys: frozenset[str]
    row: frozenset[str]
    line: str
    alone: bool = False
    verb: str = ""


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
    """Return the figures of all results, in order; of a test run only those with a unit, its counts are a report."""
    found: list[Fact] = []
    for result in seen:
        parsed = parsed_json(result.text)
        if any(report.kind is Kind.TESTS for report in result.reports):
            found += [fact for fact in _from_lines(result.text) if fact.figure.kind]
        else:
            found += _from_lines(result.text) if parsed is None else _from_json(parsed, "", frozenset())
    return found[:_MOST_FACTS]


def _from_json(value: object, key: str, row: frozenset[str]) -> Iterator[Fact]:
    if isinstance(value, dict):
        entries = cast("dict[str, object]", value)
        names = " ".join(str(v) for v in entries.values() if isinstance(v, str) and len(v) < 60)
        ids = " ".join(str(v) for k, v in entries.items() if k.lower().endswith(("id", "no", "number")))
        own = row | stems(names) | frozenset(ids.lower().split())
        for name, inner in entries.items():
            yield from _from_json(inner, f"{key} {name}", own)
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from _from_json(inner, key, row)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        label = re.sub(r"([a-z])([A-Z])", r"\1 \2", key).replace("_", " ")
        for figure in figures(repr(value)):
            yield Fact(figure, "", stems(label), row, f"{label.strip()}: {value!r}")


def _from_lines(text: str) -> Iterator[Fact]:
    header: list[str] = []
    lines = text.translate(_BOXES).split("\n")[:_MOST_LINES]
    for place, raw in enumerate(lines):
        line = raw[:_LONGEST_LINE]
        cells = _cells(line)
        if _RULE.match(line) or _SOURCE.search(line):
            continue
        if _is_header(lines, place, cells):
            header = cells
        elif header and len(cells) == len(header):
            row = frozenset(word.lower() for cell in cells for word in cell.split()[:3]) | stems(" ".join(cells))
            for cell, name in zip(cells, header, strict=True):
                figure = next(figures(cell), None)
                if figure and figure.start == 0:
                    yield Fact(figure, "", stems(name), row - {cell.lower()}, line)
        else:
            header = header if line.strip() else []
            yield from _from_line(line)


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


def _from_line(line: str) -> Iterator[Fact]:
    row, previous, found = stems(line), 0, list(figures(line))[:40]
    percentiles = frozenset(name for name in row if re.fullmatch(r"p\d\d", name))
    alone = sum(not figure.kind for figure in found) == 1 and len(line.split()) < 4
    for figure in found:
        before = re.split(r"[,;|(]\s", line[previous : figure.start])[-1]
        noun = re.match(r"(?:\s*\(\+\)|\s)?\s?([^\W\d_][\w-]*)(?![./])(?: ([^\W\d_]+))?", line[figure.end :])
        label = stem(noun[1]) if noun and not figure.kind else ""
        key = _KEY.search(before)
        words = [word for word in (key[1] if key else before).split() if not re.search(r"[./]\w", word)]
        keys = stems(" ".join(words if key else words[-2:]))
        keys |= percentiles if figure.kind != "%" else keys
        verb = stem(noun[2]) if noun and noun[2] else ""
        yield Fact(figure, "" if label in STOP else label, keys, row, line.strip(), alone, verb)
        previous = figure.end


_ABOUT: Final = re.compile(
    r"\b(?:about|around|roughly|approximately|some|nearly|almost|close to|just (?:under|over)|a (?:little|good|bit)|"
    r"over|under|more than|less than|below|above|up to|at (?:least|most)|rund|etwa|environ|circa|ca\.?)\W{0,3}"
    r"(?:\w+ )?$|[~≈>]\s?$",
    re.IGNORECASE,
)
_TOLERANCE: Final = 0.05
_NO_CLAIM: Final = re.compile(
    r"\b(?:line|lines|step|steps|port|chapter|page|issue|section|item|option|rule|pr|#|version|v|node|python|day|"
    r"from|threshold|limit|target|goal|least|most|than|max(?:imum)?|min(?:imum)?|every|last|next|first|of|error|"
    r"january|february|march|april|may|june|july|august|september|october|november|december)\W{0,2}$",
    re.IGNORECASE,
)
_MONTH_AFTER: Final = re.compile(
    r"^\.?\s?(?:st|nd|rd|th)?\s?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)", re.IGNORECASE
)
_SPELLED: Final = re.compile(r"\b(" + "|".join(NUMBERS) + r")\b", re.IGNORECASE)
_LEAST: Final = 4
"""The least score that contradicts: the noun, or a key and a word of the row."""

_SURE: Final = 7
"""The score of a fact with the claim's noun and key: it contradicts though another number on its line agrees."""

_IDENTIFIER: Final = re.compile(r"\w[./_-]\w|[a-z]\d|\d[a-z]")
_GENERIC: Final = stems("time way thing part place case other more new number value result run day step")
_COMMON: Final = stems(
    "file test line error warning issue problem package item second minute commit step byte row user order"
)
"""Nouns of many texts: they label a number only together with the word behind them, as in "files changed"."""
_LIMIT: Final = re.compile(
    r"\b(?:targets?|thresholds?|limits?|goals?|timeouts?|minimum|maximum|budget|required|retr\w+|port|wrote|by hand|"
    r"days?|weeks?|months?|years?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Claimed:
    """A figure of the work: the nouns behind it, the stems of its clause, and if it is only approximate."""

    figure: Figure
    nouns: frozenset[str]
    near: frozenset[str]
    words: frozenset[str]
    about: bool


def claimed(clause: str, sentence: str) -> Iterator[Claimed]:
    """Return the figures that a clause states, spelled-out numbers with a noun among them."""
    if _LIMIT.search(clause):
        return
    words = stems(sentence) | {number.replace(",", "") for number in re.findall(r"\d[\d,]*", sentence)}
    for figure in [*figures(clause), *_spelled(clause)]:
        before, after = clause[: figure.start], clause[figure.end :]
        if _NO_CLAIM.search(before) or _MONTH_AFTER.match(after) or re.match(r"\s(?:a|an|per|each)\b", after):
            continue
        following = re.match(r"\s?((?:[^\W\d_][\w-]*\s?){0,3})", after)
        nouns = [word for word in (following[1].split() if following else []) if word.lower() not in STOP]
        counted = frozenset(stem(noun) for noun in nouns[:2]) if not figure.kind else frozenset[str]()
        near = stems(f"{' '.join(before.split()[-4:])} {' '.join(after.split()[:4])}")
        yield Claimed(figure, counted - _GENERIC, near, words, bool(_ABOUT.search(before)))


def _spelled(clause: str) -> Iterator[Figure]:
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
    everywhere = (
        {word for word in labelled[0].row if all(word in fact.row for fact in labelled)} if labelled[1:] else set[str]()
    )
    scored = [(_score(claim, fact, everywhere), fact) for fact in labelled]
    best = max((score for score, _ in scored), default=0)
    top = [fact for score, fact in scored if score == best]
    equal = [fact for fact in same_kind if _equal(claim, fact)]
    if shown := [fact for fact in top if fact in equal]:
        return True, shown[0].line
    if not top or best < _LEAST or len({fact.figure.value for fact in top}) > 1 or _derived(claim, labelled):
        return None, ""
    if equal and not (best >= _SURE and all(fact.line == top[0].line for fact in equal)):
        return None, ""
    return False, top[-1].line


def _labels(claim: Claimed, fact: Fact) -> bool:
    """True if a fact carries the noun of a claim, a label near its number, or alone stands with a name it gives."""
    if fact.noun in claim.nouns:
        return fact.noun not in _COMMON or bool(fact.verb and fact.verb in claim.near) or bool(fact.keys & claim.near)
    if fact.keys & (claim.near | claim.nouns) - _GENERIC - _COMMON and not fact.noun:
        return True
    return fact.alone and any(_IDENTIFIER.search(name) for name in fact.row & claim.near)


def _score(claim: Claimed, fact: Fact, everywhere: AbstractSet[str]) -> int:
    """Score how well the labels fit: noun 4, key 3, each word of the row that tells rows apart 2."""
    keys = fact.keys & (claim.near | claim.nouns)
    rows = (fact.row & claim.words) - keys - everywhere - claim.nouns
    return 4 * (fact.noun in claim.nouns) + 3 * bool(keys) + 2 * min(2, len(rows))


def _equal(claim: Claimed, fact: Fact) -> bool:
    """True if the two agree as the claim rounds, either as written or with 1024 as the base of a size."""
    written, shown = claim.figure, fact.figure
    step = 0.5 * 10.0**-written.places * written.factor
    values = [shown.value]
    if written.kind and not shown.kind:
        values += [shown.value * scale for scale in (written.factor, 1e-3, 1e-6, 1e-9, 60.0, 3600.0, 1e3, 1e6)]
    if written.kind == "size":
        power = round(len(str(int(max(1.0, shown.factor)))) // 3)
        values += [shown.value * 1.024**n for n in range(-3, power + 4)]
    for value in values:
        if abs(value - written.value) <= step * 1.0001:
            return True
        if claim.about and abs(value - written.value) <= _TOLERANCE * max(abs(value), 1e-12):
            return True
    return False


def _derived(claim: Claimed, labelled: Sequence[Fact]) -> bool:
    """True if the value is the sum or difference of two labelled facts, or the sum or number of all of them."""
    values = [fact.figure.value for fact in labelled[:60] if fact.figure.value]
    target, step = claim.figure.value, 0.5 * 10.0**-claim.figure.places * claim.figure.factor
    results = [sum(values), *(a + b for a, b in combinations(values, 2))]
    results += [abs(a - b) for a, b in combinations(values, 2)]
    return any(abs(result - target) <= step for result in results)
