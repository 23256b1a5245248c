"""Units with their factors, and quantities in prose."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import NamedTuple

from mcp_reflect.checkers.arithmetic.numerals import VULGAR, read

# Units and their factors.
#
# Factors are exact by definition: the international yard and pound of 1959 (1 in = 2.54 cm, 1 lb =
# 453.59237 g), the SI brochure, IEC 80000-13 for KiB. Where one word means several things (ton, gallon,
# cup, GB, month) all of them are kept, and a claim is right if it is right for one.


class Unit(NamedTuple):
    """`factors` turn one of it into metres, kilograms, seconds, bytes, … ; `family` groups what converts exactly.

    `dimension` is the exponents of (length, mass, time, data, temperature, energy, pressure).
    """

    name: str
    dimension: tuple[int, ...]
    factors: tuple[Fraction, ...]
    family: str

    @property
    def factor(self) -> Fraction:
        return self.factors[0]


_LENGTH = (1, 0, 0, 0, 0, 0, 0)
_MASS = (0, 1, 0, 0, 0, 0, 0)
TIME = (0, 0, 1, 0, 0, 0, 0)
_DATA = (0, 0, 0, 1, 0, 0, 0)
TEMPERATURE = (0, 0, 0, 0, 1, 0, 0)
_ENERGY = (0, 0, 0, 0, 0, 1, 0)
_PRESSURE = (0, 0, 0, 0, 0, 0, 1)
_AREA = (2, 0, 0, 0, 0, 0, 0)
_VOLUME = (3, 0, 0, 0, 0, 0, 0)
_SPEED = (1, 0, -1, 0, 0, 0, 0)
_RATE = (0, 0, -1, 1, 0, 0, 0)

_FOOT = Fraction(3048, 10_000)
_MILE = _FOOT * 5280
_POUND = Fraction(45_359_237, 10**8)
_GALLON = Fraction(3_785_411_784, 10**12)
_IMPERIAL = Fraction(454_609, 10**8)
_DAY = 86_400


def _volumes(share: int) -> tuple[Fraction, ...]:
    return (_GALLON / share, _IMPERIAL / share)


# names with commas | dimension | factors | family
_ROWS: tuple[tuple[str, tuple[int, ...], tuple[Fraction, ...], str], ...] = (
    ("m meter meters metre metres", _LENGTH, (Fraction(1),), "metric"),
    ("km kilometer kilometers kilometre kilometres kms", _LENGTH, (Fraction(1000),), "metric"),
    ("cm centimeter centimeters centimetre centimetres", _LENGTH, (Fraction(1, 100),), "metric"),
    ("dm decimeter decimeters decimetre decimetres", _LENGTH, (Fraction(1, 10),), "metric"),
    ("mm millimeter millimeters millimetre millimetres", _LENGTH, (Fraction(1, 1000),), "metric"),
    ("µm μm micrometer micrometers micron microns", _LENGTH, (Fraction(1, 10**6),), "metric"),
    ("nm nanometer nanometers", _LENGTH, (Fraction(1, 10**9),), "metric"),
    ("in inch inches", _LENGTH, (_FOOT / 12,), "foot"),
    ("ft foot feet", _LENGTH, (_FOOT,), "foot"),
    ("yd yard yards yds", _LENGTH, (_FOOT * 3,), "foot"),
    ("mi mile miles", _LENGTH, (_MILE,), "foot"),
    ("kg kilogram kilograms kilo kilos kgs kilogramme kilogrammes", _MASS, (Fraction(1),), "metric"),
    ("g gram grams gramme grammes", _MASS, (Fraction(1, 1000),), "metric"),
    ("mg milligram milligrams", _MASS, (Fraction(1, 10**6),), "metric"),
    ("µg μg mcg microgram micrograms", _MASS, (Fraction(1, 10**9),), "metric"),
    ("t tonne tonnes", _MASS, (Fraction(1000),), "metric"),
    ("ton tons", _MASS, (_POUND * 2000, Fraction(1000), _POUND * 2240), "pound"),
    ("lb lbs pound pounds", _MASS, (_POUND,), "pound"),
    ("oz ounce ounces", _MASS, (_POUND / 16,), "pound"),
    ("stone", _MASS, (_POUND * 14,), "pound"),
    ("ns nanosecond nanoseconds", TIME, (Fraction(1, 10**9),), "time"),
    ("µs μs us microsecond microseconds", TIME, (Fraction(1, 10**6),), "time"),
    ("ms msec millisecond milliseconds", TIME, (Fraction(1, 1000),), "time"),
    ("s sec secs second seconds", TIME, (Fraction(1),), "time"),
    ("min mins minute minutes", TIME, (Fraction(60),), "time"),
    ("h hr hrs hour hours", TIME, (Fraction(3600),), "time"),
    ("d day days", TIME, (Fraction(_DAY),), "time"),
    ("week weeks wk wks", TIME, (Fraction(7 * _DAY),), "time"),
    ("fortnight fortnights", TIME, (Fraction(14 * _DAY),), "time"),
    (
        "month months",
        TIME,
        (
            Fraction(487, 16) * _DAY,
            Fraction(30 * _DAY),
            Fraction(31 * _DAY),
            Fraction(28 * _DAY),
            Fraction(365, 12) * _DAY,
        ),
        "year",
    ),
    (
        "year years yr yrs",
        TIME,
        (Fraction(1461, 4) * _DAY, Fraction(365 * _DAY), Fraction(366 * _DAY), Fraction(360 * _DAY)),
        "year",
    ),
    ("decade decades", TIME, (Fraction(14610, 4) * _DAY,), "year"),
    ("century centuries", TIME, (Fraction(146100, 4) * _DAY,), "year"),
    ("byte bytes B", _DATA, (Fraction(1),), "data"),
    ("bit bits", _DATA, (Fraction(1, 8),), "data"),
    ("°C celsius", TEMPERATURE, (Fraction(1),), "temperature"),
    ("°F fahrenheit", TEMPERATURE, (Fraction(5, 9),), "temperature"),
    ("K kelvin kelvins °K", TEMPERATURE, (Fraction(1),), "temperature"),
    ("L l liter liters litre litres", _VOLUME, (Fraction(1, 1000),), "metric"),
    ("mL ml milliliter milliliters millilitre millilitres", _VOLUME, (Fraction(1, 10**6),), "metric"),
    ("dL dl deciliter deciliters", _VOLUME, (Fraction(1, 10**4),), "metric"),
    ("cL cl centiliter centiliters", _VOLUME, (Fraction(1, 10**5),), "metric"),
    ("gal gallon gallons", _VOLUME, _volumes(1), "gallon"),
    ("qt quart quarts", _VOLUME, _volumes(4), "gallon"),
    ("pt pint pints", _VOLUME, _volumes(8), "gallon"),
    ("cup cups", _VOLUME, (_GALLON / 16, Fraction(24, 10**5), Fraction(25, 10**5)), "gallon"),
    ("tbsp tablespoon tablespoons", _VOLUME, (_GALLON / 256, Fraction(15, 10**6)), "gallon"),
    ("tsp teaspoon teaspoons", _VOLUME, (_GALLON / 768, Fraction(5, 10**6)), "gallon"),
    ("ha hectare hectares", _AREA, (Fraction(10_000),), "metric"),
    ("acre acres", _AREA, (_FOOT**2 * 43_560,), "foot"),
    ("mph", _SPEED, (_MILE / 3600,), "foot"),
    ("kph kmh kmph", _SPEED, (Fraction(1000, 3600),), "metric"),
    ("knot knots", _SPEED, (Fraction(1852, 3600),), "metric"),
    ("J joule joules", _ENERGY, (Fraction(1),), "metric"),
    ("kJ kilojoule kilojoules", _ENERGY, (Fraction(1000),), "metric"),
    ("MJ megajoule megajoules", _ENERGY, (Fraction(10**6),), "metric"),
    ("Wh", _ENERGY, (Fraction(3600),), "metric"),
    ("kWh", _ENERGY, (Fraction(3_600_000),), "metric"),
    ("cal", _ENERGY, (Fraction(4184, 1000), Fraction(4186, 1000)), "calorie"),
    ("kcal", _ENERGY, (Fraction(4184), Fraction(4186)), "calorie"),
    ("Pa pascal pascals", _PRESSURE, (Fraction(1),), "metric"),
    ("hPa mbar", _PRESSURE, (Fraction(100),), "metric"),
    ("kPa", _PRESSURE, (Fraction(1000),), "metric"),
    ("MPa", _PRESSURE, (Fraction(10**6),), "metric"),
    ("bar bars", _PRESSURE, (Fraction(10**5),), "metric"),
    ("atm atmospheres", _PRESSURE, (Fraction(101_325),), "atmosphere"),
)
_DATA_PREFIXES = (("k", "kilo"), ("m", "mega"), ("g", "giga"), ("t", "tera"), ("p", "peta"))


def _data() -> dict[str, Unit]:
    """kB is 1,000 or 1,024 bytes, KiB 1,024; bits and rates likewise."""
    made: dict[str, Unit] = {}
    for power, (letter, word) in enumerate(_DATA_PREFIXES, 1):
        big = letter.upper()
        either = (Fraction(1000) ** power, Fraction(1024) ** power)
        bits = tuple(factor / 8 for factor in either)
        names = (f"{big}B", f"{letter}B", f"{word}byte", f"{word}bytes")
        made |= {name: Unit(f"{big}B", _DATA, either, "data") for name in names}
        names = (f"{big}bit", f"{letter}bit", f"{big}b", f"{letter}b", f"{word}bit", f"{word}bits")
        made |= {name: Unit(f"{big}bit", _DATA, bits, "data") for name in names if name not in {"mb", "gb", "tb", "pb"}}
        names = (f"{big}bps", f"{letter}bps")
        made |= {name: Unit(f"{big}bit/s", _RATE, bits[:1], "data") for name in names}
        made[f"{big}iB"] = Unit(f"{big}iB", _DATA, either[1:], "data")
    return made


UNITS: dict[str, Unit] = {
    name: Unit(names.split()[0], dimension, factors, family)
    for names, dimension, factors, family in _ROWS
    for name in names.split()
} | _data()
_BY_LOWER = {name.lower(): unit for name, unit in UNITS.items() if len(name) > 2}
_POWERS = {"²": 2, "³": 3, "^2": 2, "^3": 3, "^{2}": 2, "^{3}": 3}


def simple(name: str) -> Unit | None:
    """The unit of one word or symbol; long words in any case, symbols only as they are written."""
    return UNITS.get(name) or _BY_LOWER.get(name.lower())


def compound(text: str) -> Unit | None:
    """`km`, `m²`, `square feet`, `km/h`, `feet per second`: one unit, perhaps raised, perhaps over another."""
    top, slash, bottom = text.replace(" per ", "/").partition("/")
    above = _raised(top.strip())
    if not slash:
        return above
    below = _raised(bottom.strip())
    if above is None or below is None:
        return None
    dimension = tuple(a - b for a, b in zip(above.dimension, below.dimension, strict=True))
    factors = tuple(a / b for a in above.factors for b in below.factors[:1])
    return Unit(f"{above.name}/{below.name}", dimension, factors, above.family)


def _raised(text: str) -> Unit | None:
    power, name = 1, text
    first, _, rest = text.partition(" ")
    if first.lower() in {"square", "sq", "sq.", "cubic", "cu"} and rest:
        power, name = 2 if first.lower().startswith("sq") else 3, rest
    else:
        for mark, value in _POWERS.items():
            if text.endswith(mark):
                power, name = value, text.removesuffix(mark)
                break
    unit = simple(name.strip())
    if unit is None or power == 1:
        return unit
    dimension = tuple(part * power for part in unit.dimension)
    return Unit(f"{unit.name}^{power}", dimension, tuple(factor**power for factor in unit.factors), unit.family)


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
    """Context of one dimension, largest unit first: 2 hours 30 minutes is two."""

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
