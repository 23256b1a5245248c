"""Shapes and results as small JSON schemas: no titles, no null unions, results one level deep."""

from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from mcp_reflect.arguments.door import Shape

UNLISTED = frozenset(
    "project trigger related_ids min_importance min_effectiveness step_description timestamp metadata "
    "decided executed".split()
)
"""Accepted, and never something a model must guess: settings, hooks and callers in Python say it."""

_DROPPED = ("title", "maxLength", "minLength", "additionalProperties", "default")


def input_schema(shape: type[Shape]) -> dict[str, Any]:
    """The input schema of a shape, shallow and without what only costs bytes; the door checks all of it."""
    schema = shape.model_json_schema()
    found = _plain(schema, schema.get("$defs", {}))
    found.pop("$defs", None)
    found.pop("description", None)
    return found


def listed(schema: Any) -> Any:
    """An input schema as tools/list shows it: without what is UNLISTED and the bounds of whole numbers.

    Defaults that go without saying (none, false, the first of a choice) are left out too.
    """
    if isinstance(schema, list):
        return [listed(item) for item in schema]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(schema, dict):
        return schema
    given: dict[str, Any] = dict(schema)  # pyright: ignore[reportUnknownArgumentType]
    return {
        name: {key: listed(inner) for key, inner in item.items() if key not in UNLISTED and not inner.get("unlisted")}
        if name == "properties"
        else listed(item)
        for name, item in given.items()
        if name not in ("minimum", "maximum")
        and not (name == "default" and (not item or item == given.get("enum", [None])[0]))
    }


def output_schema(result: type) -> dict[str, Any]:
    """The fields of a result and their types; nothing is required, for what is null or empty is left out."""
    hints = get_type_hints(result)
    return {
        "type": "object",
        "properties": {item.name: {"type": _json_type(hints[item.name])} for item in fields(result)},
    }


def _plain(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """A schema without titles, references, null unions and length limits."""
    if isinstance(schema, list):
        return [_plain(item, definitions) for item in schema]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(schema, dict):
        return schema
    given: dict[str, Any] = dict(schema)  # pyright: ignore[reportUnknownArgumentType]
    if "$ref" in given:
        referred = definitions.get(given.pop("$ref").rsplit("/", 1)[-1], {})
        return _plain(
            {**{name: item for name, item in referred.items() if name != "description"}, **given}, definitions
        )
    for union in ("anyOf", "oneOf"):
        options = [option for option in given.get(union, ()) if option != {"type": "null"}]
        if union in given and len(options) == 1:
            del given[union]
            return _plain({**options[0], **given}, definitions)
        if options:
            del given[union]
            given["type"] = [option["type"] for option in options]
    if "properties" in given:
        given["properties"] = {name: _plain(item, definitions) for name, item in given["properties"].items()}
    cleaned = {
        name: item if name == "properties" else _plain(item, definitions)
        for name, item in given.items()
        if name not in _DROPPED or (name == "default" and isinstance(item, int | float | str) and item != "")
    }
    bounds = ("minimum", "maximum") if given.get("type") == "number" else ()
    return {name: item for name, item in cleaned.items() if item != {} and name not in ("maxItems", *bounds)}


def _json_type(hint: Any) -> str:
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return _json_type(next(part for part in get_args(hint) if part is not NoneType))
    kind = origin or hint
    if kind is Literal:
        return "string"
    if kind is bool:
        return "boolean"
    if kind is int:
        return "integer"
    if kind is float:
        return "number"
    if isinstance(kind, type) and issubclass(kind, str | Enum):
        return "string"
    return "array" if kind in (tuple, list) else "object"
