"""Quantities in other units, with factors that are exact by definition, and days, as the calendar has them."""

import re
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Final

from mcp_reflect.critique.numbers import matches, read, within_percent, write
from mcp_reflect.critique.work import Finding, Fix, Work

_LONGEST: Final = 10_000  # characters of a step that are read

# What is measured, its system, and units with their factors. A word that means several things (GB) has all of them.
_TABLE: Final = """
length metric: m meter metre 1; km kilometer kilometre 1000; cm centimeter centimetre 0.01
length metric: mm millimeter millimetre 0.001
length foot: in inch inches 0.0254; ft foot feet 0.3048; yd yard 0.9144; mi mile 1609.344
mass metric: kg kilo kilogram 1; g gram 0.001; mg milligram 0.000001; t tonne 1000
mass pound: lb lbs pound 0.45359237; oz ounce 0.028349523125
time time: ms msec millisecond 0.001; s sec second 1; min minute 60; h hr hour 3600; day 86400; week 604800
volume metric: L l liter litre 1; mL ml milliliter millilitre 0.001
speed metric: km/h kmh 1000/3600; m/s 1
speed foot: mph 0.44704
data data: byte B 1; KB kB kilobyte 1000,1024; MB megabyte 1000000,1048576; GB gigabyte 1000000000,1073741824
data data: TB terabyte 1000000000000,1099511627776; KiB 1024; MiB 1048576; GiB 1073741824; TiB 1099511627776
"""
_Unit = tuple[str, str, str, tuple[Fraction, ...]]


def _units() -> Iterator[tuple[str, _Unit]]:
    for line in _TABLE.strip().split("\n"):
        head, _, tail = line.partition(": ")
        measure, system = head.split()
        for names in tail.split("; "):
            *words, factors = names.split()
            unit = words[0], measure, system, tuple(Fraction(factor) for factor in factors.split(","))
            for word in words:
                yield from ((name, unit) for name in (word, f"{word}s" if len(word) > 2 else word))


_UNITS: Final = dict(_units())
_NAMES: Final = "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))
_NUMBER: Final = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+"
_CONVERSION: Final = re.compile(
    rf"(?<![\w.,/^+*×÷−–-])(?<![-+*/×÷] )(?P<first>{_NUMBER})[ -]?(?P<unit>{_NAMES})(?![\w/²³^])"
    r"(?: (?:long|wide|tall|high|deep))?,? ?"
    rf"(?P<sign>=|≈|→|\b(?:is|are|equals?|makes|which is|that is|comes to|converts to)\b|"
    r"\((?=[^)]*\))) ?(?:or |just |exactly )?"
    r"(?P<about>(?:about|approximately|approx\.?|roughly|around|nearly|almost|some|~|≈) ?)?"
    rf"(?P<second>{_NUMBER})[ -]?(?P<target>{_NAMES})(?![\w/²³^])(?P<behind> ?\S*(?: ?\d)?)"
)
_COMPOUND: Final = re.compile(rf"\d ?(?:{_NAMES})(?:,? and|,| plus| minus| times)? $")
_SUM_BEHIND: Final = re.compile(
    r"\s*(?:[+−*/×÷]|-\s|(?:plus|minus|times|per|an?|each)\b|more|less|longer|of\b|from\b|away)"
)
_OTHER: Final = re.compile(
    r"\b(?:scale[sd]?|map|model|drawing|work(?:ing|day|week)?s?|business|shift|school|per (?:day|week|person)|ratio|"
    r"wrong|incorrect|false|not|mistak\w+|suppose|exchange|worth)\b",
    re.IGNORECASE,
)


def unit_name(label: str) -> str | None:
    """Return the first name of a unit, None for a word that is not one."""
    unit = _UNITS.get(label) or (_UNITS.get(label.lower()) if len(label) > 2 else None)
    return unit[0] if unit else None


def check_units(work: Work) -> Iterator[Finding]:
    """Check conversions; sums are for arithmetic."""
    for number, step in enumerate(work.steps, start=1):
        for found in _CONVERSION.finditer(step[:_LONGEST]):
            if (finding := _judged(number, step, found)) is not None:
                yield finding


def _judged(number: int, step: str, found: re.Match[str]) -> Finding | None:
    first, target = _UNITS[found["unit"]], _UNITS[found["target"]]
    given, stated = read(found["first"]), read(found["second"])
    # "3 km (2 km uphill)" names a part.
    part = found["sign"] == "(" and not found["behind"].startswith(")")
    if first[1] != target[1] or first[0] == target[0] or given is None or stated is None or part:
        return None
    if _COMPOUND.search(step[max(0, found.start() - 30) : found.start()]):
        return None  # the second part of "6 ft 2 in"
    if _SUM_BEHIND.match(found["behind"]) or _OTHER.search(step[max(0, found.start() - 60) : found.end() + 40]):
        return None
    about = found["sign"] == "≈" or found["about"] is not None
    values = [given[0] * one / other for one in first[3] for other in target[3]]
    if first[2] == target[2]:
        rulings = [matches(value, *stated, about=about) for value in values]
    else:  # between systems factors are rounded: up to 1 % they agree, up to 10 % they prove nothing
        half = Fraction(1, 2) / Fraction(10) ** stated[1]
        percent = 3 if abs(values[0] - stated[0]) <= half else 1
        is_near = [within_percent(values[0], stated[0], most) for most in (percent, 10)]
        rulings = [True if is_near[0] else None if is_near[1] else False]
    claim = step[found.start() : found.end("target")]
    if True in rulings:
        return Finding(step=number, wrong=False, claim=claim)
    if None in rulings:
        return None
    text = write(values[0], found["second"])
    fix = Fix(start=found.start("second"), end=found.end("second"), text=text)
    detail = f"{found['first']} {found['unit']} is {text} {found['target']}"
    return Finding(step=number, wrong=True, claim=claim, expected=text, detail=detail, fix=fix)


