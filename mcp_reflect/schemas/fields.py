"""Read the arguments of a call: what can be understood is used, the rest is reported or refused.

Names are matched in any case and with known synonyms. An optional argument that cannot be read is left out and
reported in `ignored`. An InputError remains where a required argument is missing or unreadable, or a limit is exceeded.
"""

import ast
import json
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

from mcp_reflect.errors import InputError
from mcp_reflect.limits import DEFAULT, Limits, characters
from mcp_reflect.models.common import SCORE_WORDS
from mcp_reflect.schemas.faults import UNKNOWN, error_path, explain, with_notes
from mcp_reflect.schemas.value_checks import CheckedArguments, check_values
from mcp_reflect.security.redact import clean_text, quoted

_Arguments = TypeVar("_Arguments", bound="Arguments")

_TYPO_CUTOFF: Final = 0.84
_PARSED_CHARS: Final = 1_000_000
_WRAPPERS: Final = ("arguments", "args", "input", "params", "parameters", "kwargs", "payload")
_MOST_IGNORED: Final = 5
_MOST_NAMES: Final = 200  # of a call; no shape has a third of that
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_PERCENT: Final = 100
_TENTHS: Final = 10
_LEAST_TENTHS: Final = 2  # a plain 1 is the whole
_OPENING: Final = ("[", "{", "(")  # of JSON or of a Python literal
_COUNT: Final = re.compile(r"\s*(\d{1,9})(?![\d.])")
_NUMBER: Final = re.compile(r"\s*+([+-]?\d+(?:[.,]\d+)?)\s*+(%|percent|(?:/|out of)\s*(\d+))?\s*")
_BULLET: Final = re.compile(r"(?m)^\s*(?:[-*•]|\d+[.)])\s+")
_CLASS: Final = re.compile(r"^\s*[A-Z]\w*\.(?=\w)")


@dataclass(frozen=True, slots=True)
class ReadContext:
    """The limits of a call, and the notes on what was left out of it."""

    limits: Limits = DEFAULT
    ignored: list[str] = field(default_factory=list[str])

    @classmethod
    def of(cls, info: ValidationInfo) -> "ReadContext":
        """Return the context of the current `read`."""
        if isinstance(info.context, ReadContext):
            return info.context
        return cls()


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
        kept = notes[:_MOST_IGNORED]
        if len(notes) > _MOST_IGNORED:
            kept.append(f"and {len(notes) - _MOST_IGNORED} more")
        self._ignored = tuple(kept)
        return self


def read(shape: type[_Arguments], sent: Mapping[str, Any], limits: Limits = DEFAULT) -> _Arguments:
    """Read arguments into `shape`. InputError names the field, the fault and the fix."""
    if not isinstance(sent, CheckedArguments):
        check_values(sent, limits)
    context = ReadContext(limits)
    values = shape.gathered(_few_names(shape, _unwrapped(shape, sent), context))
    values = named(shape, values, context)
    while True:  # each repair takes an argument out or makes it valid
        try:
            return shape.model_validate(values, context=context).with_ignored(context.ignored)
        except ValidationError as error:
            errors = error.errors()
            if not _repaired(shape, values, errors[0], context):
                raise with_notes(explain(errors), context.ignored, _MOST_IGNORED) from None
        except InputError as error:
            raise with_notes(error, context.ignored, _MOST_IGNORED) from None


