"""The types of arguments, with their limits and the forms in which they are understood."""

import json
import re
from collections.abc import Mapping
from difflib import get_close_matches
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Final, TypeAlias, cast

from pydantic import AfterValidator, BeforeValidator, Field, JsonValue, ValidationInfo, WithJsonSchema
from pydantic_core import PydanticCustomError

from mcp_reflect.config import characters
from mcp_reflect.models.common import SCORE_WORDS
from mcp_reflect.models.run import ErrorCategory
from mcp_reflect.schemas.reading import Arguments, ReadContext, named, normalized, parsed
from mcp_reflect.security.redact import clean_text

_PERCENT: Final = 100
_NUMBER: Final = re.compile(r"\s*([+-]?\d+(?:[.,]\d+)?)\s*(%|/\s*(\d+)|percent)?\s*")
_BULLET: Final = re.compile(r"(?m)^\s*(?:[-*•]|\d+[.)])\s+")


# Limits.


def most(name: str) -> BeforeValidator:
    """Refuse a text of more characters, or a list or object of more items, than the limit `name` allows.

    Runs before other validators.
    """

    def check(value: Any, info: ValidationInfo) -> Any:
        bound = getattr(ReadContext.of(info).limits, name)
        count = len(cast("str", value)) if isinstance(value, str | list | tuple | dict) else 0
        if count > bound:
            what = "characters" if isinstance(value, str) else "items"
            raise PydanticCustomError("over_limit", "too much", {"count": count, "what": what, "bound": bound})
        return cast("object", value)

    return BeforeValidator(check)


def in_all(name: str) -> BeforeValidator:
    """Refuse a JSON value whose texts have more characters together than the limit `name` allows."""

    def check(value: Any, info: ValidationInfo) -> Any:
        ReadContext.of(info).limits.refuse_more(name, str(info.field_name), characters(value))
        return value

    return BeforeValidator(check)


def at_most(name: str) -> AfterValidator:
    """Refuse a number above the limit `name`."""

    def check(value: int, info: ValidationInfo) -> int:
        bound = getattr(ReadContext.of(info).limits, name)
        if value > bound:
            raise PydanticCustomError("over_bound", "too large", {"bound": bound})
        return value

    return AfterValidator(check)


def _not_blank(text: str) -> str:
    if not any(char.isprintable() and not char.isspace() for char in text):
        raise ValueError("it is empty|Send text.")
    return text


# Forms that are understood.


def as_text(value: Any) -> Any:
    """Return a list as its lines, an object or a number as its JSON text."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        return "\n".join(str(as_text(item)) for item in cast("list[Any]", value) if item is not None)
    return json.dumps(value, ensure_ascii=False)


def as_list(value: Any, info: ValidationInfo) -> Any:
    """Return a list from JSON text, a bulleted text, an object or one text; without None, and with texts as items."""
    value = parsed(value, ReadContext.of(info))
    if isinstance(value, str):
        items: list[Any] = _BULLET.split(value) if len(_BULLET.findall(value)) > 1 else [value]
        items = [item.strip() for item in items]
    elif isinstance(value, Mapping):
        items = [f"{name}: {as_text(item)}" for name, item in cast("Mapping[Any, Any]", value).items()]
    elif isinstance(value, list | tuple):
        items = [as_text(item) for item in cast("list[Any]", value) if item is not None]
    else:
        return value
    return tuple(item for item in items if not isinstance(item, str) or item.strip())


def _as_labels(value: Any, info: ValidationInfo) -> Any:
    """Return a list of names; one text is split at commas."""
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


def _as_share(value: Any, info: ValidationInfo) -> Any:
    """Return a share from a number, `"0.8"`, `"80%"`, `"8/10"` or `high`; 2 to 10 are tenths, more a percentage."""
    if isinstance(value, str):
        if value.strip().lower() in SCORE_WORDS:
            return SCORE_WORDS[value.strip().lower()]
        match = _NUMBER.fullmatch(value)
        if match is None:
            return value
        number = float(match[1].replace(",", "."))
        value = number / (int(match[3] or _PERCENT) or 1) if match[2] else number
    if isinstance(value, int | float) and 2 <= value <= _PERCENT:
        share = value / (10 if value <= 10 else _PERCENT)
        ReadContext.of(info).ignored.append(f"{info.field_name}: {value:g} read as {share:g}")
        return share
    return value


def _as_count(value: Any) -> Any:
    """Return a whole number from `"3"`, `"3 times"` or a list of what is counted."""
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
        word = normalized(value)
        near = [word] if word in {*kind} else get_close_matches(word[:40], [*kind], n=1, cutoff=0.8)
        return synonyms.get(word) or (near[0] if near else value.strip().lower())

    return BeforeValidator(find)


def as_category(value: Any) -> Any:
    """Return `timeout_error` for `timeout`, whatever its case."""
    name = normalized(value) if isinstance(value, str) else ""
    return next((known for known in (name, f"{name}_error") if known in {*ErrorCategory}), value)


_Text: Final = BeforeValidator(as_text)
Task: TypeAlias = Annotated[str, Field(min_length=1), AfterValidator(_not_blank), most("max_task_chars"), _Text]
Passage: TypeAlias = Annotated[str, Field(min_length=1), AfterValidator(_not_blank), most("max_lesson_chars"), _Text]
Label: TypeAlias = Annotated[
    str, Field(min_length=1), AfterValidator(clean_text), AfterValidator(_not_blank), most("max_label_chars"), _Text
]
"""A name, redacted as it is stored, so that it can be looked up."""
Phrase: TypeAlias = Annotated[str, Field(min_length=1), AfterValidator(_not_blank), most("max_phrase_chars"), _Text]
Labels: TypeAlias = Annotated[tuple[Label, ...], most("max_list_items"), BeforeValidator(_as_labels)]
Phrases: TypeAlias = Annotated[tuple[Phrase, ...], most("max_list_items"), BeforeValidator(as_list)]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1), BeforeValidator(_as_share)]
Count: TypeAlias = Annotated[int, BeforeValidator(_as_count)]
Detail: TypeAlias = Annotated[bool, Field(description="Answer with every field")]
Judgment: TypeAlias = Annotated[JsonValue, in_all("max_analysis_chars"), BeforeValidator(as_json)]
"""An analysis by the agent: an object, its JSON text, or plain text."""


class ResultArguments(Arguments):
    """Evidence: what a tool printed."""

    SYNONYMS: ClassVar = {
        "content": "output stdout result text response message stderr error",
        "tool": "tool_name name command cmd",
        "exit_code": "exitcode code status returncode return_code",
    }

    tool: Label | None = None
    content: Annotated[str, most("max_result_chars"), _Text] = ""
    exit_code: Count | None = None


def _results(value: Any, info: ValidationInfo) -> Any:
    """Return tool results under our names; a text is a result."""
    value = as_objects(value, info)
    if not isinstance(value, list | tuple):
        return value
    items = [item for item in cast("list[Any]", value) if item is not None]
    context = ReadContext.of(info)
    return [
        named(ResultArguments, cast("dict[str, Any]", item), context, f"tool_results[{place}].")
        if isinstance(item, dict)
        else {"content": item}
        for place, item in enumerate(items)
    ]


Results: TypeAlias = Annotated[
    tuple[ResultArguments, ...],
    most("max_results"),
    BeforeValidator(_results),
    # The description has the fields: a nested schema would cost every client 250 bytes more.
    WithJsonSchema({"type": "array", "items": {"type": "object"}, "description": "[{tool, content, exit_code}]"}),
]
