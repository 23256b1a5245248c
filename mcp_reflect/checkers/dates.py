"""Days of the week, differences, additions, leap years, and times with offsets."""

import re
from calendar import isleap, monthrange
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction

from mcp_reflect.checkers.base import Finding, Fix, Work
from mcp_reflect.checkers.date_mentions import (
    MAX_CHARACTERS,
    Mention,
    Skeleton,
    skeleton,
    write_date,
    write_time,
    write_weekday,
)
from mcp_reflect.models.critique import Status

_DAY = 1440  # minutes
# What a law says of a claim: None is not sure, else whether it holds and what should stand in its place.
_Ruling = tuple[bool, Mention, str | None] | None
_IS = r"(?: ?=| ?→|:| is| was| will be| would be| gives| equals| falls on| fell on| lands on| comes to| makes)"
_LASTS = r"(?: ?=| is| are| was| makes| spans| lasts| takes| comes to)"
# Behind a span: nothing that makes it a part of something else, as in `5 days off`, `30 minutes each`.
_CLOSED = (
    r"(?= ?(?:$|[.,;:!)\]\n]|in all|in total|total|altogether|inclusive|including|counting|long|"
    r"and\b|so\b|because|which))"
)
_ENDS = r"(?:arriv\w*|end\w*|finish\w*|until|done|over|land\w*|stop\w*)"
_HINT = re.compile(r"\d{4}|\d:\d\d|days?\b")
_REFUTED = re.compile(
    r"\b(?:wrong|incorrect\w*|false|invalid|reject\w*|error|not exist|no such|mistak\w+|suppose|if it were|"
    r"raises?|bad|example|sample|malformed|instead of|rather than|bug|typo|nonexistent|impossible|fail\w*)\b"
)


def _compile(pattern: str) -> re.Pattern[str]:
    """D date, T time, W weekday, N span, Y year, M month; small letters and signs stand for themselves."""
    for letter, character in zip("DTWNYM", "\ue000\ue001\ue002\ue003\ue004\ue005", strict=True):
        pattern = re.sub(rf"(?<!\\){letter}", character, pattern)
    return re.compile(pattern)


class DatesChecker:
    """Checks what the calendar and the clock decide; says nothing of dates without a year."""

    name = "dates"

    def check(self, work: Work) -> Iterable[Finding]:
        return [finding for number, step in enumerate(work.steps, 1) for finding in _step(number, step)]


def _step(number: int, step: str) -> Iterator[Finding]:
    if not _HINT.search(step, 0, MAX_CHARACTERS):
        return
    bones = skeleton(step)
    if not bones.mentions:
        return
    yield from _impossible_days(number, bones)
    if len(bones.mentions) == 1 and "leap" not in bones.text:
        return
    taken: set[int] = set()
    for pattern, law in _LAWS:
        for match in pattern.finditer(bones.text):
            found = bones.inside(match)
            if found[-1].start in taken or (bones.text[match.end() : match.end() + 4].startswith((" or ", "?"))):
                continue
            ruling = law(match[0], found)
            if ruling is None:
                continue
            taken.add(found[-1].start)
            finding = _finding(number, step, found, ruling, bones.text[max(0, match.start() - 40) : match.end() + 40])
            if finding is not None:
                yield finding


def _finding(number: int, step: str, found: list[Mention], ruling: _Ruling, near: str) -> Finding | None:
    if ruling is None:
        return None
    holds, wrong, text = ruling
    claim = step[found[0].start : found[-1].end]
    if holds:
        return Finding(step=number, status=Status.PASS, claim=claim)
    if _REFUTED.search(near):
        return None
    fix = Fix(start=wrong.start, end=wrong.end, text=text) if text else None
    detail = f"{claim[:200]}: {text} would be right" if text else f"{claim[:200]} does not hold"
    return Finding(step=number, status=Status.FAIL, claim=claim, expected=text, detail=detail, fix=fix)


def _impossible_days(number: int, bones: Skeleton) -> Iterator[Finding]:
    for mention, place in zip(bones.mentions, bones.places, strict=True):
        if bones.text[place] != "\ue000" or mention.day is not None:
            continue
        near = bones.text[max(0, place - 60) : place + 60]
        if not _REFUTED.search(near):
            detail = f"{mention.text}: there is no such day"
            yield Finding(step=number, status=Status.FAIL, claim=mention.text, detail=detail)


