"""Reads the things in a row and what is said of their order."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_NUMBERS = {
    word: number
    for number, word in enumerate(["one", "two", "three", "four", "five", "six", "seven", "eight"], start=1)
}
_ORDINALS = {
    word: number
    for number, word in enumerate(
        ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"], start=1
    )
} | {"1st": 1, "2nd": 2, "3rd": 3, "4th": 4, "5th": 5, "6th": 6, "7th": 7, "8th": 8}
_FEWEST, _MOST = 2, 8


@dataclass(frozen=True, slots=True)
class Constraint:
    """`item` stands before `other`, or on `place` (0 is the low end). Exactly one of the two is given."""

    item: int
    other: int | None = None
    place: int | None = None

    def items(self) -> tuple[int, ...]:
        """The items it speaks of."""
        return (self.item,) if self.other is None else (self.item, self.other)

    def holds(self, places: Sequence[int]) -> bool:
        """Whether it is true where item i stands on `places[i]`."""
        if self.other is not None:
            return places[self.item] < places[self.other]
        return places[self.item] == self.place


@dataclass(frozen=True, slots=True)
class Row:
    """The things, in the words of the puzzle, and for each the words that tell it from the others."""

    items: tuple[str, ...]
    marks: tuple[re.Pattern[str], ...]

    def mentions(self, text: str) -> list[int]:
        """The items that the text names, in the order in which it names them, again where it repeats one."""
        found = [(match.start(), item) for item, mark in enumerate(self.marks) for match in mark.finditer(text)]
        return [item for _, item in sorted(found)]


_ITEMS = re.compile(
    r"\b(two|three|four|five|six|seven|eight|[2-8]) [a-z][a-z ]{1,40}: ([^.:\n]{3,400})\.", re.IGNORECASE
)
_SPLIT = re.compile(r",\s*(?:and\s+)?|(?<!\s)\s+and\s+")
_ARTICLE = re.compile(r"^(?:an?|the) ", re.IGNORECASE)


def read_row(text: str) -> tuple[Row | None, list[Constraint]]:
    """The row and every constraint; no row where a sentence after the list of things is not understood."""
    found = _ITEMS.search(text[:5_000])
    if found is None:
        return None, []
    items = [_ARTICLE.sub("", part.strip()) for part in _SPLIT.split(found[2]) if part.strip()]
    wanted = _NUMBERS.get(found[1].lower()) or int(found[1])
    if len(items) != wanted or not _FEWEST <= wanted <= _MOST or len(set(items)) != wanted:
        return None, []
    row = _row(items)
    constraints: list[Constraint] = []
    for sentence in re.split(r"(?<=\.)\s+", text[found.end() : found.end() + 5_000].strip()):
        if not sentence.strip():
            continue
        constraint = read_constraint(sentence, row)
        if constraint is None:
            return None, []
        constraints.append(constraint)
    return row, constraints


def _row(items: list[str]) -> Row:
    shared = set(items[0].lower().split())
    for item in items[1:]:
        shared &= set(item.lower().split())
    marks: list[re.Pattern[str]] = []
    for item in items:
        own = [word for word in item.lower().split() if word not in shared] or item.lower().split()
        stem = r"\s+".join(re.escape(word) for word in own)
        marks.append(re.compile(rf"(?<![\w-]){stem}(?![\w-])", re.IGNORECASE))
    return Row(tuple(items), tuple(marks))


_ORDINAL = "|".join(_ORDINALS)
_BEFORE = re.compile(
    r"\b(?:to the left of|left of|above|ahead of|before|older than|cheaper than|less expensive than|taller than|"
    r"faster than|"
    r"heavier than|bigger than|larger than|earlier than)\b",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"\b(?:to the right of|right of|below|behind|after|newer than|younger than|more expensive than|shorter than|"
    r"slower than|"
    r"lighter than|smaller than|later than|pricier than)\b",
    re.IGNORECASE,
)
_FROM_LOW = re.compile(
    rf"\b({_ORDINAL})(?: \w+)?[- ]from[- ](?:the )?(?:left|top)\b|\bfinished ({_ORDINAL})\b(?![- ](?:to|from))|"
    rf"\b(?:({_ORDINAL})[- ])?(oldest|cheapest|least expensive|leftmost|tallest)\b",
    re.IGNORECASE,
)
_FROM_HIGH = re.compile(
    rf"\b({_ORDINAL})(?: \w+)?[- ]from[- ](?:the )?(?:right|bottom)\b|\b({_ORDINAL})[- ](?:to|"
    rf"from)[- ](?:the[- ])?last\b|"
    rf"\b(?:({_ORDINAL})[- ])?(newest|most expensive|rightmost|youngest|shortest|finished last)\b",
    re.IGNORECASE,
)
_NO_PLACE = re.compile(r"\b(?:more|less) expensive\b", re.IGNORECASE)


def read_constraint(sentence: str, row: Row) -> Constraint | None:
    """The one thing a sentence says of one or two items; None where it says none, more, or something else."""
    named = row.mentions(sentence)
    before, after = _BEFORE.findall(sentence), _AFTER.findall(sentence)
    low, high = list(_FROM_LOW.finditer(sentence)), list(_FROM_HIGH.finditer(sentence))
    if len(set(named)) == 2 and len(named) == 2 and len(before) + len(after) == 1 and not low and not high:
        mark = (_BEFORE if before else _AFTER).search(sentence)
        starts = [row.marks[item].search(sentence) for item in named]
        if mark and starts[0] and starts[1] and starts[0].start() < mark.start() < starts[1].start():
            return Constraint(named[0], other=named[1]) if before else Constraint(named[1], other=named[0])
        return None
    if len(set(named)) == 1 and len(low) + len(high) == 1 and not before and not after:
        found = (low or high)[0]
        nth = next((_ORDINALS[group.lower()] for group in found.groups() if group and group.lower() in _ORDINALS), 1)
        if nth > len(row.items):
            return None
        return Constraint(named[0], place=nth - 1 if low else len(row.items) - nth)
    return None
