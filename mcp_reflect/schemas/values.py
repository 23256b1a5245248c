"""Values that no store should hold: refused before anything else is read."""

import math
from collections.abc import Mapping
from typing import Any, Final, TypeAlias, cast

from mcp_reflect.config import Limits
from mcp_reflect.errors import HALF_CHARACTER, TOO_DEEP, InputError
from mcp_reflect.security.redact import quoted

MOST_BITS: Final = 1024  # of a whole number; Python itself will not print one of more than 4,300 digits

_Place: TypeAlias = "tuple[_Place | None, object]"
"""The container of a value, and the value's name or number in it. Written out only for an error."""


def check_values(sent: Mapping[str, Any], limits: Limits) -> None:
    """Refuse deep nesting, text that is not Unicode, NUL characters, and numbers that are not finite.

    Goes level by level without recursion, so that depth cannot exhaust the stack.
    """
    level: list[tuple[_Place, Any]] = [((None, name), value) for name, value in sent.items()]
    count = 0
    for _ in range(limits.max_depth):
        deeper: list[tuple[_Place, Any]] = []
        for place, value in level:
            _check_value(place, value, limits)
            if isinstance(value, Mapping):
                for name, item in cast("Mapping[Any, Any]", value).items():
                    _check_value(place, name, limits)
                    deeper.append(((place, name), item))
            elif isinstance(value, list | tuple):
                items = cast("list[Any]", value)
                limits.refuse_more("max_values", "arguments", count + len(items), "values")
                if _are_valid_texts(items):
                    count += len(items)
                else:
                    deeper += [((place, at), item) for at, item in enumerate(items)]
        count += len(level)
        limits.refuse_more("max_values", "arguments", count + len(deeper), "values")
        if not deeper:
            return
        level = deeper
    raise _too_deep(level[0][0], limits)


def _check_value(place: _Place, value: object, limits: Limits) -> None:
    if isinstance(value, str):
        if "\0" in value:
            fault = f"it holds a NUL byte at character {value.index(chr(0))}"
            raise InputError(_path(place), fault, "Send text without it.")
        if not value.isascii():
            _check_unicode(place, value, limits)
    elif isinstance(value, int) and value.bit_length() > MOST_BITS:
        fault = "it is a number of more than 300 digits"
        raise InputError(_path(place), fault, "Send a smaller number, or its text.")
    elif isinstance(value, float) and not math.isfinite(value):
        raise InputError(_path(place), f"{value} is not a number", "Send a finite number.")


def _are_valid_texts(values: list[Any] | tuple[Any, ...]) -> bool:
    """True if all values are texts that pass. Checks them together, because word lists are long."""
    if set(map(type, values)) != {str}:
        return False
    text = "".join(values)
    if "\0" in text:
        return False
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return HALF_CHARACTER not in text and TOO_DEEP not in text


def _check_unicode(place: _Place, value: str, limits: Limits) -> None:
    if TOO_DEEP in value:
        raise _too_deep(place, limits)
    at = value.find(HALF_CHARACTER)
    if at < 0:
        try:
            value.encode()
        except UnicodeEncodeError as error:
            at = error.start
    if at >= 0:
        fault = f"it holds half of a character (a lone surrogate) at {at}"
        raise InputError(_path(place), fault, "Send valid Unicode text.")


def _too_deep(place: _Place, limits: Limits) -> InputError:
    fault = f"it is nested more than {limits.max_depth} levels deep"
    return InputError(_path(place)[:80], fault, "Send a flatter value, or its text.")


def _path(place: _Place) -> str:
    parts: list[str] = []
    inside: _Place | None = place
    while inside is not None:
        inside, part = inside
        parts.append(f"[{part}]" if isinstance(part, int) else f".{quoted(part, 40)}")
    return quoted("".join(reversed(parts)).removeprefix("."), 120)
