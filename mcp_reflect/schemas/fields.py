"""Fields of schemas with their limits, and the errors that name field, fault and fix."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Any, ClassVar, Final, TypeAlias, TypeVar, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, ValidationInfo
from pydantic_core import PydanticCustomError

from mcp_reflect.config import DEFAULT, PREFIX, Limits, characters
from mcp_reflect.errors import HALF_CHARACTER, TOO_DEEP, InputError
from mcp_reflect.models.run import ErrorCategory
from mcp_reflect.security.redact import clean_text, quoted

# What pydantic found wrong, in our words: the field, the fault, the fix.


_KIND: Final[dict[type, str]] = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "an object",
}


def explain(errors: Sequence[Any]) -> InputError:
    """The first of pydantic's errors as ours, and how many more there are."""
    first = errors[0]
    path = _error_path(first["loc"])
    fault, fix = _said(first)
    more = f" ({len(errors) - 1} more to mend after this one)" if len(errors) > 1 else ""
    return InputError(path, fault, f"{fix}{more}")


def unknown(path: str, name: str, known: Iterable[str]) -> InputError:
    """A name that is not known, with the nearest that is."""
    names = list(known)
    near = get_close_matches(name[:80], names, n=1, cutoff=0.5)
    fix = f"Did you mean '{near[0]}'?" if near else f"Send any of {', '.join(names)}."
    return InputError(quoted(path, 120), "there is no such argument", fix)


def _said(error: Any) -> tuple[str, str]:
    kind, context = error["type"], error.get("ctx", {})
    if kind in _FAULTS:
        return _FAULTS[kind](error["input"], context)
    if kind.endswith(("_type", "_parsing")):
        wanted = {"string": "text", "int": "a whole number", "float": "a number", "bool": "true or false"}.get(
            kind.rsplit("_", 1)[0], "a list" if "list" in kind or "tuple" in kind else "an object"
        )
        return f"it is {_named(error['input'])}, not {wanted}", f"Send {wanted}."
    return quoted(error["msg"], 200), "Send a value that the tool's schema allows."


def _named(value: object) -> str:
    return "null" if value is None else _KIND.get(type(value), "something else")


_PLAIN_WORD: Final = re.compile(r"[A-Za-z _-]{1,40}|\w{1,5}")


def _choice(value: object, context: dict[str, Any]) -> tuple[str, str]:
    expected = str(context.get("expected", ""))
    names = [part.strip().strip("'") for part in expected.replace(" or ", ", ").split(",")]
    near = get_close_matches(str(value)[:80].lower(), names, n=1, cutoff=0.5)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    # A validator may have changed its case, by which a secret is known: only what is a plain word is repeated.
    told = f"'{quoted(value)}'" if _PLAIN_WORD.fullmatch(str(value)) else "what was sent"
    return f"{told} is not one of its values", f"Send one of {', '.join(names)}.{hint}"


def _custom(_: object, context: dict[str, Any]) -> tuple[str, str]:
    """An error raised by one of our own validators: `fault|fix`."""
    fault, _, fix = str(context["error"]).partition("|")
    return fault, fix


_FAULTS: Final[dict[str, Callable[[Any, dict[str, Any]], tuple[str, str]]]] = {
    "missing": lambda _value, _context: ("it is missing", "Send it."),
    "enum": _choice,
    "literal_error": _choice,
    "value_error": _custom,
    "finite_number": lambda value, _context: (f"{value} is not a number", "Send a finite number."),
    "greater_than_equal": lambda value, context: (f"{value} is too small", f"Send {context['ge']} or more."),
    "less_than_equal": lambda value, context: (f"{value} is too large", f"Send {context['le']} or less."),
    "string_too_short": lambda _value, _context: ("it is empty", "Send text."),
    "over_limit": lambda _value, context: (
        f"it has {context['count']} {context['what']}",
        f"Send at most {context['bound']} ({PREFIX}{context['name'].upper()}).",
    ),
    "over_bound": lambda value, context: (
        f"{value} is too large",
        f"Send {context['bound']} or less ({PREFIX}{context['name'].upper()}).",
    ),
    "string_too_long": lambda value, context: (
        f"it has {len(value)} characters",
        f"Send at most {context['max_length']}.",
    ),
    "too_long": lambda _value, context: (
        f"it has {context['actual_length'] or 'too many'} items",
        f"Send at most {context['max_length']}.",
    ),
    "int_from_float": lambda value, _context: (f"{value} is not a whole number", "Send a whole number."),
}


def _error_path(loc: Sequence[str | int]) -> str:
    """`("events", 2, "type")` as `events[2].type`; the names of union members are left out."""
    path = ""
    for part in loc:
        if isinstance(part, int):
            path += f"[{part}]"
        elif part.isidentifier() or not path:
            path += f".{part}" if path else part
    return quoted(path, 120) or "arguments"


# Reading what a caller sent into a shape; whatever cannot be read is an InputError that names it.


MOST_BITS: Final = 1024  # of a whole number; Python itself will not print one of more than 4,300 digits

_Shape = TypeVar("_Shape", bound="Arguments")


class Arguments(BaseModel):
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


def renamed(shape: type[Arguments], values: dict[str, Any], path: str) -> dict[str, Any]:
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


