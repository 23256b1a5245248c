"""Values that most models share: JSON, the scope of a record, the names of judges."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from datetime import date, time
from enum import Enum, StrEnum
from functools import cache
from types import NoneType
from typing import Any, Final, TypeAlias, cast, get_args, get_origin, get_type_hints

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"

GLOBAL: Final = ""
SCORE_WORDS: Final = {
    "none": 0.0,
    "low": 0.3,
    "medium": 0.6,
    "moderate": 0.6,
    "high": 0.9,
    "critical": 1.0,
}
"""Scores in words, as agents send them."""
HOST: Final = "host"
"""The `thinker` of a result that the calling agent judged; a language model is `provider:model` or `sampling`."""
RULES: Final = "rules"
"""The `thinker` of a result that only rules judged."""
DEEPEST: Final = 100
"""Levels of a value that are converted; a deeper one is refused where it is read."""

_types_of_fields: Final = cache(get_type_hints)
"""The types of the fields of a model by name; Python resolves them anew each time."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The owner of records: a tenant (a person here; a team's server has many) and a project (`""` is global)."""

    tenant: str = "local"
    project: str = GLOBAL

    def __str__(self) -> str:
        """Return it in the words of answers: `project web`, or `global`."""
        if not self.project:
            return "global"
        return f"project {self.project}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link from a record to another one, or to an event, tool, file or error code."""

    relation: str
    to_kind: str
    to_id: str


def plain(model: Any) -> dict[str, Any]:
    """Return a model as a JSON object without members that are None or empty."""
    return compact(asdict(model))


def compact(value: Any) -> Any:
    """Return a JSON value without members that are None or empty; zero and False stay."""
    if isinstance(value, dict):
        members: dict[str, Any] = {}
        for name, member in cast("dict[str, Any]", value).items():
            compacted = compact(member)
            if compacted is not None and compacted not in ("", {}, []):
                members[name] = compacted
        return members
    if isinstance(value, list | tuple):
        return [compact(item) for item in cast("list[Any]", value)]
    return value


def json_of(text: str | bytes) -> Json:
    """Return the value of a JSON text: '{"a": 1}' -> {"a": 1}; None for a text that is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def to_json(value: Any, depth: int = 0) -> Json:
    """Return a value of Python as JSON carries it; `depth` is how many levels it lies deep in the value first sent.

    | value                           | JSON                                      |
    |---------------------------------|-------------------------------------------|
    | None, a boolean, number or text | the same                                  |
    | a member of an enum             | its value                                 |
    | a dataclass, a mapping          | an object                                 |
    | a list, tuple or set            | a list                                    |
    | bytes                           | a text                                    |
    | a date or time                  | a text in ISO 8601                        |
    | an object of pydantic           | as its `model_dump` says                  |
    | any other, such as a path       | its `str`                                 |
    | deeper than DEEPEST levels      | the same: where it is read, it is refused |
    """
    if value is None or isinstance(value, bool) or depth > DEEPEST:
        return value
    if isinstance(value, Enum):
        return to_json(value.value, depth + 1)
    if isinstance(value, str | int | float):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: to_json(getattr(value, item.name), depth + 1) for item in fields(value)}
    if isinstance(value, Mapping):
        return {
            str(name): to_json(item, depth + 1)
            for name, item in cast("Mapping[Any, Any]", value).items()
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [to_json(item, depth + 1) for item in cast("Iterable[Any]", value)]
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, date | time):
        return value.isoformat()
    dump: Any = getattr(cast("object", value), "model_dump", None)
    if callable(dump):  # an object of pydantic, as agents' frameworks have them
        return to_json(dump(), depth + 1)
    return str(cast("object", value))


def unpacked(value: Any) -> Any:
    """Return the object or list that a text has as JSON: '["a"]' -> ["a"]; any other value as it is: "7" -> "7"."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    packed = json_of(value)
    if packed is None:
        return value
    return packed


def from_json(wanted_type: Any, value: Any) -> Any:
    """Return a value of a type, such as a model, from the JSON of `asdict`.

    | the type                         | the value becomes                                                    |
    |----------------------------------|----------------------------------------------------------------------|
    | a model                          | one; members that it does not have are ignored, of a later release   |
    | an enum of texts                 | its member                                                           |
    | `tuple[X, ...]`, `Mapping[…, X]` | one of values of X                                                   |
    | `X | None`                       | a value of X, or None                                                |
    | any other                        | the value as it is                                                   |
    """
    if is_dataclass(wanted_type):
        types = _types_of_fields(wanted_type)
        members = {
            name: from_json(types[name], item) for name, item in value.items() if name in types
        }
        return cast("Any", wanted_type)(**members)
    if isinstance(wanted_type, type) and issubclass(wanted_type, StrEnum):
        return wanted_type(value)
    type_arguments = [part for part in get_args(wanted_type) if part is not NoneType]
    if get_origin(wanted_type) is tuple:
        return tuple(from_json(type_arguments[0], item) for item in value)
    if get_origin(wanted_type) is Mapping:
        return {name: from_json(type_arguments[1], item) for name, item in value.items()}
    is_optional = len(type_arguments) == 1
    if is_optional and value is not None:
        return from_json(type_arguments[0], value)
    return value
