"""Days of the week, differences, additions, and times with offsets.

A step becomes a skeleton in which each date, time, weekday and span is one private character, so that a
claim is a short pattern: `N after D is D`.
"""

import re
from bisect import bisect_left
from calendar import monthrange
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from itertools import islice
from typing import Final, NamedTuple

from mcp_reflect.checkers.base import Finding, Fix, Work
from mcp_reflect.models.critique import Status

_MAX_CHARACTERS: Final = 10_000  # per step
_MAX_MENTIONS: Final = 400  # per step
_DAY: Final = 1440  # minutes
# Private-use characters: no text has them, and those that do lose them here.
_KINDS: Final = dict(zip("DTWN", "\ue000\ue001\ue002\ue003", strict=True))
_MONTHS: Final = tuple("January February March April May June July August September October November December".split())
_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_SMALL: Final = tuple("zero a one two three four five six seven eight nine ten eleven twelve".split())
_ZONES: Final = {
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
_MONTH: Final = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|"
    r"Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
_UNITS: Final = "second|minute|hour|day|week|month|year"
_SCANNER: Final = re.compile(
    rf"""
    (?<![\w.])(?:
      (?P<stamp>\d{{4}}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{{1,6}})?)?(?:Z|[+\-]\d\d:?\d\d))(?!\w)
    | (?P<iso>[12]\d{{3}}-\d\d-\d\d)(?![\w-])
    | (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\ (?:of\ )?(?P<month>{_MONTH})\.?,?\ (?P<year>[12]\d{{3}})(?![\w-])
    | (?P<month2>{_MONTH})\.?\ (?P<day2>\d{{1,2}})(?:st|nd|rd|th)?,?\ (?P<year2>[12]\d{{3}})(?![\w-])
    | (?P<clock>\d{{1,2}}):(?P<minute>\d\d)(?::(?P<second>\d\d))?(?!\d)(?:\ ?(?P<half>[AaPp])\.?[Mm]\b\.?)?
      (?:\ ?(?:\(?(?:UTC|GMT)\ ?)?(?P<offset>[+\-−]\d{{1,2}}(?::?\d\d)?)\b|\ ?(?P<zone>{"|".join(_ZONES)})\b)?
    | (?P<weekday>(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs?)?|Fri|Sat(?:ur)?|Sun)(?:day)?)(?![\w-])
    | (?P<count>\d{{1,6}}(?:\.\d{{1,2}})?|(?:{"|".join(_SMALL[1:])})(?=\ ))[\ -]?(?P<unit>{_UNITS})s?(?!\w)
      (?:,?\ (?:and\ )?(?P<count2>\d{{1,3}})\ (?P<unit2>{_UNITS})s?(?!\w))?
    )
    """,
    re.VERBOSE,
)
_MINUTES: Final = {
    "second": Fraction(1, 60),
    "minute": Fraction(1),
    "hour": Fraction(60),
    "day": Fraction(_DAY),
    "week": Fraction(7 * _DAY),
}


@dataclass(frozen=True, slots=True)
class Mention:
    """One mention at `start` to `end`.

    `kind` is a letter: D date, T time, W weekday, N span. `day` of a date (None where the calendar
    has no such day); `minutes` since midnight, or of a span; `offset` in minutes east of UTC; `months` of a span that
    is not a number of days; `number` is a weekday from 0 (Monday).
    """

    kind: str
    text: str
    start: int
    end: int
    day: date | None = None
    minutes: Fraction = Fraction(0)
    offset: int | None = None
    months: int = 0
    number: int = 0
    unit: str = ""
    twelve: bool = False


def _mention(match: re.Match[str]) -> Mention | None:
    place = (match[0], match.start(), match.end())
    day, month, year = match["day"] or match["day2"], match["month"] or match["month2"], match["year"] or match["year2"]
    if match["stamp"]:
        try:
            moment = datetime.fromisoformat(match["stamp"])
        except ValueError:
            return None
        minutes = Fraction(moment.hour * 60 + moment.minute) + Fraction(moment.second, 60)
        offset = moment.utcoffset() or timedelta()
        return Mention("T", *place, day=moment.date(), minutes=minutes, offset=offset // timedelta(minutes=1))
    if match["iso"]:
        parts = [int(part) for part in match["iso"].split("-")]
        return Mention("D", *place, day=_date(*parts)) if 1 <= parts[1] <= 12 and 1 <= parts[2] <= 31 else None
    if day:
        return Mention("D", *place, day=_date(int(year), _month(month), int(day)))
    if match["clock"]:
        return _clock(match, place)
    if match["weekday"]:
        number = next(i for i, name in enumerate(_WEEKDAYS) if name.startswith(match["weekday"][:3]))
        return Mention("W", *place, number=number)
    minutes, months = _amount(match["count"], match["unit"])
    if match["count2"]:
        more, more_months = _amount(match["count2"], match["unit2"])
        return Mention("N", *place, minutes=minutes + more, months=months + more_months)
    return Mention("N", *place, minutes=minutes, months=months, unit=match["unit"])


def _clock(match: re.Match[str], place: tuple[str, int, int]) -> Mention | None:
    hour, minute, half = int(match["clock"]), int(match["minute"]), (match["half"] or "").lower()
    if hour > 23 or minute > 59 or (half and not 1 <= hour <= 12):
        return None
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    offset = _ZONES.get(match["zone"] or "")
    if written := match["offset"]:
        digits = written[1:].replace(":", "")
        hours, minutes = (digits, "0") if len(digits) < 3 else (digits[:-2], digits[-2:])
        offset = (1 if written[0] == "+" else -1) * (int(hours) * 60 + int(minutes))
    since = Fraction(hour * 60 + minute) + Fraction(int(match["second"] or 0), 60)
    return Mention("T", *place, minutes=since, offset=offset, twelve=not half and hour <= 12)


def _amount(count: str, unit: str) -> tuple[Fraction, int]:
    """Return the minutes and the months of a span."""
    number = Fraction(max(1, _SMALL.index(count) - 1)) if count in _SMALL else Fraction(count)
    return (
        (number * _MINUTES[unit], 0) if unit in _MINUTES else (Fraction(0), int(number * (12 if unit == "year" else 1)))
    )


def _month(name: str) -> int:
    return next(i for i, month in enumerate(_MONTHS, 1) if month.startswith(name[:3]))


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


class _Skeleton(NamedTuple):
    """The text with one character per mention; `mentions[i]` is the i-th of them, at `places[i]`."""

    text: str
    mentions: list[Mention]
    places: list[int]


def _skeleton(text: str) -> _Skeleton:
    text = text[:_MAX_CHARACTERS]
    parts: list[str] = []
    mentions: list[Mention] = []
    places: list[int] = []
    length = position = 0
    for match in islice(_SCANNER.finditer(text), _MAX_MENTIONS):
        if mention := _mention(match):
            between = _clean(text[position : match.start()])
            parts += [between, _KINDS[mention.kind]]
            places.append(length + len(between))
            mentions.append(mention)
            length += len(between) + 1
            position = match.end()
    return _Skeleton("".join([*parts, _clean(text[position:])]), mentions, places)


def _clean(text: str) -> str:
    """Lower case letter by letter, so that no place moves."""
    if text.isascii():
        return text.lower()
    return "".join(c.lower() if c.isascii() else " " if "\ue000" <= c <= "\ue003" else c for c in text)


def _write_date(day: date, like: str) -> str:
    if like[:4].isdigit():
        return day.isoformat()
    words = re.findall(r"[A-Za-z]{3,9}", like)
    name = _MONTHS[day.month - 1][: 3 if words and len(words[0]) <= 3 else None]
    number = str(day.day)
    if re.search(r"\d(?:st|nd|rd|th)", like):
        number += "th" if 11 <= day.day <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10, "th")
    if like[0].isdigit():
        return f"{number} {'of ' if ' of ' in like else ''}{name} {day.year}"
    return f"{name} {number}{',' if ',' in like else ''} {day.year}"


def _write_weekday(number: int, like: str) -> str:
    return _WEEKDAYS[number][: None if like.lower().endswith("day") else 3]


def _write_time(minutes: Fraction, like: str) -> str | None:
    """The time of day with its zone as in `like`; None for timestamps with a date and for AM and PM."""
    if re.search(r"-|[AaPp]\.?[Mm]", like[:10]):
        return None
    hour, minute = divmod(int(minutes) % _DAY, 60)
    tail = re.sub(r"^\d{1,2}:\d\d(?::\d\d)?", "", like)
    return f"{hour:02}:{minute:02}{tail}"


class DatesChecker:
    """Checks what the calendar and the clock decide; says nothing of dates without a year."""

    name = "dates"

    def check(self, work: Work) -> Iterable[Finding]:
        return [finding for number, step in enumerate(work.steps, 1) for finding in _findings(number, step)]


_HINT: Final = re.compile(r"\d{4}|\d:\d\d|days?\b")
_REFUTED: Final = re.compile(
    r"\b(?:wrong|incorrect\w*|false|invalid|reject\w*|error|not exist|no such|mistak\w+|suppose|if it were|"
    r"raises?|bad|example|sample|malformed|instead of|rather than|bug|typo|nonexistent|impossible|fail\w*)\b"
)
# The ruling of a law: None where it is not sure, else if it holds, what is wrong, and what should stand in its place.
_Ruling = tuple[bool, Mention, str | None] | None


def _findings(number: int, step: str) -> Iterator[Finding]:
    bones = _skeleton(step) if _HINT.search(step, 0, _MAX_CHARACTERS) else None
    if bones is None or not bones.mentions:
        return
    for mention, place in zip(bones.mentions, bones.places, strict=True):
        if (
            mention.kind == "D"
            and mention.day is None
            and not _REFUTED.search(bones.text[max(0, place - 60) : place + 60])
        ):
            detail = f"{mention.text}: there is no such day"
            yield Finding(step=number, status=Status.FAIL, claim=mention.text, detail=detail)
    taken: set[int] = set()
    for pattern, law in _LAWS if len(bones.mentions) > 1 else ():
        for match in pattern.finditer(bones.text):
            first, last = bisect_left(bones.places, match.start()), bisect_left(bones.places, match.end())
            found = bones.mentions[first:last]
            if found[-1].start in taken or bones.text[match.end() : match.end() + 4].startswith((" or ", "?")):
                continue
            ruling = law(match[0], found)
            if ruling is None:
                continue
            taken.add(found[-1].start)
            holds, wrong, text = ruling
            claim = step[found[0].start : found[-1].end]
            if holds:
                yield Finding(step=number, status=Status.PASS, claim=claim)
            elif not _REFUTED.search(bones.text[max(0, match.start() - 40) : match.end() + 40]):
                fix = Fix(start=wrong.start, end=wrong.end, text=text) if text else None
                detail = f"{claim[:200]}: {text} would be right" if text else f"{claim[:200]} does not hold"
                yield Finding(step=number, status=Status.FAIL, claim=claim, expected=text, detail=detail, fix=fix)


def _of_kind(found: list[Mention], kind: str) -> list[Mention]:
    return [mention for mention in found if mention.kind == kind]


def _weekday_of(_text: str, found: list[Mention]) -> _Ruling:
    (dated,), (named,) = _of_kind(found, "D"), _of_kind(found, "W")
    if dated.day is None:
        return None
    right = dated.day.weekday()
    return right == named.number, named, _write_weekday(right, named.text)


def _spell(span: Mention, number: Fraction) -> str | None:
    if number.denominator != 1 or not span.text[0].isdigit():
        return None
    return re.sub(r"^[\d.]+", str(number), span.text)


def _between_days(text: str, found: list[Mention]) -> _Ruling:
    (span,) = _of_kind(found, "N")
    first, second = (mention.day for mention in _of_kind(found, "D"))
    if first is None or second is None or not span.unit:
        return None
    days = abs((second - first).days)
    if span.months:
        months = abs((second.year - first.year) * 12 + second.month - first.month)
        return (True, span, None) if first.day == second.day and months == span.months else None
    stated = span.minutes / _DAY
    if span.unit == "week":
        return (stated == days, span, _spell(span, Fraction(days, 7))) if days % 7 == 0 else None
    if span.unit != "day":
        return None
    if stated == days + 1:  # both ends counted
        return (True, span, None) if "from" in text or "to" in text else None
    return stated == days, span, _spell(span, Fraction(days))


def _sign(text: str) -> int:
    return -1 if any(word in text for word in (" before", " prior", "minus", " - ", " − ", "earlier")) else 1


def _add_to_day(text: str, found: list[Mention]) -> _Ruling:
    (span,) = _of_kind(found, "N")
    source, target = _of_kind(found, "D")
    if span.minutes % _DAY or source.day is None or target.day is None:
        return None
    try:
        year, index = divmod(source.day.year * 12 + source.day.month - 1 + _sign(text) * span.months, 12)
        start = date(year, index + 1, min(source.day.day, monthrange(year, index + 1)[1]))
        right = start + timedelta(days=_sign(text) * int(span.minutes / _DAY))
    except (ValueError, OverflowError):
        return None
    return right == target.day, target, _write_date(right, target.text)


def _same_moment(_text: str, found: list[Mention]) -> _Ruling:
    first, second = found
    if first.offset is None or second.offset is None or first.offset == second.offset:
        return None
    right = first.minutes - first.offset + second.offset
    if first.day and second.day:
        same = first.day.toordinal() * _DAY + right == second.day.toordinal() * _DAY + second.minutes
        return same, second, None
    return (right - second.minutes) % _DAY == 0, second, _write_time(right, second.text)


def _between_times(_text: str, found: list[Mention]) -> _Ruling:
    (span,) = _of_kind(found, "N")
    first, second = _of_kind(found, "T")
    if span.months or not span.minutes or first.day or second.day or first.offset != second.offset:
        return None
    apart = (second.minutes - first.minutes) % _DAY
    if apart == span.minutes or (first.twelve and second.twelve and (apart - span.minutes) % 720 == 0):
        return True, span, None
    if span.unit == "minute":
        return False, span, _spell(span, apart)
    hours, rest = divmod(apart, 60)
    text = f"{hours} hour{'' if hours == 1 else 's'}{f' {rest} minutes' if rest else ''}"
    return False, span, text if rest.denominator == 1 else None


def _add_to_time(text: str, found: list[Mention]) -> _Ruling:
    (span,) = _of_kind(found, "N")
    source, target = _of_kind(found, "T")
    if span.months or source.day or source.offset != target.offset:
        return None
    right = (source.minutes + _sign(text) * span.minutes) % _DAY
    if right == target.minutes or (source.twelve and target.twelve and (right - target.minutes) % 720 == 0):
        return True, target, None
    return False, target, _write_time(right, target.text)


_IS: Final = r"(?: ?=| ?→|:| is| was| will be| would be| gives| equals| falls on| fell on| lands on| comes to| makes)"
_LASTS: Final = r"(?: ?=| is| are| was| makes| spans| lasts| takes| comes to)"
# Behind a span: nothing that makes it a part of something else, as in `5 days off`, `30 minutes each`.
_CLOSED: Final = (
    r"(?= ?(?:$|[.,;:!)\]\n]|in all|in total|total|altogether|inclusive|including|counting|long|"
    r"and\b|so\b|because|which))"
)
_ENDS: Final = r"(?:arriv\w*|end\w*|finish\w*|until|done|over|land\w*|stop\w*)"
# D date, T time, W weekday, N span; small letters and signs stand for themselves.
_LAWS: Final[tuple[tuple[re.Pattern[str], Callable[[str, list[Mention]], _Ruling]], ...]] = tuple(
    (re.compile(re.sub(r"(?<!\\)[DTWN]", lambda letter: _KINDS[letter[0]], pattern)), law)
    for pattern, law in (
        (r"W,?(?: the)? D", _weekday_of),
        (r"D,? (?:is|was|will be|falls on|fell on|lands on|=)(?: on)?(?: an?)? W", _weekday_of),
        (r"D \(W\)|W \(D\)", _weekday_of),
        (rf"(?:from )?D (?:to|until|till|through|–) D(?:,|{_LASTS})(?: exactly)? N{_CLOSED}", _between_days),
        (r"there (?:are|is|were|was)(?: exactly)? N (?:between|from) D (?:and|to|until) D", _between_days),
        (rf"between D and D(?:{_LASTS}|,? there (?:are|is))(?: exactly)? N{_CLOSED}", _between_days),
        (rf"N (?:after|from|before|later than|prior to) D{_IS}(?: on)?(?: W,?)? D", _add_to_day),
        (rf"D (?:plus|minus|\+|-|−) N{_IS}(?: W,?)? D", _add_to_day),
        (r"D[^D.N]{0,20}\b(?:due in N(?: is|:|,| on| ?=| →)|in N is) D", _add_to_day),
        (r"T(?: ?=| is| equals| ?\(| i\.e\.| corresponds to) ?T", _same_moment),
        (rf"(?:from )?T (?:to|until|till|–) T(?:,|{_LASTS})(?: exactly)? N{_CLOSED}", _between_times),
        (rf"between T and T(?:{_LASTS}|,? there (?:are|is))(?: exactly)? N{_CLOSED}", _between_times),
        (rf"N (?:after|before|later than|past) T{_IS} T", _add_to_time),
        (rf"T (?:plus|minus|\+|-|−) N{_IS} T", _add_to_time),
        (rf"at T[^TND.]{{0,40}}\b(?:takes|lasts) N[^TND.]{{0,12}}\b{_ENDS}(?: at)? T", _add_to_time),
    )
)
