"""Read the arguments of a call: what can be understood is used, the rest is reported or refused.

Names are matched in any case and with known synonyms. An optional argument that cannot be read is left out and
reported in `ignored`. An InputError remains where a required argument is missing or unreadable, or a limit is exceeded.
"""

import ast
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, ClassVar, Final, Self, TypeAlias, TypeVar, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
)
from pydantic_core import PydanticCustomError

from mcp_reflect.config import DEFAULT, Limits, characters
from mcp_reflect.errors import InputError
from mcp_reflect.models.common import SCORE_WORDS
from mcp_reflect.security.redact import clean_text, quoted

_Arguments = TypeVar("_Arguments", bound="Arguments")

_MOST_BITS: Final = (
    1024  # of a whole number; Python itself will not print one of more than 4,300 digits
)
_TYPO_CUTOFF: Final = 0.84
_PARSED_CHARS: Final = 1_000_000
_WRAPPERS: Final = ("arguments", "args", "input", "params", "parameters", "kwargs", "payload")
_MOST_IGNORED: Final = 5
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_PERCENT: Final = 100
_NUMBER: Final = re.compile(r"\s*+([+-]?\d+(?:[.,]\d+)?)\s*+(%|percent|(?:/|out of)\s*(\d+))?\s*")
_BULLET: Final = re.compile(r"(?m)^\s*(?:[-*•]|\d+[.)])\s+")
_CLASS: Final = re.compile(r"^\s*[A-Z]\w*\.(?=\w)")
_PLAIN_WORD: Final = re.compile(r"[A-Za-z _-]{1,40}|\w{1,5}")


@dataclass(frozen=True, slots=True)
class ReadContext:
    """The limits of a call, and the notes on what was left out of it."""

    limits: Limits = DEFAULT
    ignored: list[str] = field(default_factory=list[str])

    @classmethod
    def of(cls, info: ValidationInfo) -> "ReadContext":
        """Return the context of the current `read`."""
        return info.context if isinstance(info.context, ReadContext) else cls()


class Arguments(BaseModel):
    """A frozen set of arguments.

    `ALIASES` are names of older engines, which docs/tools.md lists. `SYNONYMS` has more names of a field, separated by
    blanks; they are understood and not listed. The fields in `STRICT` are refused where they cannot be read, though
    they are optional.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, coerce_numbers_to_str=True
    )

    ALIASES: ClassVar[Mapping[str, str]] = {}
    SYNONYMS: ClassVar[Mapping[str, str]] = {}
    STRICT: ClassVar[frozenset[str]] = frozenset()

    _ignored: tuple[str, ...] = PrivateAttr(default=())

    @property
    def ignored(self) -> tuple[str, ...]:
        """What was left out of the call, and why."""
        return self._ignored

    @classmethod
    def gathered(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Move arguments that belong elsewhere to their place. Called before names are matched."""
        return values

    def with_ignored(self, ignored: Sequence[str]) -> Self:
        """Set the notes on what was left out, each once."""
        notes = list(dict.fromkeys(ignored))
        more = [f"and {len(notes) - _MOST_IGNORED} more"] if len(notes) > _MOST_IGNORED else []
        self._ignored = (*notes[:_MOST_IGNORED], *more)
        return self


def read(shape: type[_Arguments], sent: Mapping[str, Any], limits: Limits = DEFAULT) -> _Arguments:
    """Read arguments into `shape`. InputError names the field, the fault and the fix."""
    check_values(sent, limits)
    context = ReadContext(limits)
    values = {str(name): value for name, value in sent.items() if value is not None}
    wrapped = (
        next(iter(values)) if len(values) == 1 else ""
    )  # {"arguments": {...}}, also as JSON text
    if wrapped in _WRAPPERS and wrapped not in shape.model_fields:
        inner = parsed(values[wrapped])
        if isinstance(inner, dict):
            values = {str(name): value for name, value in cast("dict[Any, Any]", inner).items()}
    values = named(shape, shape.gathered(values), context)
    while True:  # each repair takes an argument out or makes it valid
        try:
            return shape.model_validate(values, context=context).with_ignored(context.ignored)
        except ValidationError as error:
            errors = error.errors()
            if not _repaired(shape, values, errors[0], context):
                raise _with_ignored(explain(errors), context.ignored) from None
        except InputError as error:
            raise _with_ignored(error, context.ignored) from None