def _field_path(place: _Place) -> str:
    parts: list[str] = []
    inside: _Place | None = place
    while inside is not None:
        inside, part = inside
        parts.append(f"[{part}]" if isinstance(part, int) else f".{quoted(part, 40)}")
    return quoted("".join(reversed(parts)).removeprefix("."), 120)


def _deep(place: _Place, limits: Limits = DEFAULT) -> InputError:
    fault = f"it is nested more than {limits.max_depth} levels deep"
    fix = f"Send a flatter value, or its text ({PREFIX}MAX_DEPTH)."
    return InputError(_field_path(place)[:80], fault, fix)


def _half(place: _Place, at: int) -> InputError:
    fault = f"it holds half of a character (a lone surrogate) at {at}"
    return InputError(_field_path(place), fault, "Send valid Unicode text.")


def _check_one(place: _Place, value: object) -> None:
    if isinstance(value, str):
        if "\0" in value:
            fault = f"it holds a NUL byte at character {value.index(chr(0))}"
            raise InputError(_field_path(place), fault, "Send text without it.")
        if not value.isascii():
            _check_unicode(place, value)
    elif isinstance(value, int) and value.bit_length() > MOST_BITS:
        raise InputError(
            _field_path(place), "it is a number of more than 300 digits", "Send a smaller number, or its text."
        )
    elif isinstance(value, float) and not math.isfinite(value):
        raise InputError(_field_path(place), f"{value} is not a number", "Send a finite number.")


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


# The kinds of text and number that arguments are made of, with their limits.


def limits_of(info: ValidationInfo) -> Limits:
    """The limits that `door.read` was given."""
    return info.context if isinstance(info.context, Limits) else DEFAULT


def most(name: str) -> BeforeValidator:
    """Refuses a text of more characters than the limit `name` allows; looked at before anything else is."""

    def check(value: Any, info: ValidationInfo) -> Any:
        return _within(value, name, info, "characters") if isinstance(value, str) else value

    return BeforeValidator(check)


def most_items(name: str) -> BeforeValidator:
    """The same for a list's items, and an object's."""

    def check(value: Any, info: ValidationInfo) -> Any:
        return _within(value, name, info, "items") if isinstance(value, list | tuple | dict) else value

    return BeforeValidator(check)


def in_all(name: str) -> BeforeValidator:
    """The same for the characters of all texts in a JSON value."""

    def check(value: Any, info: ValidationInfo) -> Any:
        limits_of(info).refuse_more(name, str(info.field_name), characters(value))
        return value

    return BeforeValidator(check)


def at_most(name: str) -> AfterValidator:
    """Refuses a number above the limit `name`."""

    def check(value: int, info: ValidationInfo) -> int:
        bound = getattr(limits_of(info), name)
        if value > bound:
            raise PydanticCustomError("over_bound", "too large", {"bound": bound, "name": name})
        return value

    return AfterValidator(check)


def _within(value: Any, name: str, info: ValidationInfo, what: str) -> Any:
    bound = getattr(limits_of(info), name)
    if len(value) > bound:
        raise PydanticCustomError(
            "over_limit", "too much", {"count": len(value), "what": what, "bound": bound, "name": name}
        )
    return value


def _not_blank(text: str) -> str:
    if not any(char.isprintable() and not char.isspace() for char in text):
        raise ValueError("it is empty|Send text.")
    return text


def _some(value: Any) -> Any:
    """One text where a list is wanted is a list of one."""
    return (value,) if isinstance(value, str) else value


def _category(value: Any) -> Any:
    """`timeout` for `timeout_error`, whatever its case."""
    if isinstance(value, str):
        name = value.strip().lower().replace(" ", "_").replace("-", "_")
        return name if name in {*ErrorCategory} else f"{name}_error" if f"{name}_error" in {*ErrorCategory} else value
    return value


def named_criteria(value: Any) -> Any:
    """`{"tone": "friendly"}` and `["tone"]` both name criteria."""
    return tuple(f"{name}: {about}" for name, about in value.items()) if isinstance(value, dict) else value  # pyright: ignore[reportUnknownVariableType]


Task: TypeAlias = Annotated[str, Field(min_length=1), AfterValidator(_not_blank), most("max_task_chars")]
Passage: TypeAlias = Annotated[str, Field(min_length=1), AfterValidator(_not_blank), most("max_lesson_chars")]
Label: TypeAlias = Annotated[
    str, Field(min_length=1), AfterValidator(clean_text), AfterValidator(_not_blank), most("max_label_chars")
]
"""A name. It is read as it is kept, since what is written passes the door and what is looked up does not."""
Phrase: TypeAlias = Annotated[str, Field(min_length=1), AfterValidator(_not_blank), most("max_phrase_chars")]
Labels: TypeAlias = Annotated[tuple[Label, ...], BeforeValidator(_some), most_items("max_list_items")]
Phrases: TypeAlias = Annotated[tuple[Phrase, ...], BeforeValidator(_some), most_items("max_list_items")]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]
Category: TypeAlias = Annotated[ErrorCategory, BeforeValidator(_category)]
Detail: TypeAlias = Annotated[bool, Field(description="Answer with every field")]
