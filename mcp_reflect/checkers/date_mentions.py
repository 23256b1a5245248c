"""Dates, times, weekdays, years and durations in prose."""

import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from itertools import islice

# Finding dates, times, weekdays, years and durations in prose.
#
# A step becomes a skeleton in which each mention is one capital letter of a private alphabet, so that a
# claim is a short pattern: `N after D is D`.


MAX_CHARACTERS = 10_000  # per step
MAX_MENTIONS = 400  # per step
# Private-use characters: no text has them, and those that do lose them here.
DATE, TIME, WEEKDAY, SPAN, YEAR, MONTH = "\ue000", "\ue001", "\ue002", "\ue003", "\ue004", "\ue005"

MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|"
    r"Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
_ZONES = {
    "UTC": 0,
    "GMT": 0,
    "Z": 0,
    "PST": -480,
    "PDT": -420,
    "EST": -300,
    "EDT": -240,
    "CET": 60,
    "CEST": 120,
    "JST": 540,
}
_OFFSET = (
    r"(?:\ ?(?:\(?(?:UTC|GMT)\ ?)?(?P<offset>[+\-−]\d{1,2}(?::?\d\d)?)\b"
    r"|\ ?(?P<zone>UTC|GMT|Z|PST|PDT|EST|EDT|CET|CEST|JST)\b)?"
)
_UNITS = "second|minute|hour|day|week|month|year"
_SMALL = ("a", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_SCANNER = re.compile(
    rf"""
    (?<![\w.])(?:
      (?P<stamp>\d{{4}}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{{1,9}})?)?(?:Z|[+\-]\d\d:?\d\d))(?!\w)
    | (?P<iso>[12]\d{{3}}-\d\d-\d\d)(?![\w-])
    | (?P<day1>\d{{1,2}})(?:st|nd|rd|th)?\ (?:of\ )?(?P<month1>{_MONTH})\.?,?\ (?P<year1>[12]\d{{3}})(?![\w-])
    | (?P<month2>{_MONTH})\.?\ (?P<day2>\d{{1,2}})(?:st|nd|rd|th)?,?\ (?P<year2>[12]\d{{3}})(?![\w-])
    | (?P<month3>{_MONTH})(?:\ (?P<year3>[12]\d{{3}}))?(?![\w-]|\.?\ \d)
    | (?P<clock>\d{{1,2}}):(?P<minute>\d\d)(?::(?P<second>\d\d))?(?!\d)(?:\ ?(?P<half>[AaPp])\.?[Mm]\b\.?)?{_OFFSET}
    | (?P<weekday>(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs?)?|Fri|Sat(?:ur)?|Sun)(?:day)?)(?![\w-])
    | (?P<count>\d{{1,6}}(?:\.\d{{1,2}})?|(?:{"|".join(_SMALL)})(?=\ ))[\ -]?(?P<unit>{_UNITS})s?(?!\w)
      (?:,?\ (?:and\ )?(?P<count2>\d{{1,3}})\ (?P<unit2>{_UNITS})s?(?!\w))?
    | (?P<year>[12]\d{{3}})(?![\w-]|[.,]\d|:)
    )
    """,
    re.VERBOSE,
)
_MINUTES = {
    "second": Fraction(1, 60),
    "minute": Fraction(1),
    "hour": Fraction(60),
    "day": Fraction(1440),
    "week": Fraction(10080),
}


@dataclass(frozen=True, slots=True)
class Mention:
    """One mention at `start` to `end`.

    `day` of a date (None where the calendar has no such day); `minutes` since midnight, or of a span;
    `offset` in minutes east of UTC; `months` of a span that is not a number of days; `number` is a
    weekday from 0 (Monday), a year, or a month from 1 with its `year` in `number2`.
    """

    text: str
    start: int
    end: int
    day: date | None = None
    minutes: Fraction = Fraction(0)
    offset: int | None = None
    months: int = 0
    number: int = 0
    number2: int = 0
    unit: str = ""
    twelve: bool = False


@dataclass(frozen=True, slots=True)
class Skeleton:
    """The text with one character per mention; `mentions[i]` is the i-th of them, at `places[i]`."""

    text: str
    mentions: tuple[Mention, ...]
    places: tuple[int, ...]

    def inside(self, match: re.Match[str]) -> list[Mention]:
        """The mentions that a pattern covers, in order."""
        return list(self.mentions[bisect_left(self.places, match.start()) : bisect_left(self.places, match.end())])


def skeleton(text: str) -> Skeleton:
    text = text[:MAX_CHARACTERS]
    parts: list[str] = []
    mentions: list[Mention] = []
    places: list[int] = []
    length = position = 0
    for match in islice(_SCANNER.finditer(text), MAX_MENTIONS):
        kind, mention = _mention(match)
        if mention is None:
            continue
        between = _clean(text[position : match.start()])
        parts += [between, kind]
        length += len(between)
        places.append(length)
        mentions.append(mention)
        length += 1
        position = match.end()
    parts.append(_clean(text[position:]))
    return Skeleton("".join(parts), tuple(mentions), tuple(places))


def _clean(text: str) -> str:
    """Lower case letter by letter, so that no place moves."""
    if text.isascii():
        return text.lower()
    return "".join(c.lower() if c.isascii() else " " if "\ue000" <= c <= "\ue005" else c for c in text)


def _mention(match: re.Match[str]) -> tuple[str, Mention | None]:
    for group, (kind, read) in _READERS.items():
        if match[group] is not None:
            return kind, read(match)
    return "", None


def _place(match: re.Match[str]) -> tuple[str, int, int]:
    return match[0], match.start(), match.end()


def _stamp(match: re.Match[str]) -> Mention | None:
    text = match["stamp"]
    day, _, clock = text.partition("T")
    tail = clock[5:].lstrip(":0123456789.")
    offset = 0 if tail in {"Z", ""} else _offset(tail)
    minutes = Fraction(int(clock[:2]) * 60 + int(clock[3:5]))
    if clock[5:6] == ":":
        minutes += Fraction(int(clock[6:8]), 60)
    known = _day(*map(int, day.split("-")))
    return Mention(*_place(match), day=known, minutes=minutes, offset=offset) if known else None


def _iso(match: re.Match[str]) -> Mention | None:
    year, month, day = map(int, match["iso"].split("-"))
    if not (1 <= month <= len(MONTHS) and 1 <= day <= 31):
        return None
    return Mention(*_place(match), day=_day(year, month, day))


def _day_first(match: re.Match[str]) -> Mention:
    return Mention(*_place(match), day=_day(int(match["year1"]), _month(match["month1"]), int(match["day1"])))


def _month_first(match: re.Match[str]) -> Mention:
    return Mention(*_place(match), day=_day(int(match["year2"]), _month(match["month2"]), int(match["day2"])))


def _month_alone(match: re.Match[str]) -> Mention:
    return Mention(*_place(match), number=_month(match["month3"]), number2=int(match["year3"] or 0))


def _clock(match: re.Match[str]) -> Mention | None:
    hour, minute, half = int(match["clock"]), int(match["minute"]), (match["half"] or "").lower()
    if hour > 23 or minute > 59 or (half and not 1 <= hour <= 12):
        return None
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    offset = _offset(match["offset"]) if match["offset"] else _ZONES.get(match["zone"] or "")
    minutes = Fraction(hour * 60 + minute) + Fraction(int(match["second"] or 0), 60)
    return Mention(*_place(match), minutes=minutes, offset=offset, twelve=not half and hour <= 12)


def _weekday(match: re.Match[str]) -> Mention:
    number = next(i for i, name in enumerate(WEEKDAYS) if name.startswith(match["weekday"][:3]))
    return Mention(*_place(match), number=number)


def _span(match: re.Match[str]) -> Mention:
    count = _SMALL.index(match["count"]) if match["count"] in _SMALL else None
    number = Fraction(max(1, count)) if count is not None else Fraction(match["count"])
    minutes, months = _amount(number, match["unit"])
    if match["count2"]:
        more, more_months = _amount(Fraction(match["count2"]), match["unit2"])
        minutes, months = minutes + more, months + more_months
    unit = match["unit"] if not match["count2"] else ""
    return Mention(*_place(match), minutes=minutes, months=months, unit=unit)


def _amount(number: Fraction, unit: str) -> tuple[Fraction, int]:
    if unit in _MINUTES:
        return number * _MINUTES[unit], 0
    return Fraction(0), int(number * (12 if unit == "year" else 1))


def _year(match: re.Match[str]) -> Mention:
    return Mention(*_place(match), number=int(match["year"]))


_READERS: dict[str, tuple[str, Callable[[re.Match[str]], Mention | None]]] = {
    "stamp": (TIME, _stamp),
    "iso": (DATE, _iso),
    "month1": (DATE, _day_first),
    "month2": (DATE, _month_first),
    "month3": (MONTH, _month_alone),
    "clock": (TIME, _clock),
    "weekday": (WEEKDAY, _weekday),
    "count": (SPAN, _span),
    "year": (YEAR, _year),
}


def _month(name: str) -> int:
    return next(i for i, month in enumerate(MONTHS, 1) if month.startswith(name[:3].lower()))


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _offset(text: str) -> int:
    sign, digits = (1 if text[0] == "+" else -1), text[1:].replace(":", "")
    hours, minutes = (digits, "0") if len(digits) < 3 else (digits[:-2], digits[-2:])
    return sign * (int(hours) * 60 + int(minutes))


_DAY = re.compile(r"\d{1,2}(st|nd|rd|th)?")


def write_date(day: date, like: str) -> str:
    if like[:4].isdigit():
        return day.isoformat()
    name = MONTHS[day.month - 1].capitalize()
    words = re.findall(r"[A-Za-z]{3,9}", like)
    if words and len(words[0]) <= 3 and name != "May":
        name = name[:3]
    shown = _DAY.search(like)
    number = f"{day.day}{_ordinal(day.day)}" if shown and shown[1] else str(day.day)
    if like[0].isdigit():
        return f"{number} {'of ' if ' of ' in like else ''}{name} {day.year}"
    return f"{name} {number}, {day.year}" if "," in like else f"{name} {number} {day.year}"


def _ordinal(number: int) -> str:
    if 11 <= number <= 13:
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


def write_weekday(number: int, like: str) -> str:
    name = WEEKDAYS[number]
    return name if like.lower().endswith("day") else name[:3]


def write_time(minutes: Fraction, like: str) -> str | None:
    """The time of day with what follows it in `like` (zone, AM or PM); None for timestamps with a date."""
    if "T" in like[:11] and "-" in like[:5]:
        return None
    hour, minute = divmod(int(minutes) % 1440, 60)
    tail = re.sub(r"^\d{1,2}:\d\d(?::\d\d)?", "", like)
    half = re.match(r" ?([AaPp])\.?[Mm]", tail)
    if half:
        letter = "p" if hour >= 12 else "a"
        letter = letter.upper() if half[1].isupper() else letter
        at = half.start(1)
        tail = tail[:at] + letter + tail[at + 1 :]
        return f"{(hour - 1) % 12 + 1}:{minute:02}{tail}"
    return f"{hour:02}:{minute:02}{tail}"
