"""The settings one by one: how a field of them is declared, and how the text of its variable is read."""

import math
from collections.abc import Mapping
from dataclasses import Field, field
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin

from mcp_reflect.bank_address import bank_place, quoted_value, whole_path
from mcp_reflect.errors import InputError
from mcp_reflect.places import (
    BANK,
    PROJECT,
    begins_where_work_is_done,
    filled_in,
    filled_in_name,
)

_TRUTH: Final = {
    "true": True,
    "false": False,
    "1": True,
    "0": False,
    "yes": True,
    "no": False,
    "on": True,
    "off": False,
}
"""The words that a person may write for a switch."""


def setting(
    default: Any,
    meaning: str,
    *,
    least: float = 0,
    most: float | None = None,
    fades: bool = False,
    headings: tuple[str, ...] = (),
) -> Any:
    """Return a field of the settings with its meaning, and the smallest and largest number that it takes.

    | argument   | what it says                                                                                                 |
    |------------|--------------------------------------------------------------------------------------------------------------|
    | `headings` | words of which one begins each entry of a list: `tests: bin/verify`                                          |
    | `fades`    | the next version drops the variable; in this one it works, stands in no list, and whoever sets it is told so |

    Callers in Python keep a field whose variable is dropped.
    """
    metadata = {
        "meaning": meaning,
        "least": least,
        "most": most,
        "fades": fades,
        "headings": headings,
    }
    return field(default=default, metadata=metadata)


def filled_in_setting(name: str, text: str) -> str:
    """Return the text of the setting `name` with variables such as `$HOME` filled in.

    InputError if one is not set, or leads into the folder that is worked in. An address stays as it is: its password may
    have a `$` or `%`.
    """
    if "://" in text:
        return text
    if name != PROJECT and begins_where_work_is_done(text):
        fault = f"'{quoted_value(text)}' would be a file of the folder that is worked in"
        raise InputError(name, fault, "Write the whole path itself.")
    fill = filled_in
    if name in (BANK, PROJECT):
        fill = filled_in_name
    filled = fill(text)
    if filled is None:
        fault = f"'{quoted_value(text)}' has a variable that is not set here, or that the host does not fill in"
        raise InputError(name, fault, "Write the name or the whole path itself.")
    return filled


def value_of(name: str, text: str, item: Field[Any]) -> Any:
    """Return `text` as a value of the field's type; InputError names the variable `name`."""
    options = get_args(item.type)
    if get_origin(item.type) is tuple:
        entries = tuple(part.strip() for part in text.split(",") if part.strip())
        _refuse_other_headings(name, entries, item.metadata["headings"])
        return entries
    if item.type is bool:
        return _one_of(name, text, _TRUTH)
    if get_origin(item.type) is Literal:
        return _one_of(name, text, _words_for(options))
    if item.name == "bank":
        return bank_place(text)
    convert: Any = item.type
    if options:  # `int | None`: None is no value that a person can write
        convert = options[0]
    if convert in (int, float):
        return _number(name, text, item, convert)
    if convert is Path:
        return whole_path(name, text)
    return text


def _refuse_other_headings(name: str, entries: tuple[str, ...], headings: tuple[str, ...]) -> None:
    """Raise InputError for an entry `WORD: …` of a setting with headings, if the word is none of them.

    `tset: bin/verify` is refused, where `tests` is a heading; `bin/verify` alone has no heading and may stand.
    """
    for entry in entries:
        word, colon, _ = entry.partition(":")
        if headings and colon and word.strip() not in headings:
            fault = f"'{quoted_value(entry)}' begins with no kind that it takes"
            raise InputError(name, fault, f"Begin it with one of {', '.join(headings)}.")


def _words_for(options: tuple[Any, ...]) -> dict[str, Any]:
    """Return the words that a person may write for the values of a setting, each with its value.

    A setting that has "off" was a switch in earlier versions: "false", "no" and "0" still mean "off", and "true", "yes"
    and "1" its first value.
    """
    words = {option: option for option in options}
    if "off" not in options:
        return words
    for word, is_on in _TRUTH.items():
        words[word] = "off"
        if is_on:
            words[word] = options[0]
    return words


def _one_of(name: str, text: str, values: Mapping[str, Any]) -> Any:
    """Return the value for which a word stands, in any case; InputError that lists the words for another one."""
    if text.lower() in values:
        return values[text.lower()]
    raise InputError(
        name,
        f"'{quoted_value(text)}' is not one of its values",
        f"Set one of {', '.join(map(str, values))}.",
    )


def _number(name: str, text: str, item: Field[Any], convert: type[int] | type[float]) -> float:
    """Return the number in a text; InputError with the range where it is none, or lies outside."""
    least, most = item.metadata["least"], item.metadata["most"]
    try:
        number = convert(text)
    except ValueError:
        number = math.nan
    is_in_range = number >= least and (most is None or number <= most)
    if math.isfinite(number) and is_in_range:
        return number
    span = f"from {least:g} up"
    if most is not None:
        span = f"from {least:g} to {most:g}"
    digits = "a number"
    if convert is int:
        digits = "digits"
    raise InputError(
        name, f"'{quoted_value(text)}' is not a number {span}", f"Set {digits} in this range."
    )
