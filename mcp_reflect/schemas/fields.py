"""The types of arguments: each takes the forms in which agents send it, such as a list in a text or a share as "80%"."""

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Final, Self, TypeAlias, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    PrivateAttr,
    ValidationInfo,
)
from pydantic_core import PydanticCustomError

from mcp_reflect.limits import DEFAULT, Limits, characters
from mcp_reflect.models.common import SCORE_WORDS
from mcp_reflect.schemas.value_checks import check_values
from mcp_reflect.security.redact import clean_text

_PARSED_CHARS: Final = 1_000_000
MOST_IGNORED: Final = 5
_LONGEST_CHOICE: Final = 40  # characters of a word that is compared with the values of an enum
_CHOICE_CUTOFF: Final = 0.8
"""The similarity (0..1, difflib's ratio) of a misspelled word to the value that it means."""

_PERCENT: Final = 100
_TENTHS: Final = 10
_LEAST_TENTHS: Final = 2  # a plain 1 is the whole
_OPENING: Final = ("[", "{", "(")  # of JSON or of a Python literal
_COUNT: Final = re.compile(r"\s*(\d{1,9})(?![\d.])")
_NUMBER: Final = re.compile(
    r"\s*+(?P<number>[+-]?\d+(?:[.,]\d+)?)\s*+(?P<unit>%|percent|(?:/|out of)\s*(?P<whole>\d+))?\s*"
)
_BULLET: Final = re.compile(r"(?m)^\s*(?:[-*•]|\d+[.)])\s+")
_CLASS: Final = re.compile(r"^\s*[A-Z]\w*\.(?=\w)")


@dataclass(frozen=True, slots=True)
class ReadContext:
    """The limits of a call, the notes on what was left out of it, and how many items of each field were not read."""

    limits: Limits = DEFAULT
    ignored: list[str] = field(default_factory=list[str])
    unread: dict[str, int] = field(default_factory=dict[str, int])

    @classmethod
    def of(cls, info: ValidationInfo) -> "ReadContext":
        """Return the context of the current `read`."""
        if isinstance(info.context, ReadContext):
            return info.context
        return cls()


class Arguments(BaseModel):
    """A frozen set of arguments."""

    model_config = ConfigDict(
        # A process reads the arguments of a tool or two: each shape is built at its first use.
        defer_build=True,
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        coerce_numbers_to_str=True,
    )

    ALIASES: ClassVar[Mapping[str, str]] = {}
    """The field of each name of older engines, which docs/tools.md lists."""

    SYNONYMS: ClassVar[Mapping[str, str]] = {}
    """More names of a field, separated by blanks; they are understood and not listed."""

    STRICT: ClassVar[frozenset[str]] = frozenset()
    """Optional fields that are refused, not left out, where they cannot be read."""

    GATHERED: ClassVar[frozenset[str]] = frozenset()
    """Names of no field, whose values `gathered` moves into one."""

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
        listed = notes[:MOST_IGNORED]
        if len(notes) > MOST_IGNORED:
            listed.append(f"and {len(notes) - MOST_IGNORED} more")
        self._ignored = tuple(listed)
        return self


def normalized(word: str) -> str:
    """Return a name in lower case with underscores: `tool_call` for `Tool-Call`."""
    return word.strip().lower().replace(" ", "_").replace("-", "_")


def without_class(word: str) -> str:
    """Return the name of a member of an enum: `FAILURE` for `OutcomeType.FAILURE`."""
    return _CLASS.sub("", word, count=1)


def parsed(value: Any, context: ReadContext | None = None) -> Any:
    """Return the object or list that a text is as JSON or as a Python literal; anything else as it is.

    "[1, 2]" -> [1, 2]; "{'a': None}" -> {"a": None}; "5" -> "5"
    """
    if not isinstance(value, str) or not value.lstrip().startswith(_OPENING):
        return value
    if len(value) > _PARSED_CHARS:
        return value
    result = _read_literal(value)
    if not isinstance(result, dict | list | tuple):
        return value
    limits = DEFAULT
    if context is not None:
        limits = context.limits
    check_values({"arguments": result}, limits)
    return cast("Any", result)


