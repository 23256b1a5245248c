"""Rows: the one form in which tool results are read, whatever printed them. Words and numbers of a text.

A row is a line, a row of a table, an object of JSON, a run of a program or one of its tests.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache, wraps
from typing import Final

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
    **{f"{prefix}i": ("size", 1e3**power) for power, prefix in enumerate("kmg", 1)},
}
STOP: Final = frozenset(
    "a an the of in on at to for from by with and or but so as is are was were be been has have had it its this that "
    "these those there all both each every no not none only now then than also still just about some around over under "
    "up out i we you he she they them their our my your which who what when where will would can could per if while "
    "because after before during".split()
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
    r"(?:\s?(?P<u>%|µs|us|ms|[kKMGT]i?B|[KMG]i|[kKMG](?=\s|$|\t)|seconds?|secs?|milliseconds?|minutes?|min|hours?|bytes?|"
    r"[sh]|B|(?<=\d)[md])(?!\w)|(?!\w))"
)
_SPELLED: Final = re.compile(r"\b(" + "|".join(NUMBERS) + r")\b", re.IGNORECASE)
_WORD: Final = re.compile(r"[^\W\d_][\w./@-]*[^\W_]|[^\W\d_]")
_PERCENTILE: Final = re.compile(
    r"\bp\(?(\d{2})(?:\.\d+)?\)?|\b(\d{2})(?:\.0+)?\s?%(?=\s+\d|ile)|\b(\d{2})th percentile|\bmed(?:ian)?\b"
)
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


class Kind(StrEnum):
    """The kind of a run."""

    TESTS = "tests"
    LINT = "lint"
    TYPES = "types"
    BUILD = "build"


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """What a result shows of one thing.

    `words` are the stems and numbers that tell which thing, `line` quotes it, `table` is shared by rows alike, and
    `free` marks a line without columns. `state` is the one state that the row gives ("open", "passes"). A run of a
    program has its `kind` and the program as its `source`; a test of it also has a `name`.
    """

    cells: tuple[Cell, ...]
    words: frozenset[str]
    line: str
    table: object
    free: bool = False
    state: str = ""
    source: str = ""
    kind: Kind | None = None
    name: str = ""

    def values(self, label: str) -> list[int]:
        """Return the numbers under a label, the one that was printed first."""
        return [int(cell.figure.value) for cell in self.cells if cell.figure and label in cell.label]


_ALIKE: Final = {
    word: group.split()[0]
    for group in (
        "add insert insertion creat", "remov delet deletion destroy destro destruction", "fail failur",
        "averag avg mean med", "max maximum peak", "min minimum", "mem memor", "req request", "restart reboot",
        "warn warning", "vuln vulnerabilit", "dur duration elaps", "err error",
    )
    for word in group.split()
}  # fmt: skip


_SHORT: Final = 200


def _kept(read: Callable[[str], frozenset[str]]) -> Callable[[str], frozenset[str]]:
    """Return the function with its answers about short texts kept: each rule asks for the same clauses and labels."""
    kept = lru_cache(maxsize=4096)(read)

    @wraps(read)
    def answer(text: str) -> frozenset[str]:
        return kept(text) if len(text) <= _SHORT else read(text)

    return answer


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """Cut the endings of plural and past, so that "packages" and "package", "added" and "add" are the same.

    Words that tools and people use for the same thing have one stem, too.
    """
    cut = re.sub(r"(?<=\w{3})(?:ies|y|ing|ed|es|(?<!s)s|e)$", "", word.lower().rstrip(".-/"))
    return _ALIKE.get(cut, cut)


@_kept
def stems(text: str) -> frozenset[str]:
    """Return the stems of the words that carry meaning, parts of paths and names among them."""
    words = set(_WORD.findall(text))
    names = [word for word in words if not word.isalpha()]
    words.update(part for name in names for part in re.split(r"[/_.@-]", name) if len(part) > 1 and part.isalpha())
    percentiles = {f"p{''.join(found) or 50}" for found in _PERCENTILE.findall(text)}
    return frozenset({stem(word) for word in words if word and word.lower() not in STOP} | percentiles)


@_kept
def words_of(text: str) -> frozenset[str]:
    """Return the stems and the whole numbers of a text."""
    numbers = re.findall(r"(?<![\w.,-])\d+(?:,\d{3})*(?!\d|[.,]\d)", text)
    return stems(text) | {number.replace(",", "") for number in numbers} | set(_JOINED.findall(text))


def figures(text: str) -> Iterator[Figure]:
    """Every number in a text with its unit, without versions, dates, times and ids."""
    for found in _NUMBER.finditer(text):
        number, unit = found["n"], found["u"] or ""
        if not number.isdigit():
            decimal_comma = re.search(r"\..*,", number)
            number = number.replace(".", "").replace(",", ".") if decimal_comma else re.sub(r"[,'’]", "", number)
        kind, factor = unit_of(unit)
        if len(number) <= 15:
            places = len(number.partition(".")[2])
            yield Figure(float(number) * factor, kind, places, factor, found.start(), found.end(), found[0])


def spelled(text: str) -> Iterator[Figure]:
    """Every number in words, from two on, that a noun follows."""
    for found in _SPELLED.finditer(text):
        noun = re.match(r"\s([^\W\d_]{3,})", text[found.end() :])
        if noun and noun[1].lower() not in STOP and found[1].lower() != "one":
            yield Figure(NUMBERS[found[1].lower()], "", 0, 1.0, found.start(), found.end(), found[1])


def unit_of(name: str) -> tuple[str, float]:
    if name in {"m", "d"}:
        return "time", 60.0 if name == "m" else 86400.0
    return _UNITS.get(name.lower().rstrip("s") if len(name) > 2 else name.lower(), ("", 1.0))


def amount(word: str) -> float:
    """Return the number that digits or a word say."""
    lower = word.lower()
    return NUMBERS.get(lower, 0) if lower[0].isalpha() else float(lower.replace(",", ""))
