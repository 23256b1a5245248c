"""Days of the week, differences and additions of dates.

A step becomes a skeleton in which each date, weekday and span is one private character, so that a claim is a
short pattern: `N after D is D`.
"""

import re
from bisect import bisect_left
from calendar import monthrange
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import islice
from typing import Final

from mcp_reflect.checkers.base import Finding, Fix, Work
from mcp_reflect.models.critique import Status

_MAX_CHARACTERS: Final = 10_000  # per step
_MAX_MENTIONS: Final = 400  # per step
# Private-use characters: no text has them, and those that do lose them here.
_KINDS: Final = dict(zip("DWN", "\ue000\ue001\ue002", strict=True))
_PRIVATE: Final = re.compile("[\ue000-\ue002]")
_MONTHS: Final = tuple("January February March April May June July August September October November December".split())
_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_SMALL: Final = tuple("a one two three four five six seven eight nine ten eleven twelve".split())
_MONTH: Final = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|"
    r"Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
_UNITS: Final = {"day": (1, 0), "week": (7, 0), "month": (0, 1), "year": (0, 12)}  # days and months
_UNIT: Final = "|".join(_UNITS)
_SCANNER: Final = re.compile(
    rf"""
    (?<![\w.])(?:
      (?P<iso>[12]\d{{3}}-\d\d-\d\d)(?![\w-])
    | (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\ (?:of\ )?(?P<month>{_MONTH})\.?,?\ (?P<year>[12]\d{{3}})(?![\w-])
    | (?P<month2>{_MONTH})\.?\ (?P<day2>\d{{1,2}})(?:st|nd|rd|th)?,?\ (?P<year2>[12]\d{{3}})(?![\w-])
    | (?P<weekday>(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs?)?|Fri|Sat(?:ur)?|Sun)(?:day)?)(?![\w-])
    | (?P<count>\d{{1,6}}|(?:{"|".join(_SMALL)})(?=\ ))[\ -]?(?P<unit>{_UNIT})s?(?!\w)
      (?:,?\ (?:and\ )?(?P<count2>\d{{1,3}})\ (?P<unit2>{_UNIT})s?(?!\w))?
    )
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Mention:
    """One mention at `start` to `end`.

    `kind` is a letter: D date, W weekday, N span. `day` of a date (None where the calendar has no such day);
    `days` and `months` of a span, `unit` where it has one only; `number` is a weekday from 0 (Monday).
    """

    kind: str
    text: str
    start: int
    end: int
    day: date | None = None
    days: int = 0
    months: int = 0
    number: int = 0
    unit: str = ""


def _mention(match: re.Match[str]) -> Mention | None:
    place = (match[0], match.start(), match.end())
    day, month, year = match["day"] or match["day2"], match["month"] or match["month2"], match["year"] or match["year2"]
    if match["iso"]:
        parts = [int(part) for part in match["iso"].split("-")]
        return Mention("D", *place, day=_date(*parts)) if 1 <= parts[1] <= 12 and 1 <= parts[2] <= 31 else None
    if day:
        number = next(i for i, name in enumerate(_MONTHS, 1) if name.startswith(month[:3]))
        return Mention("D", *place, day=_date(int(year), number, int(day)))
    if match["weekday"]:
        number = next(i for i, name in enumerate(_WEEKDAYS) if name.startswith(match["weekday"][:3]))
        return Mention("W", *place, number=number)
    spans = [(match["count"], match["unit"]), (match["count2"], match["unit2"])][: 2 if match["count2"] else 1]
    counts = [(max(1, _SMALL.index(count)) if count in _SMALL else int(count), *_UNITS[unit]) for count, unit in spans]
    days, months = (sum(count[0] * count[each] for count in counts) for each in (1, 2))
    return Mention("N", *place, days=days, months=months, unit="" if match["count2"] else match["unit"])


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _skeleton(step: str) -> tuple[str, list[Mention], list[int]]:
    """Return the text with one character per mention, the mentions, and the place of each in that text."""
    text = _PRIVATE.sub(" ", step[:_MAX_CHARACTERS])
    parts: list[str] = []
    mentions: list[Mention] = []
    places: list[int] = []
    length = position = 0
    for match in islice(_SCANNER.finditer(text), _MAX_MENTIONS):
        if mention := _mention(match):
            between = text[position : match.start()].lower()
            parts += [between, _KINDS[mention.kind]]
            places.append(length + len(between))
            mentions.append(mention)
            length += len(between) + 1
            position = match.end()
    return "".join([*parts, text[position:].lower()]), mentions, places


def _write_date(day: date, like: str) -> str:
    if like[:4].isdigit():
        return day.isoformat()
    name = _MONTHS[day.month - 1]
    return f"{day.day} {name} {day.year}" if like[0].isdigit() else f"{name} {day.day}, {day.year}"


class DatesChecker:
    """Checks what the calendar decides; says nothing of dates without a year."""

    name = "dates"

    def check(self, work: Work) -> Iterable[Finding]:
        return [finding for number, step in enumerate(work.steps, 1) for finding in _findings(number, step)]


_HINT: Final = re.compile(r"\d{4}")
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
            yield Finding(step=number, status=Status.FAIL, claim=mention.text, detail="there is no such day")
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
                yield Finding(step=number, status=Status.FAIL, claim=claim, expected=right, fix=fix)


def _of_kind(found: list[Mention], kind: str) -> list[Mention]:
    return [mention for mention in found if mention.kind == kind]


def _weekday_of(_text: str, found: list[Mention]) -> _Ruling:
    (dated,), (named,) = _of_kind(found, "D"), _of_kind(found, "W")
    if dated.day is None:
        return None
    right = _WEEKDAYS[dated.day.weekday()][: None if named.text.endswith("day") else 3]
    return dated.day.weekday() == named.number, named, right


def _between(text: str, found: list[Mention]) -> _Ruling:
    (span,), (first, second) = _of_kind(found, "N"), _of_kind(found, "D")
    if first.day is None or second.day is None:
        return None
    if span.months:
        months = abs((second.day.year - first.day.year) * 12 + second.day.month - first.day.month)
        return (True, span, None) if first.day.day == second.day.day and months == span.months else None
    apart = abs((second.day - first.day).days)
    if not span.unit or apart % _UNITS[span.unit][0]:
        return None
    holds = span.days == apart or (span.days == apart + 1 and "between" not in text)  # both ends counted
    return holds, span, re.sub(r"^\d+|^[a-z]+", str(apart // _UNITS[span.unit][0]), span.text)


def _add(text: str, found: list[Mention]) -> _Ruling:
    (span,), (source, target) = _of_kind(found, "N"), _of_kind(found, "D")
    if source.day is None or target.day is None:
        return None
    sign = -1 if re.search(r" before| prior|minus| [-−] |earlier", text) else 1
    try:
        year, index = divmod(source.day.year * 12 + source.day.month - 1 + sign * span.months, 12)
        start = date(year, index + 1, min(source.day.day, monthrange(year, index + 1)[1]))
        right = start + timedelta(days=sign * span.days)
    except (ValueError, OverflowError):
        return None
    return right == target.day, target, _write_date(right, target.text)


_IS: Final = r"(?: ?=| ?→|:| is| was| will be| would be| gives| equals| falls on| fell on| lands on| comes to| makes)"
_LASTS: Final = r"(?: ?=| is| are| was| makes| spans| lasts| takes| comes to)"
# Behind a span: nothing that makes it a part of something else, as in `5 days off`.
_CLOSED: Final = (
    r"(?= ?(?:$|[.,;:!)\]\n]|in all|in total|total|altogether|inclusive|including|counting|long|"
    r"and\b|so\b|because|which))"
)
# D date, W weekday, N span; small letters and signs stand for themselves.
_LAWS: Final[tuple[tuple[re.Pattern[str], Callable[[str, list[Mention]], _Ruling]], ...]] = tuple(
    (re.compile(re.sub(r"[DWN]", lambda letter: _KINDS[letter[0]], pattern)), law)
    for pattern, law in (
        (r"W,?(?: the)? D|D \(W\)|W \(D\)", _weekday_of),
        (r"D,? (?:is|was|will be|falls on|fell on|lands on|=)(?: on)?(?: an?)? W|D, an? W", _weekday_of),
        (rf"(?:from )?D (?:to|until|till|through|–) D(?:,|{_LASTS})(?: exactly)? N{_CLOSED}", _between),
        (r"there (?:are|is|were|was)(?: exactly)? N (?:between|from) D (?:and|to|until) D", _between),
        (rf"between D and D(?:{_LASTS}|,? there (?:are|is))(?: exactly)? N{_CLOSED}", _between),
        (rf"N (?:after|from|before|past|later than|prior to) D{_IS}(?: on)?(?: W,?)? D", _add),
        (rf"D (?:plus|minus|\+|-|−) N{_IS}(?: W,?)? D", _add),
        (r"D[^DN.]{0,20}\b(?:due in N(?: is|:|,| on| ?=| →)|in N is) D", _add),
    )
)
