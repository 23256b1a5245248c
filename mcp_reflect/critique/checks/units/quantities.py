"""Finding quantities in prose: `2 hours 30 minutes`, `12.5 MB/s`, `-40 °C`, `1,250 square feet`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

from mcp_reflect.critique.checks.arithmetic.numerals import VULGAR, read
from mcp_reflect.critique.checks.units.table import UNITS, Unit, compound

MAX_CHARACTERS = 10_000  # per step
MAX_PARTS = 800  # per step
_NAMES = "|".join(sorted((re.escape(name) for name in UNITS), key=len, reverse=True))
_NAME = (
    rf"(?:{_NAMES}|Celsius|Fahrenheit|Kelvin|Kilometers?|Miles?|GIB|degrees? (?:Celsius|Fahrenheit|[CF]\b)|° ?[CFK])"
)
_END = r"(?![A-Za-z0-9_µ°])"
_ONE = rf"(?:(?:square|sq\.?|cubic) )?{_NAME}{_END}(?:\^\{{?[23]\}}?|[²³])?"
_QUANTITY = re.compile(
    rf"(?<![\w.,/^-])(?P<sign>[-−–]?)(?P<number>(?:\d{{1,3}}(?:,\d{{3}})+|\d+)(?:\.\d+)?|\.\d+)"
    rf"(?P<half>[½¼¾]?)[ \u00a0-]?(?P<unit>{_ONE}(?: ?/ ?{_ONE}| per {_ONE})?)"
)
_JOINED = re.compile(r"(?:,? and |, ?| )?")
_PROSE_IN = re.compile(r" (?!long|wide|tall|high|deep|of )[a-z]")


@dataclass(frozen=True, slots=True)
class Part:
    """One number with its unit; `number_start` to `number_end` is the number with its sign."""

    value: Fraction
    decimals: int
    unit: Unit
    start: int
    end: int
    number_start: int
    number_end: int


@dataclass(frozen=True, slots=True)
class Quantity:
    """Parts of one dimension, largest unit first: 2 hours 30 minutes is two."""

    parts: tuple[Part, ...]

    @property
    def start(self) -> int:
        return self.parts[0].start

    @property
    def end(self) -> int:
        return self.parts[-1].end

    @property
    def dimension(self) -> tuple[int, ...]:
        return self.parts[0].unit.dimension

    def amounts(self) -> list[Fraction]:
        """The amount in metres, kilograms, seconds, … for each meaning of its units."""
        meanings = max(len(part.unit.factors) for part in self.parts)
        return [
            sum((p.value * p.unit.factors[min(k, len(p.unit.factors) - 1)] for p in self.parts), Fraction(0))
            for k in range(meanings)
        ]


def quantities(text: str) -> Iterator[Quantity]:
    """The quantities of a step in their order, compounds put together."""
    pending: list[Part] = []
    for part in _parts(text[:MAX_CHARACTERS]):
        if pending and _continues(text, pending[-1], part):
            pending.append(part)
            continue
        if pending:
            yield Quantity(tuple(pending))
        pending = [part]
    if pending:
        yield Quantity(tuple(pending))


def _parts(text: str) -> Iterator[Part]:
    for match in islice(_QUANTITY.finditer(text), MAX_PARTS):
        unit, parsed = _unit(match["unit"]), read(match["number"])
        if unit is None or parsed is None:
            continue
        if match["unit"] == "in" and _PROSE_IN.match(text, match.end()):
            continue
        value = parsed[0] + (VULGAR[match["half"]] if match["half"] else 0)
        start = match.start("number")
        if match["sign"] and (match["sign"] != "–" or not match.start() or text[match.start() - 1].isspace()):
            value, start = -value, match.start()
        yield Part(value, parsed[1], unit, start, match.end(), start, match.end("half"))


def _unit(text: str) -> Unit | None:
    if text.lower().startswith("degree") or text[0] == "°":
        return UNITS.get("K" if text[-1] == "K" else "°F" if "F" in text else "°C")
    return compound(text.replace(" / ", "/").replace(" /", "/").replace("/ ", "/"))


def _continues(text: str, before: Part, part: Part) -> bool:
    between = text[before.end : part.start]
    smaller = part.unit.factor < before.unit.factor and before.unit.family in {part.unit.family, "time"}
    return (
        _JOINED.fullmatch(between) is not None
        and part.unit.dimension == before.unit.dimension
        and smaller
        and part.value >= 0
        and before.decimals == 0
        and part.value * part.unit.factor < before.unit.factor
    )
