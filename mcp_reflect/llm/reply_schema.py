"""The JSON schema of a reply, from the shape in a prompt template: in the narrow form to which providers hold a reply.

The narrow form closes each object, requires all its names, and has no limits but in descriptions.
"""

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
    if isinstance(item, dict):
        return schema_of(item) if item else {"type": "object"}
    if isinstance(item, list):
        return {"type": "array", "items": _schema(item[0] if item else "string")}
    text = str(item)
    kind = next((name for name in _TYPES if text.startswith(name)), "string")
    description = text.removeprefix(kind).lstrip(", ")
    schema: dict[str, Json] = {"type": kind}
    if "or null" in text:
        schema = {"anyOf": [{"type": kind}, {"type": "null"}]}
    return {**schema, "description": description} if description and description != "or null" else schema


def by_criterion(value: Json) -> Json:
    """Return `[{"criterion": "safety", "score": 0.9}]`, as a closed schema allows it, as an object by criterion."""
    if not isinstance(value, list):
        return value
    entries = [item for item in value if isinstance(item, dict)]
    return {str(name): item for item in entries if (name := item.get("criterion") or item.get("name"))}


def is_closed(schema: Json) -> bool:
    """True if no object in the schema allows names of its own, so that a provider can hold a reply to it."""
    if isinstance(schema, list):
        return all(map(is_closed, schema))
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object" and not schema.get("properties"):
        return False
    return all(map(is_closed, schema.values()))
