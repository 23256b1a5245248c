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
from typing import Final

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
_ZONES: Final[dict[str, int]] = dict(
    zip("UTC GMT Z PST PDT EST EDT CET CEST JST".split(), (0, 0, 0, -480, -420, -300, -240, 60, 120, 540), strict=True)
)
_MONTH: Final = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|"
    r"Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
_MINUTES: Final = {
    "second": Fraction(1, 60),
    "minute": Fraction(1),
    "hour": Fraction(60),
    "day": Fraction(_DAY),
    "week": Fraction(7 * _DAY),
}
_UNIT: Final = "|".join((*_MINUTES, "month", "year"))
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
    | (?P<count>\d{{1,6}}(?:\.\d{{1,2}})?|(?:{"|".join(_SMALL[1:])})(?=\ ))[\ -]?(?P<unit>{_UNIT})s?(?!\w)
      (?:,?\ (?:and\ )?(?P<count2>\d{{1,3}})\ (?P<unit2>{_UNIT})s?(?!\w))?
    )
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Mention:
    """One mention at `start` to `end`.

    `kind` is a letter: D date, T time, W weekday, N span. `day` of a date or timestamp (None where the calendar
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
        number = next(i for i, name in enumerate(_MONTHS, 1) if name.startswith(month[:3]))
        return Mention("D", *place, day=_date(int(year), number, int(day)))
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
    if unit in _MINUTES:
        return number * _MINUTES[unit], 0
    return Fraction(0), int(number * (12 if unit == "year" else 1))


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _skeleton(text: str) -> tuple[str, list[Mention], list[int]]:
    """Return the text with one character per mention, the mentions, and the place of each in that text."""
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
    return "".join([*parts, _clean(text[position:])]), mentions, places


def _clean(text: str) -> str:
    """Lower case letter by letter, so that no place moves."""
    return "".join(c.lower() if c.isascii() else " " if "\ue000" <= c <= "\ue003" else c for c in text)


def _write_date(day: date, like: str) -> str:
    if like[:4].isdigit():
        return day.isoformat()
    name = _MONTHS[day.month - 1]
    return f"{day.day} {name} {day.year}" if like[0].isdigit() else f"{name} {day.day}, {day.year}"


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
    text, mentions, places = _skeleton(step) if _HINT.search(step, 0, _MAX_CHARACTERS) else ("", [], [])
    for mention, place in zip(mentions, places, strict=True):
        missing = mention.kind == "D" and mention.day is None
        if missing and not _REFUTED.search(text[max(0, place - 60) : place + 60]):
            detail = f"{mention.text}: there is no such day"
            yield Finding(step=number, status=Status.FAIL, claim=mention.text, detail=detail)
    taken: set[int] = set()
    for pattern, law in _LAWS if len(mentions) > 1 else ():
        for match in pattern.finditer(text):
            first, last = bisect_left(places, match.start()), bisect_left(places, match.end())
            found = mentions[first:last]
            if found[-1].start in taken or text[match.end() : match.end() + 4].startswith((" or ", "?")):
                continue
            ruling = law(match[0], found)
            if ruling is None:
                continue
            taken.add(found[-1].start)
            holds, wrong, right = ruling
            claim = step[found[0].start : found[-1].end]
            if holds:
                yield Finding(step=number, status=Status.PASS, claim=claim)
            elif not _REFUTED.search(text[max(0, match.start() - 40) : match.end() + 40]):
                fix = Fix(start=wrong.start, end=wrong.end, text=right) if right else None
                detail = f"{claim[:200]}: {right} would be right" if right else f"{claim[:200]} does not hold"
                yield Finding(step=number, status=Status.FAIL, claim=claim, expected=right, detail=detail, fix=fix)


def _of_kind(found: list[Mention], kinds: str) -> list[Mention]:
    return [mention for mention in found if mention.kind in kinds]


def _weekday_of(_text: str, found: list[Mention]) -> _Ruling:
    (dated,), (named,) = _of_kind(found, "D"), _of_kind(found, "W")
    if dated.day is None:
        return None
    right = _WEEKDAYS[dated.day.weekday()][: None if named.text.endswith("day") else 3]
    return dated.day.weekday() == named.number, named, right


def _same_clock(first: Mention, second: Mention) -> bool:
    """True if two moments are both dates of the calendar, or both times of day with one offset."""
    if first.kind == second.kind == "D":
        return first.day is not None and second.day is not None
    return first.kind == second.kind and first.offset == second.offset and not first.day and not second.day


def _between(text: str, found: list[Mention]) -> _Ruling:
    (span,), (first, second) = _of_kind(found, "N"), _of_kind(found, "DT")
    if not _same_clock(first, second):
        return None
    if first.day and second.day:
        if span.months:
            months = abs((second.day.year - first.day.year) * 12 + second.day.month - first.day.month)
            return (True, span, None) if first.day.day == second.day.day and months == span.months else None
        apart = Fraction(abs((second.day - first.day).days) * _DAY)
        if span.unit not in {"day", "week"} or apart % _MINUTES[span.unit]:
            return None
        holds = span.minutes == apart or (span.minutes == apart + _DAY and "between" not in text)  # both ends counted
    elif span.months or not span.minutes:
        return None
    else:
        apart = (second.minutes - first.minutes) % _DAY
        holds = apart == span.minutes or (first.twelve and second.twelve and (apart - span.minutes) % 720 == 0)
    if span.unit in {"day", "week", "minute"}:
        number = apart / _MINUTES[span.unit]
        return holds, span, re.sub(r"^[\d.]+|^[a-z]+", str(number), span.text) if number.denominator == 1 else None
    hours, rest = divmod(apart, 60)
    right = f"{hours} hour{'' if hours == 1 else 's'}{f' {rest} minutes' if rest else ''}"
    return holds, span, right if rest.denominator == 1 else None


def _add(text: str, found: list[Mention]) -> _Ruling:
    (span,), (source, target) = _of_kind(found, "N"), _of_kind(found, "DT")
    sign = -1 if re.search(r" before| prior|minus| [-−] |earlier", text) else 1
    if not _same_clock(source, target):
        return None
    if source.day:
        if span.minutes % _DAY:
            return None
        try:
            year, index = divmod(source.day.year * 12 + source.day.month - 1 + sign * span.months, 12)
            start = date(year, index + 1, min(source.day.day, monthrange(year, index + 1)[1]))
            right = start + timedelta(days=sign * int(span.minutes / _DAY))
        except (ValueError, OverflowError):
            return None
        return right == target.day, target, _write_date(right, target.text)
    if span.months:
        return None
    apart = source.minutes + sign * span.minutes - target.minutes
    holds = apart % (_DAY // 2 if source.twelve and target.twelve else _DAY) == 0
    return holds, target, _write_time(target.minutes + apart, target.text)


def _same_moment(_text: str, found: list[Mention]) -> _Ruling:
    first, second = found
    if first.offset is None or second.offset is None or first.offset == second.offset:
        return None
    right = first.minutes - first.offset + second.offset
    days = (first.day - second.day).days * _DAY if first.day and second.day else 0
    apart = right - second.minutes + days
    holds = apart == 0 if first.day and second.day else apart % _DAY == 0
    return holds, second, _write_time(right, second.text)


_IS: Final = r"(?: ?=| ?→|:| is| was| will be| would be| gives| equals| falls on| fell on| lands on| comes to| makes)"
_LASTS: Final = r"(?: ?=| is| are| was| makes| spans| lasts| takes| comes to)"
# Behind a span: nothing that makes it a part of something else, as in `5 days off`, `30 minutes each`.
_CLOSED: Final = (
    r"(?= ?(?:$|[.,;:!)\]\n]|in all|in total|total|altogether|inclusive|including|counting|long|"
    r"and\b|so\b|because|which))"
)
# D date, T time, M either, W weekday, N span; small letters and signs stand for themselves.
_LAWS: Final[tuple[tuple[re.Pattern[str], Callable[[str, list[Mention]], _Ruling]], ...]] = tuple(
    (re.compile(re.sub(r"[DTWN]", lambda letter: _KINDS[letter[0]], pattern.replace("M", "[DT]"))), law)
    for pattern, law in (
        (r"W,?(?: the)? D|D \(W\)|W \(D\)", _weekday_of),
        (r"D,? (?:is|was|will be|falls on|fell on|lands on|=)(?: on)?(?: an?)? W|D, an? W", _weekday_of),
        (rf"(?:from )?M (?:to|until|till|through|–) M(?:,|{_LASTS})(?: exactly)? N{_CLOSED}", _between),
        (r"there (?:are|is|were|was)(?: exactly)? N (?:between|from) M (?:and|to|until) M", _between),
        (rf"between M and M(?:{_LASTS}|,? there (?:are|is))(?: exactly)? N{_CLOSED}", _between),
        (rf"N (?:after|from|before|past|later than|prior to) M{_IS}(?: on)?(?: W,?)? M", _add),
        (rf"M (?:plus|minus|\+|-|−) N{_IS}(?: W,?)? M", _add),
        (r"D[^DN.]{0,20}\b(?:due in N(?: is|:|,| on| ?=| →)|in N is) D", _add),
        (
            r"at T[^TND.]{0,40}\b(?:takes|lasts) N[^TND.]{0,12}\b(?:arriv|end|finish|until|over|land)\w*(?: at)? T",
            _add,
        ),
        (r"T(?: ?=| is| equals| ?\(| i\.e\.| corresponds to) ?T", _same_moment),
    )
)
