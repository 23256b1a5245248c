"""The JSON schema of a reply, from the shape that a prompt template shows."""

from collections.abc import Mapping

from mcp_reflect.models.common import Json

_TYPES = ("string", "number", "integer", "boolean")


def schema_of(shape: Mapping[str, Json]) -> dict[str, Json]:
    """`{"importance": "number 0..1", "tags": ["string"]}` as a schema that requires every name."""
    return {
        "type": "object",
        "properties": {name: _schema(item) for name, item in shape.items()},
        "required": list(shape),
    }


def _schema(item: Json) -> Json:
    if isinstance(item, dict):
        return schema_of(item) if item else {"type": "object"}
    if isinstance(item, list):
        return {"type": "array", "items": _schema(item[0] if item else "string")}
    text = str(item)
    kind = next((name for name in _TYPES if text.startswith(name)), "string")
    rest = text.removeprefix(kind).lstrip(", ")
    schema: dict[str, Json] = {"type": [kind, "null"] if "or null" in text else kind}
    return {**schema, "description": rest} if rest and rest != "or null" else schema