def _unwrapped(shape: type[Arguments], sent: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments themselves where they were sent as `{"arguments": {...}}`, also as JSON text."""
    values = {str(name): value for name, value in sent.items() if value is not None}
    if len(values) != 1:
        return values
    (name,) = values
    if name not in _WRAPPERS or name in shape.model_fields:
        return values
    inner = parsed(values[name])
    if not isinstance(inner, dict):
        return values
    return {str(name): value for name, value in cast("dict[Any, Any]", inner).items()}


def _few_names(
    shape: type[Arguments], values: dict[str, Any], context: ReadContext
) -> dict[str, Any]:
    """Return the first arguments of very many, those of the shape before others: what each may mean takes time."""
    if len(values) <= _MOST_NAMES:
        return values
    names = sorted(values, key=lambda name: name not in shape.model_fields)
    context.ignored.append(f"{len(names) - _MOST_NAMES} more names{UNKNOWN}")
    return {name: values[name] for name in names[:_MOST_NAMES]}


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
            context.ignored.append(f"{quoted(path + name, 120)}{UNKNOWN}")
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
    return next(iter(near), None)


@cache
def _names_of(shape: type[Arguments]) -> dict[str, str]:
    names = {own: own for own in shape.model_fields}
    for own, words in shape.SYNONYMS.items():
        names |= dict.fromkeys(words.split(), own)
    return names | dict(shape.ALIASES)


def normalized(word: str) -> str:
    """Return a name in lower case with underscores: `tool_call` for `Tool-Call`."""
    return word.strip().lower().replace(" ", "_").replace("-", "_")


def without_class(word: str) -> str:
    """Return the name of a member of an enum: `FAILURE` for `OutcomeType.FAILURE`."""
    return _CLASS.sub("", word, count=1)


def parsed(value: Any, context: ReadContext | None = None) -> Any:
    """Return the value of a text of JSON or of a Python literal; anything else as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith(_OPENING):
        return value
    if len(value) > _PARSED_CHARS:
        return value
    result = _read_literal(value)
    if not isinstance(result, dict | list | tuple):
        return value
    check_values({"arguments": result}, context.limits if context else DEFAULT)
    return cast("Any", result)


def _read_literal(text: str) -> Any:
    """The value of a text of JSON or of a Python literal; None of another text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None


def _repaired(
    shape: type[Arguments], values: dict[str, Any], error: Any, context: ReadContext
) -> bool:
    """Remove an invalid optional argument, or clamp it to its bounds. Return False if neither is allowed."""
    name, place = "".join(map(str, error["loc"][:1])), None
    if len(error["loc"]) > 1:
        place = error["loc"][1]
    if name not in values or not _may_be_left_out(shape, name, error):
        return False
    fault = explain([error]).fault
    details = error.get("ctx", {})
    bound = details.get("le", details.get("ge"))
    if place is None and bound is not None:
        values[name] = bound
        context.ignored.append(f"{name}: {fault}, {bound:g} used")
    elif _has_item(values[name], place):
        values[name] = [item for at, item in enumerate(values[name]) if at != place]
        context.ignored.append(f"{error_path(error['loc'])}: {fault}")
    else:
        del values[name]
        context.ignored.append(f"{name}: {fault}")
    return True


def _may_be_left_out(shape: type[Arguments], name: str, error: Any) -> bool:
    """True for an optional argument that is not strict. What is too long is never left out in silence."""
    if name not in shape.model_fields or shape.model_fields[name].is_required():
        return False
    return name not in shape.STRICT and error["type"] not in ("over_limit", "string_too_long")


def _has_item(value: Any, place: object) -> bool:
    """True if the value is a list that has an item at this place."""
    if not isinstance(value, list | tuple) or not isinstance(place, int):
        return False
    return place < len(cast("list[Any]", value))


# Types of arguments: limits.


def most(name: str) -> BeforeValidator:
    """Refuse a text of more characters, or a list or object of more items, than the limit `name` allows.

    Runs before other validators.
    """

    def check(value: Any, info: ValidationInfo) -> Any:
        bound = getattr(ReadContext.of(info).limits, name)
        if not isinstance(value, str | list | tuple | dict):
            return cast("object", value)
        count = len(cast("str", value))
        if count > bound:
            what = "items"
            if isinstance(value, str):
                what = "characters"
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
    items: list[Any]
    if isinstance(value, str):
        items = _listed(value)
    elif isinstance(value, Mapping):
        pairs = cast("Mapping[Any, Any]", value).items()
        items = [f"{name}: {as_text(item)}" for name, item in pairs]
    elif isinstance(value, list | tuple):
        items = [as_text(item) for item in cast("list[Any]", value) if item is not None]
    else:
        return value
    return tuple(item for item in items if not isinstance(item, str) or item.strip())


def _listed(text: str) -> list[str]:
    """The items of a text with several bullets; of another the text itself."""
    if len(_BULLET.findall(text)) < 2:
        return [text.strip()]
    return [item.strip() for item in _BULLET.split(text)]


def _as_labels(value: Any, info: ValidationInfo) -> Any:
    if isinstance(value, str) and "," in value and not value.lstrip().startswith(_OPENING):
        value = [part.strip() for part in value.split(",")]
    return as_list(value, info)


def as_objects(value: Any, info: ValidationInfo) -> Any:
    """Return a list of objects from JSON text or from one object."""
    value = parsed(value, ReadContext.of(info))
    if isinstance(value, Mapping | str):
        return [value]
    return value


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
    if not isinstance(value, int | float) or not _LEAST_TENTHS <= value <= _PERCENT:
        return value
    if value <= _TENTHS:
        return value / _TENTHS
    return value / _PERCENT


def _as_count(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return len(cast("list[Any]", value))
    if not isinstance(value, str):
        return value
    match = _COUNT.match(value)
    if match is None:
        return value
    return int(match[1])


def meanings(words: Mapping[str, str]) -> dict[str, str]:
    """Return the value of each word, from the words of each value."""
    value_of: dict[str, str] = {}
    for value, several in words.items():
        value_of |= dict.fromkeys(several.split(), value)
    return value_of


def choice(kind: type[StrEnum], words: Mapping[str, str]) -> BeforeValidator:
    """Accept the values of an enum in any case, near misses, and the `words` for each value."""
    synonyms = meanings(words)

    def find(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        word = normalized(without_class(value))
        if word in synonyms:
            return synonyms[word]
        if word in {*kind}:
            return word
        near = get_close_matches(word[:40], [*kind], n=1, cutoff=0.8)
        return next(iter(near), value.strip().lower())

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
