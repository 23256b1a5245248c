"""Units with their factors, and quantities in prose.

Factors are exact by definition: the international yard and pound of 1959 (1 in = 2.54 cm, 1 lb = 453.59237 g), the SI
brochure, IEC 80000-13 for KiB. Where one word means several things (GB, month) all of them are kept,
and a claim is right if it is right for one.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from mcp_reflect.checkers.arithmetic.numerals import read


class Unit(NamedTuple):
    """`factors` turn one of it into metres, kilograms, seconds, bytes, … ; `family` groups what converts exactly.

    `dimension` is the exponents of the table below.
    """

    name: str
    dimension: tuple[int, ...]
    factors: tuple[Fraction, ...]
    family: str

    @property
    def factor(self) -> Fraction:
        return self.factors[0]


# The exponents of (length, mass, time, data, temperature).
TEMPERATURE: Final = (0, 0, 0, 0, 1)
_DIMENSIONS: Final = {
    "length": (1, 0, 0, 0, 0),
    "volume": (3, 0, 0, 0, 0),
    "speed": (1, 0, -1, 0, 0),
    "mass": (0, 1, 0, 0, 0),
    "time": (0, 0, 1, 0, 0),
    "data": (0, 0, 0, 1, 0),
    "rate": (0, 0, -1, 1, 0),
    "temperature": TEMPERATURE,
}
_TABLE: Final = Path(__file__).with_name("units.txt")
"""A line has dimension, family, factors with commas, names; "~" stands for a name with and without the plural's s."""


def _units() -> Iterator[tuple[str, Unit]]:
    for line in _TABLE.read_text(encoding="utf-8").splitlines():
        head, _, tail = line.partition(": ")
        dimension, family, factors = head.split()
        values = tuple(Fraction(factor) for factor in factors.split(","))
        names = re.sub(r"(\w+)~", r"\1 \1s", tail).split()
        yield from ((name, Unit(names[0], _DIMENSIONS[dimension], values, family)) for name in names)


UNITS: Final = dict(_units())
_BY_LOWER: Final = {name.lower(): unit for name, unit in UNITS.items() if len(name) > 2}
_POWERS: Final = {"²": 2, "³": 3, "^2": 2, "^3": 3, "^{2}": 2, "^{3}": 3}


def compound(text: str) -> Unit | None:
    """Return the unit of `km`, `m²`, `km/h`, `feet per second`; None where it is none."""
    top, slash, bottom = text.replace(" per ", "/").partition("/")
    above, below = _raised(top.strip()), _raised(bottom.strip())
    if not slash or above is None or below is None:
        return None if slash else above
    dimension = tuple(a - b for a, b in zip(above.dimension, below.dimension, strict=True))
    return Unit(f"{above.name}/{below.name}", dimension, tuple(a / below.factor for a in above.factors), above.family)


def _raised(text: str) -> Unit | None:
    """Long names stand in any case, symbols only as they are written."""
    mark = next((mark for mark in _POWERS if text.endswith(mark)), "")
    power, name = _POWERS.get(mark, 1), text.removesuffix(mark).strip()
    unit = UNITS.get(name) or _BY_LOWER.get(name.lower())
    if unit is None or power == 1:
        return unit
    dimension = tuple(part * power for part in unit.dimension)
    return Unit(f"{unit.name}^{power}", dimension, tuple(factor**power for factor in unit.factors), unit.family)


_MAX_CHARACTERS: Final = 10_000  # per step
_MAX_PARTS: Final = 800  # per step
_NAMES: Final = "|".join(sorted((re.escape(name) for name in UNITS), key=len, reverse=True))
_ONE: Final = rf"(?:{_NAMES})(?![A-Za-z0-9_µ°])(?:\^\{{?[23]\}}?|[²³])?"
_QUANTITY: Final = re.compile(
    r"(?<![\w.,/^−–-])(?P<number>(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+)"
    rf"[ \u00a0-]?(?P<unit>{_ONE}(?: ?/ ?{_ONE}| per {_ONE})?)"
)
_JOINED: Final = re.compile(r"(?:,? and |, ?| )?")
_PROSE_IN: Final = re.compile(r" (?!long|wide|tall|high|deep|of )[a-z]")


@dataclass(frozen=True, slots=True)
class Part:
    """One number with its unit; `start` to `number_end` is the number."""

    value: Fraction
    decimals: int
    unit: Unit
    start: int
    end: int
    number_end: int


@dataclass(frozen=True, slots=True)
class Quantity:
    """Parts of one dimension, largest unit first: 2 hours 30 minutes is two."""

    parts: tuple[Part, ...]
    dimension: tuple[int, ...]
    start: int
    end: int

    def amounts(self) -> list[Fraction]:
        """Return the amount in metres, kilograms, seconds, … for each meaning of its units."""
        meanings = max(len(part.unit.factors) for part in self.parts)
        return [
            sum((p.value * p.unit.factors[min(k, len(p.unit.factors) - 1)] for p in self.parts), Fraction(0))
            for k in range(meanings)
        ]


def quantities(text: str) -> Iterator[Quantity]:
    """The quantities of a step in their order, compounds put together."""
    groups: list[list[Part]] = []
    for part in _parts(text[:_MAX_CHARACTERS]):
        if groups and _continues(text, groups[-1][-1], part):
            groups[-1].append(part)
        else:
            groups.append([part])
    for parts in groups:
        yield Quantity(tuple(parts), parts[0].unit.dimension, parts[0].start, parts[-1].end)


def _parts(text: str) -> Iterator[Part]:
    for match in islice(_QUANTITY.finditer(text), _MAX_PARTS):
        name, parsed = match["unit"], read(match["number"])
        unit = compound(re.sub(r" ?/ ?", "/", name))
        if unit and parsed and not (name == "in" and _PROSE_IN.match(text, match.end())):
            yield Part(*parsed, unit, match.start(), match.end(), match.end("number"))


def _continues(text: str, before: Part, part: Part) -> bool:
    """True for the second of "2 hours 30 minutes"."""
    return (
        _JOINED.fullmatch(text, before.end, part.start) is not None
        and part.unit.dimension == before.unit.dimension
        and part.unit.factor < before.unit.factor
        and before.unit.family in {part.unit.family, "time"}
        and before.decimals == 0
        and 0 <= part.value * part.unit.factor < before.unit.factor
    )