def _weekday_of(_said: str, found: list[Mention]) -> _Ruling:
    if found[0].day is None and found[-1].day is None:
        return None
    day, named = (found[0], found[-1]) if found[0].day else (found[-1], found[0])
    if day.day is None:
        return None
    right = day.day.weekday()
    return right == named.number, named, write_weekday(right, named.text)


def _leap(said: str, found: list[Mention]) -> _Ruling:
    denied = " not" in said or "n't" in said or " no " in said
    return isleap(found[0].number) != denied, found[0], None


def _length_of_month(_said: str, found: list[Mention]) -> _Ruling:
    month, span = found
    if span.unit != "day":
        return None
    lengths = {monthrange(month.number2 or year, month.number)[1] for year in (2023, 2024)}
    right = max(lengths)
    return span.minutes / _DAY in lengths, span, _spell(span, Fraction(right))


def _length_of_year(_said: str, found: list[Mention]) -> _Ruling:
    year, span = found
    if span.unit != "day":
        return None
    days = 366 if isleap(year.number) else 365
    return span.minutes == days * _DAY, span, _spell(span, Fraction(days))


def _spell(span: Mention, number: Fraction) -> str | None:
    if number.denominator != 1 or not span.text[0].isdigit():
        return None
    return re.sub(r"^[\d.]+", str(number), span.text)


def _between_days(said: str, found: list[Mention]) -> _Ruling:
    span = next(m for m in found if m.minutes or m.months)
    first, second = (m.day for m in found if m is not span)
    if first is None or second is None or not span.unit:
        return None
    days = abs((second - first).days)
    if span.months:
        months = abs((second.year - first.year) * 12 + second.month - first.month)
        whole = first.day == second.day
        return (True, span, None) if whole and months == span.months else None
    stated = span.minutes / _DAY
    if span.unit == "week":
        return (stated == days, span, _spell(span, Fraction(days, 7))) if days % 7 == 0 else None
    if span.unit != "day":
        return None
    if stated == days + 1:
        return (True, span, None) if "from" in said or "to" in said else None  # both ends counted
    return stated == days, span, _spell(span, Fraction(days))


def _add_to_day(said: str, found: list[Mention]) -> _Ruling:
    span = next(m for m in found if m.minutes or m.months)
    days = [m for m in found if m.day is not None]
    if len(days) != 2 or span.minutes % _DAY:
        return None
    source, target = days
    right = _moved(source.day, span, back=_goes_back(said))
    if right is None or target.day is None:
        return None
    return right == target.day, target, write_date(right, target.text)


def _goes_back(said: str) -> bool:
    return any(word in said for word in (" before", " prior", "minus", " - ", " − ", "earlier"))


def _moved(day: date | None, span: Mention, *, back: bool) -> date | None:
    if day is None:
        return None
    sign = -1 if back else 1
    try:
        month = day.year * 12 + day.month - 1 + sign * span.months
        year, index = divmod(month, 12)
        day = date(year, index + 1, min(day.day, monthrange(year, index + 1)[1]))
        return day + timedelta(days=sign * int(span.minutes / _DAY))
    except (ValueError, OverflowError):
        return None


def _add_to_weekday(said: str, found: list[Mention]) -> _Ruling:
    span = next(m for m in found if m.minutes or m.months)
    named = [m for m in found if m is not span]
    if span.months or span.minutes % _DAY or len(named) != 2:
        return None
    sign = -1 if _goes_back(said) else 1
    right = (named[0].number + sign * int(span.minutes / _DAY)) % 7
    return right == named[1].number, named[1], write_weekday(right, named[1].text)


def _same_moment(_said: str, found: list[Mention]) -> _Ruling:
    first, second = found
    if first.offset is None or second.offset is None or first.offset == second.offset:
        return None
    right = first.minutes - first.offset + second.offset
    if first.day and second.day:
        moment = Fraction(first.day.toordinal() * _DAY) + right
        return moment == second.day.toordinal() * _DAY + second.minutes, second, None
    return (right - second.minutes) % _DAY == 0, second, write_time(right, second.text)