def named(
    shape: type[Arguments], values: Mapping[str, Any], context: ReadContext, path: str = ""
) -> dict[str, Any]:
    """Return `values` under the names of `shape`'s fields, without those that are None; unknown ones are noted."""
    result: dict[str, Any] = {}
    for name, value in sorted(values.items(), key=lambda item: item[0] not in shape.model_fields):
        if value is None:
            continue
        own = field_of(shape, name)
        if own is None:
            context.ignored.append(f"{quoted(path + name, 120)}: no such argument")
        elif own not in result:
            result[own] = value
        elif result[own] != value:
            context.ignored.append(f"{quoted(path + name, 120)}: {own} was sent too")
    return result


def field_of(shape: type[Arguments], name: str) -> str | None:
    """Return the field that a name means, also in another spelling or by a near miss; None for an unknown one."""
    known = _names_of(shape)
    plain = normalized(_CAMEL.sub("_", name[:80])).strip("_")
    for candidate in (name, plain, f"{plain}s", plain.removesuffix("s")):
        if candidate in known:
            return known[candidate]
    near = get_close_matches(plain, shape.model_fields, n=1, cutoff=_TYPO_CUTOFF)
    return near[0] if near else None


@cache
def _names_of(shape: type[Arguments]) -> dict[str, str]:
    names = {own: own for own in shape.model_fields}
    return (
        names
        | {word: own for own, words in shape.SYNONYMS.items() for word in words.split()}
        | dict(shape.ALIASES)
    )


def normalized(word: str) -> str:
    """Return a name in lower case with underscores: `tool_call` for `Tool-Call`."""
    return word.strip().lower().replace(" ", "_").replace("-", "_")


def without_class(word: str) -> str:
    """Return the name of a member of an enum: `FAILURE` for `OutcomeType.FAILURE`."""
    return _CLASS.sub("", word, count=1)


def parsed(value: Any, context: ReadContext | None = None) -> Any:
    """Return the value of a text of JSON or of a Python literal; anything else as it is."""
    if (
        not isinstance(value, str)
        or value.lstrip()[:1] not in ("[", "{", "(")
        or len(value) > _PARSED_CHARS
    ):
        return value
    try:
        result: Any = json.loads(value)
    except (ValueError, RecursionError):
        try:
            result = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return value
    if not isinstance(result, dict | list | tuple):
        return value
    check_values({"arguments": result}, context.limits if context else DEFAULT)
    return cast("Any", result)


def _repaired(
    shape: type[Arguments], values: dict[str, Any], error: Any, context: ReadContext
) -> bool:
    """Remove an invalid optional argument, or clamp it to its bounds. Return False if neither is allowed."""
    name = str(error["loc"][0]) if error["loc"] else ""
    if (
        name not in values
        or name not in shape.model_fields
        or shape.model_fields[name].is_required()
    ):
        return False
    if name in shape.STRICT or error["type"] in ("over_limit", "string_too_long"):
        return False
    fault = explain([error]).fault
    details, value, place = error.get("ctx", {}), values[name], error["loc"][1:2]
    bound = details.get("le", details.get("ge"))
    if not place and bound is not None:
        values[name] = bound
        context.ignored.append(f"{name}: {fault}, {bound:g} used")
    elif (
        isinstance(value, list | tuple)
        and place
        and isinstance(place[0], int)
        and place[0] < len(cast("Any", value))
    ):
        values[name] = [item for at, item in enumerate(cast("list[Any]", value)) if at != place[0]]
        context.ignored.append(f"{_error_path(error['loc'])}: {fault}")
    else:
        del values[name]
        context.ignored.append(f"{name}: {fault}")
    return True


