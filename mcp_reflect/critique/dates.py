"""Days, as the calendar has them."""

import re
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from typing import Final

from mcp_reflect.critique.work import Finding, Fix, Work

_LONGEST: Final = 10_000  # characters of a step that are read

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