_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_SMALL: Final = tuple("zero one two three four five six seven eight nine ten eleven twelve".split())
_MONTH: Final = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
_DATE: Final = (
    rf"(?:[12]\d{{3}}-\d\d-\d\d|\d{{1,2}}(?:st|nd|rd|th)?\.? (?:of )?{_MONTH},? [12]\d{{3}}|"
    rf"{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? [12]\d{{3}})(?![\w-])"
)
_DAY: Final = rf"(?:{'|'.join(_WEEKDAYS)}|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b)"
_SPAN: Final = rf"(?:\d{{1,6}}|{'|'.join(_SMALL)}) (?:days?|weeks?)"
_IS: Final = r",? ?(?:is|was|will be|falls on|fell on|lands on|=|→|:)(?: on)?(?: an?)? "
_FROM_TO: Final = (
    rf"(?:from|between) (?P<date>{_DATE}) (?:to|until|till|and) (?P<last>{_DATE}),? ?"
    rf"(?:is|are|=|lasts|takes|makes|there are) (?:exactly )?(?P<right>{_SPAN})"
    r"(?= ?(?:$|[.,;:!)]|in (?:all|total)|later|inclusive|so\b|because|which))"
)
_REFUTED: Final = re.compile(
    r"\b(?:wrong|incorrect\w*|false|invalid|reject\w*|error|mistak\w+|suppose|if it were|raises?|bad|example|not|"
    r"instead of|rather than|bug|typo|working|business|week\s?days)\b",
    re.IGNORECASE,
)


def _date(text: str) -> date | None:
    """Return the day, None where the calendar has no such day. Dates without a year are not read."""
    words = re.findall(r"\d+|[A-Za-z]{3,}", text)
    form = "%d %b %Y" if words[1][0].isalpha() else "%b %d %Y" if words[0][0].isalpha() else "%Y %m %d"
    try:
        return datetime.strptime(" ".join(word[:3] if word[0].isalpha() else word for word in words), form).date()  # noqa: DTZ007
    except ValueError:
        return None


def _days(text: str) -> int:
    count, unit = text.split(" ")
    number = _SMALL.index(count.lower()) if count.lower() in _SMALL else int(count)
    return number * (7 if unit.startswith("week") else 1)


def _weekday(found: re.Match[str], day: date) -> str:
    right = _WEEKDAYS[day.weekday()]
    return found["right"] if right.startswith(found["right"].capitalize()[:3]) else right


def _between(found: re.Match[str], day: date) -> str | None:
    last = _date(found["last"])
    if last is None:
        return None
    apart, weeks = abs((last - day).days), "week" in found["right"]
    if _days(found["right"]) in (apart, apart + 1) or (weeks and apart % 7):  # both ends may be counted
        return found["right"]
    return f"{apart // 7} weeks" if weeks else f"{apart} day{'' if apart == 1 else 's'}"


def _after(found: re.Match[str], day: date) -> str | None:
    days = _days(found["span"]) * (-1 if found["sign"].lower() in ("before", "minus", "-", "−") else 1)
    try:
        right = day + timedelta(days=days)
    except OverflowError:
        return None
    return found["right"] if _date(found["right"]) == right else right.isoformat()


_LAWS: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str], date], str | None]], ...]] = tuple(
    (re.compile(rf"(?<![\w-]){pattern}", re.IGNORECASE), law)
    for pattern, law in (
        (rf"(?P<date>{_DATE})(?:{_IS}| \()(?P<right>{_DAY})", _weekday),
        (rf"(?P<right>{_DAY}),?(?: the)? (?P<date>{_DATE})", _weekday),
        (
            _FROM_TO,
            _between,
        ),
        (rf"(?P<span>{_SPAN}) (?P<sign>after|from|before|past) (?P<date>{_DATE}){_IS}(?P<right>{_DATE})", _after),
        (rf"(?P<date>{_DATE}) (?P<sign>plus|minus|\+|-|−) (?P<span>{_SPAN}){_IS}(?P<right>{_DATE})", _after),
    )
)


def check_dates(work: Work) -> Iterator[Finding]:
    """Check what the calendar decides: days of the week, the days between dates, and that there is such a day."""
    for number, step in enumerate(work.steps, start=1):
        text = step[:_LONGEST]
        for found in re.finditer(rf"(?<![\w-]){_DATE}", text):
            if _date(found[0]) is None and not _REFUTED.search(text[max(0, found.start() - 60) : found.end() + 60]):
                yield Finding(step=number, wrong=True, claim=found[0], detail="there is no such day")
        for pattern, law in _LAWS if re.search(r"[12]\d{3}", text) else ():
            for found in pattern.finditer(text):
                day = _date(found["date"])
                right = law(found, day) if day else None
                near, behind = text[max(0, found.start() - 40) : found.end() + 40], text[found.end() : found.end() + 4]
                if right is None or _REFUTED.search(near) or behind.startswith((" or ", "?")):
                    continue
                wrong = right != found["right"]
                fix = Fix(start=found.start("right"), end=found.end("right"), text=right) if wrong else None
                yield Finding(step=number, wrong=wrong, claim=found[0], expected=right if wrong else None, fix=fix)