def _with_ignored(error: InputError, ignored: Sequence[str]) -> InputError:
    """Return the error with the reason for which its argument was ignored, if it was, and the unknown names."""
    own, unknown = f"{error.field}: ", ": no such argument"
    fault = next((note.removeprefix(own) for note in ignored if note.startswith(own)), error.fault)
    names = [note.removesuffix(unknown) for note in ignored if note.endswith(unknown)][
        :_MOST_IGNORED
    ]
    fix = f"{error.fix} Unknown arguments: {', '.join(names)}." if names else error.fix
    return InputError(error.field, fault, fix)


_FAULTS: Final = {
    "missing": ("it is missing", "Send it."),
    "greater_than_equal": ("{value} is too small", "Send {ge} or more."),
    "less_than_equal": ("{value} is too large", "Send {le} or less."),
    "over_limit": ("it has {count} {what}", "Send at most {bound}."),
    "string_too_short": ("it is empty", "Send text."),
    "string_too_long": ("it has {length} characters", "Send at most {max_length}."),
    "too_long": ("it has {length} items", "Send at most {max_length}."),
    "finite_number": ("{value} is not a number", "Send a finite number."),
    "int_from_float": ("{value} is not a whole number", "Send a whole number."),
}
_WANTED: Final = {
    "string": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
}
_KINDS: Final = (  # the first that fits: a truth value is an int to Python as well
    (bool, "true or false"),
    ((int, float), "a number"),
    (str, "text"),
    (type(None), "null"),
    ((list, tuple), "a list"),
    (dict, "an object"),
)


def _kind_of(value: object) -> str:
    """Return what a JSON value is, in words."""
    return next((words for kind, words in _KINDS if isinstance(value, kind)), "something else")


def explain(errors: Sequence[Any]) -> InputError:
    """Return the first of pydantic's errors as an InputError, with the number of the others."""
    error = errors[0]
    kind, value, details = error["type"], error["input"], error.get("ctx", {})
    if kind in _FAULTS:
        values = {
            **details,
            "value": value,
            "length": len(value) if hasattr(value, "__len__") else "too many",
        }
        fault, fix = (text.format_map(values) for text in _FAULTS[kind])
    elif kind == "value_error":  # raised by a validator of ours as `fault|fix`
        fault, _, fix = str(details["error"]).partition("|")
    elif kind in ("enum", "literal_error"):
        names = [
            part.strip().strip("'")
            for part in str(details.get("expected", "")).replace(" or ", ", ").split(",")
        ]
        near = get_close_matches(str(value)[:80].lower(), names, n=1, cutoff=0.5)
        # A validator may have changed its case, by which a secret is known: only a plain word is repeated.
        word = f"'{quoted(value)}'" if _PLAIN_WORD.fullmatch(str(value)) else "this"
        fault = f"{word} is not one of its values"
        fix = f"Send one of {', '.join(names)}." + (f" Did you mean '{near[0]}'?" if near else "")
    elif kind.endswith(("_type", "_parsing")):
        wanted = _WANTED.get(
            kind.rsplit("_", 1)[0], "a list" if "list" in kind or "tuple" in kind else "an object"
        )
        fault, fix = (
            f"it is {_kind_of(value)}, not {wanted}",
            f"Send {wanted}.",
        )
    else:
        fault, fix = quoted(error["msg"], 200), "Send a value that the tool's schema allows."
    more = f" ({len(errors) - 1} more to correct after this one)" if len(errors) > 1 else ""
    return InputError(_error_path(error["loc"]), fault, f"{fix}{more}")


def _error_path(loc: Sequence[str | int]) -> str:
    """Return `("events", 2, "type")` as `events[2].type`; the names of union members are left out."""
    path = ""
    for part in loc:
        if isinstance(part, int):
            path += f"[{part}]"
        elif str(part).isidentifier() or not path:
            path += f".{quoted(part, 40)}"
    return quoted(path.removeprefix("."), 120) or "arguments"


