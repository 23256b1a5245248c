"""Refuse values that no argument may have, whatever its field: too deep, too many, not Unicode, or not finite."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from mcp_reflect.errors import InputError
from mcp_reflect.limits import Limits
from mcp_reflect.schemas.faults import error_path

# Bits of a whole number; Python itself will not print one of more than 4,300 digits.
_MOST_BITS: Final = 1024
_LONGEST_PATH: Final = 80  # characters of the path to a value that is nested too deep
_SEND_UNICODE: Final = "Send valid Unicode text."


class CheckedArguments(dict[str, Any]):
    """Arguments that passed `check_values`, which takes a thread a moment where they have very many values."""


def check_values(sent: Mapping[str, Any], limits: Limits) -> None:
    """Raise InputError for deep nesting, very many values, text that cannot be stored, and numbers that are not finite.

    It names the path to the value: `events[2].content`.
    """
    count = 0

    def check(value: object, path: tuple[Any, ...]) -> None:
        """Check a value and all within it; `path` has the names and numbers that lead to it."""
        nonlocal count
        if not isinstance(value, Mapping | list | tuple):
            _check_single(value, path)
            return
        several = cast("Mapping[Any, Any] | list[Any]", value)
        count += len(several)
        limits.refuse_more("max_values", "arguments", count, "values")
        if several and len(path) >= limits.max_depth:
            fault = f"it is nested more than {limits.max_depth} levels deep"
            fix = "Send a flatter value, or its text."
            raise InputError(error_path(path)[:_LONGEST_PATH], fault, fix)
        for name, item in _items_to_check(several):
            if not _is_plain(name):
                _check_single(name, path)
            if not _is_plain(item):
                check(item, (*path, name))

    check(sent, ())


def _items_to_check(several: Mapping[Any, Any] | list[Any]) -> Iterable[tuple[Any, Any]]:
    """Return the items of an object or a list that have to be looked at, by name or number.

    A list of nothing but plain texts, of which many are sent, is checked at once, and has none.
    """
    if isinstance(several, Mapping):
        return several.items()
    has_only_texts = set(map(type, several)) == {str}
    if has_only_texts and _is_plain("".join(several)):
        return ()
    return enumerate(several)


def _is_plain(value: object) -> bool:
    """Return whether a value is None or a text of ASCII, which needs no more looks.

    Most values are: a call of many megabytes is then checked in milliseconds.
    """
    return (isinstance(value, str) and value.isascii() and "\0" not in value) or value is None


def _check_single(value: object, path: tuple[Any, ...]) -> None:
    """Refuse a single value that cannot be stored."""
    if isinstance(value, str):
        _check_text(value, path)
    elif isinstance(value, int) and value.bit_length() > _MOST_BITS:
        fault = "it is a number of more than 300 digits"
        raise InputError(error_path(path), fault, "Send a smaller number, or its text.")
    elif isinstance(value, float) and not math.isfinite(value):
        raise InputError(error_path(path), f"{value} is not a number", "Send a finite number.")


def _check_text(text: str, path: tuple[Any, ...]) -> None:
    """Refuse a text that SQLite or UTF-8 cannot hold."""
    if "\0" in text:
        fault = f"it holds a NUL byte at character {text.index(chr(0))}"
        raise InputError(error_path(path), fault, "Send text without it.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        fault = f"it holds half of a character (a lone surrogate) at {error.start}"
        raise InputError(error_path(path), fault, _SEND_UNICODE) from None
