"""The kinds of text and number that arguments are made of, with their limits."""

from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field

from mcp_reflect.records.trace import ErrorCategory


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


Task: TypeAlias = Annotated[str, Field(min_length=1, max_length=20_000), AfterValidator(_not_blank)]
Passage: TypeAlias = Annotated[str, Field(min_length=1, max_length=5_000), AfterValidator(_not_blank)]
Label: TypeAlias = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_not_blank)]
Phrase: TypeAlias = Annotated[str, Field(min_length=1, max_length=2_000), AfterValidator(_not_blank)]
Labels: TypeAlias = Annotated[tuple[Label, ...], BeforeValidator(_some), Field(max_length=20)]
Phrases: TypeAlias = Annotated[tuple[Phrase, ...], BeforeValidator(_some), Field(max_length=20)]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]
Category: TypeAlias = Annotated[ErrorCategory, BeforeValidator(_category)]