def check_values(sent: Mapping[str, Any], limits: Limits) -> None:
    """Refuse deep nesting, text that is not Unicode, NUL characters, and numbers that are not finite."""
    count = 0

    def check(value: object, path: tuple[Any, ...]) -> None:
        nonlocal count
        if isinstance(value, Mapping | list | tuple):
            items: Any = (
                cast("Any", value).items()
                if isinstance(value, Mapping)
                else enumerate(cast("Any", value))
            )
            count += len(cast("list[Any]", value))
            limits.refuse_more("max_values", "arguments", count, "values")
            if value and len(path) >= limits.max_depth:
                fault = f"it is nested more than {limits.max_depth} levels deep"
                raise InputError(
                    _error_path(path)[:80], fault, "Send a flatter value, or its text."
                )
            if not isinstance(value, Mapping) and set(map(type, cast("list[str]", value))) == {str}:
                items = (
                    () if _is_plain("".join(cast("list[str]", value))) else items
                )  # a word list is checked at once
            for name, item in items:
                if not _is_plain(name):
                    _check_value(name, path)
                if not _is_plain(item):
                    check(item, (*path, name))
        else:
            _check_value(value, path)

    check(sent, ())


def _is_plain(value: object) -> bool:
    """True for what most values are, so that a call of many megabytes is checked in milliseconds."""
    return (isinstance(value, str) and value.isascii() and "\0" not in value) or value is None


def _check_value(value: object, path: tuple[Any, ...]) -> None:
    fault, fix = "", "Send valid Unicode text."
    if isinstance(value, str):
        if "\0" in value:
            fault, fix = (
                f"it holds a NUL byte at character {value.index(chr(0))}",
                "Send text without it.",
            )
        try:
            value.encode()
        except UnicodeEncodeError as error:
            fault = fault or f"it holds half of a character (a lone surrogate) at {error.start}"
    elif isinstance(value, int) and value.bit_length() > _MOST_BITS:
        fault, fix = "it is a number of more than 300 digits", "Send a smaller number, or its text."
    elif isinstance(value, float) and not math.isfinite(value):
        fault, fix = f"{value} is not a number", "Send a finite number."
    if fault:
        raise InputError(_error_path(path), fault, fix)


# Types of arguments: limits.


def most(name: str) -> BeforeValidator:
    """Refuse a text of more characters, or a list or object of more items, than the limit `name` allows.

    Runs before other validators.
    """

    def check(value: Any, info: ValidationInfo) -> Any:
        bound = getattr(ReadContext.of(info).limits, name)
        count = len(cast("str", value)) if isinstance(value, str | list | tuple | dict) else 0
        if count > bound:
            what = "characters" if isinstance(value, str) else "items"
            raise PydanticCustomError(
                "over_limit", "too much", {"count": count, "what": what, "bound": bound}
            )
        return cast("object", value)

    return BeforeValidator(check)


def in_all(name: str) -> BeforeValidator:
    """Refuse a JSON value whose texts have more characters together than the limit `name` allows."""

    def check(value: Any, info: ValidationInfo) -> Any:
        ReadContext.of(info).limits.refuse_more(name, str(info.field_name), characters(value))
        return value

    return BeforeValidator(check)


def not_blank(text: str) -> str:
    if not any(char.isprintable() and not char.isspace() for char in text):
        raise ValueError("it is empty|Send text.")
    return text


# Forms that are understood.


