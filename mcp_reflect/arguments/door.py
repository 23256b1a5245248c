"""Reading what a caller sent into a shape; whatever cannot be read is an InputError that names it."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Final, TypeVar, cast

from pydantic import BaseModel, ConfigDict, ValidationError

from mcp_reflect.arguments.faults import explain, unknown
from mcp_reflect.errors import InputError

DEEPEST: Final = 64  # levels of lists and objects; a trace has no use for more

MOST_BITS: Final = 1024  # of a whole number; Python itself will not print one of more than 4,300 digits

_Shape = TypeVar("_Shape", bound="Shape")


class Shape(BaseModel):
    """A frozen set of arguments. `ALIASES` maps names of older engines to ours; they are not listed."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    ALIASES: ClassVar[Mapping[str, str]] = {}


def read(shape: type[_Shape], sent: Mapping[str, Any]) -> _Shape:
    """Read arguments into `shape`. Raises InputError with the field, the fault and the fix."""
    _check_values(sent)
    values = renamed(shape, {name: value for name, value in sent.items() if value is not None}, "")
    try:
        return shape.model_validate(values)
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


def _check_values(sent: Mapping[str, Any]) -> None:
    """Refuse what no store should hold: nesting without end, text that is not Unicode, NUL, numbers that are none.

    Goes level by level, not by recursion, so that depth cannot hurt it.
    """
    level: list[tuple[str, Any]] = list(sent.items())
    for _ in range(DEEPEST):
        deeper: list[tuple[str, Any]] = []
        for path, value in level:
            _check_one(path, value)
            if isinstance(value, Mapping):
                items = cast("Mapping[Any, Any]", value)
                deeper += [(f"{path}.{str(name)[:40]}", item) for name, item in items.items()]
                for name in items:
                    _check_one(path, name)
            elif isinstance(value, list | tuple):
                deeper += [(f"{path}[{place}]", item) for place, item in enumerate(cast("list[Any]", value))]
        if not deeper:
            return
        level = deeper
    raise InputError(
        level[0][0][:80], f"it is nested more than {DEEPEST} levels deep", "Send a flatter value, or its text."
    )


def _check_one(path: str, value: object) -> None:
    if isinstance(value, str):
        if "\0" in value:
            raise InputError(path, f"it holds a NUL byte at character {value.index(chr(0))}", "Send text without it.")
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError as error:
                raise InputError(
                    path,
                    f"it holds half of a character (a lone surrogate) at {error.start}",
                    "Send valid Unicode text.",
                ) from None
    elif isinstance(value, int) and value.bit_length() > MOST_BITS:
        raise InputError(path, "it is a number of more than 300 digits", "Send a smaller number, or its text.")
    elif isinstance(value, float) and not math.isfinite(value):
        raise InputError(path, f"{value} is not a number", "Send a finite number.")
