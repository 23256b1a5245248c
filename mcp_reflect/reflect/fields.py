"""The fields of an analysis, one by one: what is taken, what it becomes, and what is said where it is wrong."""

import math
import re
from collections.abc import Sequence

from mcp_reflect.config import DEFAULT, Limits
from mcp_reflect.errors import InputError
from mcp_reflect.models.common import Json
from mcp_reflect.models.reflection import Score
from mcp_reflect.reflect.sections import items

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?")
_LEADING = re.compile(r"[\s*_`]*([+-]?(?:\d+(?:\.\d*)?|\.\d+)\s*%?)(?=[\s*_`(,;—–-]|\.?\s*$)(?!\s*/)")
_OF_ONE = re.compile(r"(?<=\d)\s*/\s*1(?:\.0*)?(?=\s|$)")
_SPLIT = re.compile(r"\s*[,;\n]\s*")


def text(field: str, value: Json, limits: Limits = DEFAULT, limit: str = "max_lesson_chars") -> str | None:
    """A text without white space around it; null where it is empty or not given. `limit` names what bounds it."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise InputError(field, f"is {kind(value)}, not text", "Send it as a string.")
    limits.refuse_more(limit, field, len(value))
    if "\x00" in value:
        raise InputError(field, "holds a NUL character", "Leave it out.")
    if any("\ud800" <= char <= "\udfff" for char in value):
        raise InputError(field, "holds half a character (a lone surrogate)", "Send valid Unicode.")
    return value.strip() or None


def score(field: str, value: Json, *, prose: bool = False) -> float | None:
    """A score in 0..1 from a number, `"0.8"` or `"80%"`. With `prose`, words may follow the number."""
    fix = "Send a number from 0 to 1, such as 0.8, or leave it out."
    if isinstance(value, str):
        value = _OF_ONE.sub("", value.strip())
        if not value:
            return None
        leading = _LEADING.match(value) if prose else None
        number = _from_text(leading[1] if leading else value)
        if number is None:
            raise InputError(field, f"is {quoted(value)}, not a number", fix)
    elif value is None:
        return None
    elif isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(field, f"is {kind(value)}, not a number", fix)
    else:
        number = value
    if not (math.isfinite(number) if isinstance(number, float) else True):
        raise InputError(field, f"is {number}, which is not a finite number", fix)
    if not 0 <= number <= 1:
        raise InputError(field, f"is {_shown(number)}, outside 0..1", fix)
    return float(number)


def scores(field: str, value: Json, limits: Limits = DEFAULT) -> dict[str, Score]:
    """`{"safety": 0.9}` or `{"safety": {"score": 0.9, "reason": "..."}}`; a score may be null. By criterion."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InputError(field, f"is {kind(value)}", 'Send an object like {"safety": 0.9}.')
    found: dict[str, Score] = {}
    limits.refuse_more("max_judgement_items", field, len(value), "items")
    for name, said in value.items():
        given = said if isinstance(said, dict) else {"score": said}
        number = score(f"{field}.{name[:60]}", given.get("score"))
        found[name[:60]] = Score(
            score=number, reason=text(f"{field}.{name[:60]}.reason", given.get("reason"), limits) or ""
        )
    return found


def texts(
    field: str,
    value: Json,
    limits: Limits = DEFAULT,
    limit: str = "max_judgement_items",
    *,
    commas: bool = True,
) -> tuple[str, ...]:
    """A list of short texts, each once and in order.

    A string is a list too: of its bullets or lines, else (with `commas`) of what commas part.
    """
    if value is None:
        return ()
    if isinstance(value, str):
        value = list(_parted(text(field, value, limits, "max_judgement_chars") or "", commas=commas))
    if not isinstance(value, list):
        raise InputError(field, f"is {kind(value)}, not a list", 'Send a list of strings, such as ["timeout"].')
    limits.refuse_more(limit, field, len(value), "items")
    found = [text(f"{field}[{place}]", item, limits, "max_item_chars") for place, item in enumerate(value)]
    return tuple(dict.fromkeys(item for item in found if item))


def _parted(value: str, *, commas: bool) -> Sequence[str]:
    if "\n" in value or not commas:
        return [item.strip("`\"' ") for item in items(value)]
    return [item.strip("`\"' ") for item in _SPLIT.split(items(value)[0].strip("[]"))] if value else []


def _from_text(value: str) -> float | None:
    """The number that a text is, percent taken as hundredths; NaN and Infinity are numbers here, to be refused."""
    if value.lower().lstrip("+-") in {"nan", "inf", "infinity"}:
        return float(value)
    digits = value.removesuffix("%").strip()
    if not _NUMBER.fullmatch(digits) or len(digits) > 40:
        return None
    return round(float(digits) / 100, 12) if value.endswith("%") else float(digits)


def _shown(number: float) -> str:
    shown = f"{number:g}" if isinstance(number, float) or abs(number) < 10**15 else "a huge number"
    return quoted(shown).strip('"')


def kind(value: Json) -> str:
    """What a value is, in words: `a number`, `an object`."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() | float():
            return "a number"
        case str():
            return f"the text {quoted(value)}"
        case list():
            return f"a list of {len(value):,}"
        case _:
            return "an object"


def quoted(value: str) -> str:
    """At most 80 characters of what was sent, in quotes, on one line and safe to print."""
    plain = " ".join(value[:400].split()).encode("utf-8", "replace").decode("utf-8")
    plain = "".join(char if char.isprintable() else "?" for char in plain)
    return f'"{plain[:77]}…"' if len(plain) > 78 else f'"{plain}"'