def as_text(value: Any) -> Any:
    """Return a list as its lines, an object or a number as its JSON text."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        return "\n".join(
            str(as_text(item)) for item in cast("list[Any]", value) if item is not None
        )
    return json.dumps(value, ensure_ascii=False)


def as_list(value: Any, info: ValidationInfo) -> Any:
    """Return a list from JSON text, a bulleted text, an object or one text; without None, and with texts as items."""
    value = parsed(value, ReadContext.of(info))
    if isinstance(value, str):
        items: list[Any] = _BULLET.split(value) if len(_BULLET.findall(value)) > 1 else [value]
        items = [item.strip() for item in items]
    elif isinstance(value, Mapping):
        items = [
            f"{name}: {as_text(item)}" for name, item in cast("Mapping[Any, Any]", value).items()
        ]
    elif isinstance(value, list | tuple):
        items = [as_text(item) for item in cast("list[Any]", value) if item is not None]
    else:
        return value
    return tuple(item for item in items if not isinstance(item, str) or item.strip())


def _as_labels(value: Any, info: ValidationInfo) -> Any:
    if isinstance(value, str) and "," in value and value.lstrip()[:1] not in ("[", "{", "("):
        value = [part.strip() for part in value.split(",")]
    return as_list(value, info)


def as_objects(value: Any, info: ValidationInfo) -> Any:
    """Return a list of objects from JSON text or from one object."""
    value = parsed(value, ReadContext.of(info))
    return [value] if isinstance(value, Mapping | str) else value


def as_json(value: Any, info: ValidationInfo) -> Any:
    """Return the value of a JSON text, else the value itself."""
    return parsed(value, ReadContext.of(info))


def share_of(value: Any) -> Any:
    """Return a share from a number, `"0.8"`, `"80%"`, `"8/10"` or `high`; anything else as it is.

    A plain number of 2 to 10 is in tenths, a larger one a percentage.
    """
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value)
        if match is None:
            return SCORE_WORDS.get(value.strip().lower(), value)
        value = float(match[1].replace(",", "."))
        if match[2]:
            return value / (int(match[3] or _PERCENT) or 1)
    tenths_or_percent = isinstance(value, int | float) and 2 <= value <= _PERCENT
    return value / (10 if value <= 10 else _PERCENT) if tenths_or_percent else value


def _as_count(value: Any) -> Any:
    if isinstance(value, str):
        match = re.match(r"\s*(\d{1,9})(?![\d.])", value)
        return int(match[1]) if match else value
    return len(cast("list[Any]", value)) if isinstance(value, list | tuple) else value


def meanings(words: Mapping[str, str]) -> dict[str, str]:
    """Return the value of each word, from the words of each value."""
    return {word: value for value, several in words.items() for word in several.split()}


def choice(kind: type[StrEnum], words: Mapping[str, str]) -> BeforeValidator:
    """Accept the values of an enum in any case, near misses, and the `words` for each value."""
    synonyms = meanings(words)

    def find(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        word = normalized(without_class(value))
        near = [word] if word in {*kind} else get_close_matches(word[:40], [*kind], n=1, cutoff=0.8)
        return synonyms.get(word) or (near[0] if near else value.strip().lower())

    return BeforeValidator(find)


_Text: Final = BeforeValidator(as_text)
Task: TypeAlias = Annotated[
    str, Field(min_length=1), AfterValidator(not_blank), most("max_task_chars"), _Text
]
Passage: TypeAlias = Annotated[
    str, Field(min_length=1), AfterValidator(not_blank), most("max_lesson_chars"), _Text
]
Label: TypeAlias = Annotated[
    str,
    Field(min_length=1),
    AfterValidator(clean_text),
    AfterValidator(not_blank),
    most("max_label_chars"),
    _Text,
]
"""A name, redacted as it is stored, so that it can be looked up."""
Phrase: TypeAlias = Annotated[
    str, Field(min_length=1), AfterValidator(not_blank), most("max_phrase_chars"), _Text
]
Labels: TypeAlias = Annotated[
    tuple[Label, ...], most("max_list_items"), BeforeValidator(_as_labels)
]
Phrases: TypeAlias = Annotated[tuple[Phrase, ...], most("max_list_items"), BeforeValidator(as_list)]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1), BeforeValidator(share_of)]
Count: TypeAlias = Annotated[int, BeforeValidator(_as_count)]
Detail: TypeAlias = Annotated[bool, Field(description="Answer with every field")]
Judgment: TypeAlias = Annotated[JsonValue, in_all("max_analysis_chars"), BeforeValidator(as_json)]
"""An analysis by the agent: an object, its JSON text, or plain text."""