def _read_literal(text: str) -> Any:
    """Return the value of a text of JSON or of a Python literal; None for another text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None


# Types of arguments: limits.


def most(name: str) -> BeforeValidator:
    """Refuse a text of more characters, or a list or object of more items, than the limit `name` allows.

    Runs before other validators.
    """

    def check(value: Any, info: ValidationInfo) -> Any:
        """Return the value if it is not too long; what is neither text, list nor object is checked by its type."""
        most_allowed = getattr(ReadContext.of(info).limits, name)
        if not isinstance(value, str | list | tuple | dict):
            return cast("object", value)
        count = len(cast("str", value))
        if count > most_allowed:
            unit = "items"
            if isinstance(value, str):
                unit = "characters"
            details = {"count": count, "what": unit, "bound": most_allowed}
            raise PydanticCustomError("over_limit", "too much", details)  # faults.py words it
        return cast("object", value)

    return BeforeValidator(check)


def in_all(name: str) -> BeforeValidator:
    """Refuse a JSON value whose texts have more characters together than the limit `name` allows."""

    def check(value: Any, info: ValidationInfo) -> Any:
        """Return the value if it is not too long."""
        ReadContext.of(info).limits.refuse_more(name, str(info.field_name), characters(value))
        return value

    return BeforeValidator(check)


def not_blank(text: str) -> str:
    """Return the text; ValueError, as `fault|fix`, if nothing of it can be seen."""
    if not any(char.isprintable() and not char.isspace() for char in text):
        raise ValueError("it is empty|Send text.")
    return text


# Forms that are understood.


def as_text(value: Any) -> Any:
    """Return a list as a text with a line for each item, an object or a number as its JSON, and a text as it is."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        return "\n".join(
            str(as_text(item)) for item in cast("list[Any]", value) if item is not None
        )
    return json.dumps(value, ensure_ascii=False)


def as_list(value: Any, info: ValidationInfo) -> Any:
    """Return the texts of a list, in whatever form it was sent, without None and blank items.

    | sent                  | the list                                        |
    |-----------------------|-------------------------------------------------|
    | '["a", "b"]'          | "a", "b"                                        |
    | a text with bullets   | its items                                       |
    | any other text        | the text                                        |
    | {"a": 1}              | "a: 1"                                          |
    | anything else         | stays as it is, and is refused later            |
    """
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
    """Return the items of a text with several bullets; another text is one item."""
    if len(_BULLET.findall(text)) < 2:
        return [text.strip()]
    return [item.strip() for item in _BULLET.split(text)]


def _as_labels(value: Any, info: ValidationInfo) -> Any:
    """Return a list as `as_list` does, also from words with commas between them: "web, deploy" -> "web", "deploy"."""
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
        value = float(match["number"].replace(",", "."))
        if match["unit"]:
            whole = int(match["whole"] or _PERCENT)
            return value / (whole or 1)
    if not isinstance(value, int | float) or not _LEAST_TENTHS <= value <= _PERCENT:
        return value
    if value <= _TENTHS:
        return value / _TENTHS
    return value / _PERCENT


def _as_count(value: Any) -> Any:
    """Return a count from a list, whose items are counted, or from a text that begins with one: `"3 of 5"`."""
    if isinstance(value, list | tuple):
        return len(cast("list[Any]", value))
    if not isinstance(value, str):
        return value
    match = _COUNT.match(value)
    if match is None:
        return value
    return int(match[1])


def meanings(words: Mapping[str, str]) -> dict[str, str]:
    """Return the value that each word means: {"partial": "partly mixed"} -> {"partly": "partial", "mixed": "partial"}."""
    value_of: dict[str, str] = {}
    for value, words_of_value in words.items():
        value_of |= dict.fromkeys(words_of_value.split(), value)
    return value_of


def choice(kind: type[StrEnum], words: Mapping[str, str]) -> BeforeValidator:
    """Accept the values of an enum in any case, the `words` for each value (see `meanings`), and near misses of a value."""
    synonyms = meanings(words)

    def find(value: Any) -> Any:
        """Return the value of the enum that a word means, else the word, which pydantic then refuses."""
        if not isinstance(value, str):
            return value
        word = normalized(without_class(value))
        if word in synonyms:
            return synonyms[word]
        if word in {*kind}:
            return word
        near = get_close_matches(word[:_LONGEST_CHOICE], [*kind], n=1, cutoff=_CHOICE_CUTOFF)
        if near:
            return near[0]
        return value.strip().lower()

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
