"""Dates, times and weekdays written in the style of what stands there."""

import re
from datetime import date
from fractions import Fraction

from mcp_reflect.critique.checks.dates.mentions import MONTHS, WEEKDAYS

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
