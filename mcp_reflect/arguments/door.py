"""Reading what a caller sent into a shape; whatever cannot be read is an InputError that names it."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Final, TypeAlias, TypeVar, cast

from pydantic import BaseModel, ConfigDict, ValidationError

from mcp_reflect.arguments.faults import explain, unknown
from mcp_reflect.config import DEFAULT, PREFIX, Limits
from mcp_reflect.errors import HALF_CHARACTER, TOO_DEEP, InputError
from mcp_reflect.security.redact import quoted

MOST_BITS: Final = 1024  # of a whole number; Python itself will not print one of more than 4,300 digits

_Shape = TypeVar("_Shape", bound="Shape")


class Shape(BaseModel):
    """A frozen set of arguments. `ALIASES` maps names of older engines to ours; they are not listed."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    ALIASES: ClassVar[Mapping[str, str]] = {}


def read(shape: type[_Shape], sent: Mapping[str, Any], limits: Limits = DEFAULT) -> _Shape:
    """Read arguments into `shape`, within `limits`. Raises InputError with the field, the fault and the fix."""
    _check_values(sent, limits)
    values = renamed(shape, {name: value for name, value in sent.items() if value is not None}, "")
    try:
        return shape.model_validate(values, context=limits)
    except ValidationError as error:
        raise explain(error.errors(include_url=False)) from None


def renamed(shape: type[Shape], values: dict[str, Any], path: str) -> dict[str, Any]:
    """`values` under our names. Raises InputError for a name that is neither ours nor an alias."""
    known = [*shape.model_fields]
    found: dict[str, Any] = {}
    for sent, value in values.items():
        name = shape.ALIASES.get(sent, sent)
        if name not in shape.model_fields:
            raise unknown(f"{path}{sent}", sent, known)
        if name in found and found[name] != value:
            raise InputError(
                f"{path}{sent}",
                f"it is another name of {name}, which was sent with another value",
                f"Send {name} alone.",
            )
        found[name] = value
    return found


def _check_values(sent: Mapping[str, Any], limits: Limits) -> None:
    """Refuse what no store should hold: nesting without end, text that is not Unicode, NUL, numbers that are none.

    Goes level by level, not by recursion, so that depth cannot hurt it.
    """
    level: list[tuple[_Place, Any]] = [((None, name), value) for name, value in sent.items()]
    count = 0
    for _ in range(limits.max_depth):
        deeper: list[tuple[_Place, Any]] = []
        for place, value in level:
            _check_one(place, value)
            if isinstance(value, Mapping):
                for name, item in cast("Mapping[Any, Any]", value).items():
                    _check_one(place, name)
                    deeper.append(((place, name), item))
            elif isinstance(value, list | tuple):
                items = cast("list[Any]", value)
                limits.refuse_more("max_values", "arguments", count + len(items), "values")
                if _is_fair_text(items):
                    count += len(items)
                else:
                    deeper += [((place, at), item) for at, item in enumerate(items)]
        count += len(level)
        limits.refuse_more("max_values", "arguments", count + len(deeper), "values")
        if not deeper:
            return
        level = deeper
    raise _deep(level[0][0], limits)


_Place: TypeAlias = "tuple[_Place | None, object]"
"""Where a value stands: what it stands in, and its name or number there. Put together only for an error."""


def _path(place: _Place) -> str:
    parts: list[str] = []
    inside: _Place | None = place
    while inside is not None:
        inside, part = inside
        parts.append(f"[{part}]" if isinstance(part, int) else f".{quoted(part, 40)}")
    return quoted("".join(reversed(parts)).removeprefix("."), 120)


def _deep(place: _Place, limits: Limits = DEFAULT) -> InputError:
    fault = f"it is nested more than {limits.max_depth} levels deep"
    fix = f"Send a flatter value, or its text ({PREFIX}MAX_DEPTH)."
    return InputError(_path(place)[:80], fault, fix)


def _half(place: _Place, at: int) -> InputError:
    fault = f"it holds half of a character (a lone surrogate) at {at}"
    return InputError(_path(place), fault, "Send valid Unicode text.")


def _check_one(place: _Place, value: object) -> None:
    if isinstance(value, str):
        if "\0" in value:
            fault = f"it holds a NUL byte at character {value.index(chr(0))}"
            raise InputError(_path(place), fault, "Send text without it.")
        if not value.isascii():
            _check_unicode(place, value)
    elif isinstance(value, int) and value.bit_length() > MOST_BITS:
        raise InputError(_path(place), "it is a number of more than 300 digits", "Send a smaller number, or its text.")
    elif isinstance(value, float) and not math.isfinite(value):
        raise InputError(_path(place), f"{value} is not a number", "Send a finite number.")


def _is_fair_text(values: list[Any] | tuple[Any, ...]) -> bool:
    """Whether these are texts and each of them would pass. Looks at all at once, since word lists are long."""
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


def _check_unicode(place: _Place, value: str) -> None:
    if HALF_CHARACTER in value:
        raise _half(place, value.index(HALF_CHARACTER))
    if TOO_DEEP in value:
        raise _deep(place)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise _half(place, error.start) from None
