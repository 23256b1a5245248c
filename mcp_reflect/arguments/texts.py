"""The kinds of text and number that arguments are made of, with their limits."""

from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo
from pydantic_core import PydanticCustomError

from mcp_reflect.config import DEFAULT, Limits, characters
from mcp_reflect.models.run import ErrorCategory
from mcp_reflect.security.redact import clean_text


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
