"""Days of the week and differences of days, as the calendar has them. Dates without a year say nothing."""

import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from typing import Final

from mcp_reflect.critique.work import Finding, Fix, Work

_MONTHS: Final = tuple("January February March April May June July August September October November December".split())
_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_SMALL: Final = tuple("zero one two three four five six seven eight nine ten eleven twelve".split())
_MONTH: Final = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
_ISO: Final = r"[12]\d{3}-\d\d-\d\d"
_DATE: Final = (
    rf"(?:{_ISO}|\d{{1,2}}(?:st|nd|rd|th)?\.? (?:of )?{_MONTH},? [12]\d{{3}}|"
    rf"{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? [12]\d{{3}})(?![\w-])"
)
_DAY: Final = rf"(?:{'|'.join(_WEEKDAYS)}|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b)"
_SPAN: Final = rf"(?:\d{{1,6}}|{'|'.join(_SMALL)}) (?:days?|weeks?)"
_FROM_TO: Final = rf"(?:from|between) (?P<first>{_DATE}) (?:to|until|till|and) (?P<last>{_DATE})"
_IS: Final = r",? ?(?:is|was|will be|falls on|fell on|lands on|=|→|:)(?: on)?(?: an?)? "
_LASTS: Final = r",? ?(?:is|are|=|lasts|takes|makes|there are) (?:exactly )?"
_END: Final = r"(?= ?(?:$|[.,;:!)]|in (?:all|total)|later|inclusive|so\b|because|which))"
_REFUTED: Final = re.compile(
    r"\b(?:wrong|incorrect\w*|false|invalid|reject\w*|error|mistak\w+|suppose|if it were|raises?|bad|example|not|"
    r"instead of|rather than|bug|typo|working|business|week\s?days)\b",
    re.IGNORECASE,
)


def _date(text: str) -> date | None:
    try:
        if re.fullmatch(_ISO, text):
            return date.fromisoformat(text)
        month = next((place for place, name in enumerate(_MONTHS, start=1) if name[:3].lower() in text.lower()), 0)
        day, year = re.findall(r"\d+", text)
        return date(int(year), month, int(day))
    except ValueError:
        return None


def _days(text: str) -> int:
    count, unit = text.split(" ")
    number = _SMALL.index(count.lower()) if count.lower() in _SMALL else int(count)
    return number * (7 if unit.startswith("week") else 1)


def _write(day: date, like: str) -> str:
    if re.fullmatch(_ISO, like):
        return day.isoformat()
    name = _MONTHS[day.month - 1]
    return f"{day.day} {name} {day.year}" if like[0].isdigit() else f"{name} {day.day}, {day.year}"


def _weekday(found: re.Match[str]) -> str | None:
    day = _date(found["date"])
    return None if day is None else _WEEKDAYS[day.weekday()][: None if found["right"].endswith("day") else 3]


def _between(found: re.Match[str]) -> str | None:
    first, last = _date(found["first"]), _date(found["last"])
    if first is None or last is None:
        return None
    apart, said = abs((last - first).days), _days(found["right"])
    weeks = "week" in found["right"]
    if said == apart + 1 or (weeks and apart % 7):  # both ends may be counted
        return found["right"]
    return f"{apart // 7} weeks" if weeks else f"{apart} day{'' if apart == 1 else 's'}"


def _after(found: re.Match[str]) -> str | None:
    day = _date(found["date"])
    sign = -1 if found["sign"].lower() in {"before", "minus", "-", "−"} else 1
    try:
        return None if day is None else _write(day + timedelta(days=sign * _days(found["span"])), found["right"])
    except OverflowError:
        return None


_LAWS: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str | None]], ...]] = tuple(
    (re.compile(rf"(?<![\w-]){pattern}", re.IGNORECASE), law)
    for pattern, law in (
        (rf"(?P<date>{_DATE}){_IS}(?P<right>{_DAY})", _weekday),
        (rf"(?P<right>{_DAY}),?(?: the)? (?P<date>{_DATE})", _weekday),
        (rf"(?P<date>{_DATE}) \((?P<right>{_DAY})\)", _weekday),
        (
            rf"{_FROM_TO}{_LASTS}(?P<right>{_SPAN}){_END}",
            _between,
        ),
        (
            rf"(?P<span>{_SPAN}) (?P<sign>after|from|before|past) (?P<date>{_DATE}){_IS}(?P<right>{_DATE})",
            _after,
        ),
        (rf"(?P<date>{_DATE}) (?P<sign>plus|minus|\+|-|−) (?P<span>{_SPAN}){_IS}(?P<right>{_DATE})", _after),
    )
)


def check_dates(work: Work) -> Iterator[Finding]:
    """Check what the calendar decides."""
    for number, step in enumerate(work.steps, start=1):
        text = step[:10_000]
        for found in re.finditer(rf"(?<![\w-]){_DATE}", text):
            if _date(found[0]) is None and not _REFUTED.search(text[max(0, found.start() - 60) : found.end() + 60]):
                yield Finding(step=number, wrong=True, claim=found[0], detail="there is no such day")
        for pattern, law in _LAWS if re.search(r"[12]\d{3}", text) else ():
            for found in pattern.finditer(text):
                right, said = law(found), found["right"]
                near = text[max(0, found.start() - 40) : found.end() + 40]
                if (
                    right is None
                    or _REFUTED.search(near)
                    or text[found.end() : found.end() + 4].startswith((" or ", "?"))
                ):
                    continue
                if _same(right, said):
                    yield Finding(step=number, wrong=False, claim=found[0])
                else:
                    fix = Fix(start=found.start("right"), end=found.end("right"), text=right)
                    yield Finding(step=number, wrong=True, claim=found[0], expected=right, fix=fix)


def _same(right: str, said: str) -> bool:
    if re.fullmatch(_DATE, said, re.IGNORECASE):
        return _date(right) == _date(said)
    if re.fullmatch(_SPAN, said, re.IGNORECASE):
        return _days(right) == _days(said)
    return right.lower() == said.lower()