def _between_times(_said: str, found: list[Mention]) -> _Ruling:
    span = next(m for m in found if m.unit or m.text.rstrip("s").endswith(("minute", "hour", "second")))
    first, second = (m for m in found if m is not span)
    if span.months or not span.minutes or first.day or second.day or first.offset != second.offset:
        return None
    apart = (second.minutes - first.minutes) % _DAY
    if apart == span.minutes or (first.twelve and second.twelve and (apart - span.minutes) % 720 == 0):
        return True, span, None
    return False, span, _spell_minutes(span, apart)


def _spell_minutes(span: Mention, minutes: Fraction) -> str | None:
    if span.unit == "minute":
        return _spell(span, minutes)
    hours, rest = divmod(minutes, 60)
    if rest == 0:
        return f"{hours} hour{'' if hours == 1 else 's'}"
    return f"{hours} hour{'' if hours == 1 else 's'} {rest} minutes" if rest.denominator == 1 else None


def _add_to_time(said: str, found: list[Mention]) -> _Ruling:
    times = [m for m in found if m.text[:1].isdigit() and ":" in m.text]
    span = next(m for m in found if m not in times)
    if len(times) != 2 or span.months or times[0].day or times[0].offset != times[1].offset:
        return None
    source, target = times
    right = (source.minutes + (-span.minutes if _goes_back(said) else span.minutes)) % _DAY
    if right == target.minutes or (source.twelve and target.twelve and (right - target.minutes) % 720 == 0):
        return True, target, None
    loose = replace(target, minutes=right)
    return False, target, write_time(loose.minutes, target.text)


_LAWS: tuple[tuple[re.Pattern[str], Callable[[str, list[Mention]], _Ruling]], ...] = tuple(
    (_compile(pattern), law)
    for pattern, law in (
        (r"W,?(?: the)? D", _weekday_of),
        (r"D,? (?:is|was|will be|falls on|fell on|lands on|=)(?: on)?(?: an?)? W", _weekday_of),
        (r"D \(W\)", _weekday_of),
        (r"W \(D\)", _weekday_of),
        (r"Y (?:is|was|will be|isn't|wasn't)(?: not| no)?(?: going to be)?(?: an?)? leap year", _leap),
        (rf"M (?:has|had|have|will have)(?: only| exactly)? N{_CLOSED}", _length_of_month),
        (rf"Y (?:has|had|have|will have)(?: only| exactly)? N{_CLOSED}", _length_of_year),
        (rf"(?:from )?D (?:to|until|till|through|–) D(?:,|{_LASTS})(?: exactly)? N{_CLOSED}", _between_days),
        (r"there (?:are|is|were|was)(?: exactly)? N (?:between|from) D (?:and|to|until) D", _between_days),
        (rf"between D and D(?:{_LASTS}|,? there (?:are|is))(?: exactly)? N{_CLOSED}", _between_days),
        (rf"N (?:after|from|before|later than|prior to) D{_IS}(?: on)?(?: W,?)? D", _add_to_day),
        (rf"D (?:plus|minus|\+|-|−) N{_IS}(?: W,?)? D", _add_to_day),
        (r"D[^D.N]{0,20}\b(?:due in N(?: is|:|,| on| ?=| →)|in N is) D", _add_to_day),
        (rf"N (?:after|from|before|later than) W{_IS}(?: on)?(?: an?)? W", _add_to_weekday),
        (
            r"(?:today is|it is|it's|is) W,?(?: so| then)? (?:in|after) N,? (?:it is|it's|it will be|is)(?: an?)? W",
            _add_to_weekday,
        ),
        (r"T(?: ?=| is| equals| ?\(| i\.e\.| corresponds to) ?T", _same_moment),
        (rf"(?:from )?T (?:to|until|till|–) T(?:,|{_LASTS})(?: exactly)? N{_CLOSED}", _between_times),
        (rf"between T and T(?:{_LASTS}|,? there (?:are|is))(?: exactly)? N{_CLOSED}", _between_times),
        (rf"N (?:after|before|later than|past) T{_IS} T", _add_to_time),
        (rf"T (?:plus|minus|\+|-|−) N{_IS} T", _add_to_time),
        (
            rf"at T[^TND.]{{0,40}}\b(?:takes|lasts) N[^TND.]{{0,12}}\b{_ENDS}(?: at)? T",
            _add_to_time,
        ),
    )
)
