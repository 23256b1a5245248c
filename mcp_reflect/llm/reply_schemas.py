"""The JSON schema that asks a model for a reply, made of the shape in a prompt template.

It is of the narrow form to which providers hold a reply: each object is closed, all its names are required, and limits
stand in descriptions alone.
"""

import json
from collections.abc import Mapping

from mcp_reflect.models.common import Json

_TYPES = ("string", "number", "integer", "boolean")


def schema_of(shape: Mapping[str, Json]) -> dict[str, Json]:
    """Return `{"importance": "number 0..1", "tags": ["string"]}` as a schema that requires every name."""
    return {
        "type": "object",
        "properties": {name: _schema(item) for name, item in shape.items()},
        "required": list(shape),
        "additionalProperties": False,
    }


def _schema(item: Json) -> Json:
    """Return the schema of a part of a shape: an object, a list of what its first item shows, or a plain value."""
    if item == {}:
        return {"type": "object"}
    if isinstance(item, dict):
        return schema_of(item)
    if item == []:
        return {"type": "array", "items": _schema_of_value("string")}
    if isinstance(item, list):
        return {"type": "array", "items": _schema(item[0])}
    return _schema_of_value(str(item))


def _schema_of_value(text: str) -> dict[str, Json]:
    """Return the schema of a plain value, by the words of a shape.

    "number 0..1"    -> {"type": "number", "description": "0..1"}
    "string or null" -> {"anyOf": [{"type": "string"}, {"type": "null"}]}
    """
    json_type = _type_of(text)
    schema: dict[str, Json] = {"type": json_type}
    if "or null" in text:
        schema = {"anyOf": [{"type": json_type}, {"type": "null"}]}
    description = text.removeprefix(json_type).lstrip(", ")
    if description and description != "or null":
        schema["description"] = description
    return schema


def _type_of(text: str) -> str:
    """Return the type of JSON that the words of a shape begin with: "integer from 1" -> "integer"; else "string"."""
    for name in _TYPES:
        if text.startswith(name):
            return name
    return "string"


def is_closed(schema: Mapping[str, Json]) -> bool:
    """Return whether no object in a schema of ours allows additional names, so that a provider can enforce it.

    An object of any names stands as {} in a shape, and as {"type": "object"} alone in its schema.
    """
    return '{"type": "object"}' not in json.dumps(schema)
