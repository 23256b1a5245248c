"""The JSON schema of a reply, from the shape in a prompt template."""

from collections.abc import Mapping

from mcp_reflect.models.common import Json

# The JSON schema of a reply, from the shape that a prompt template shows.


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


# JSON schemas in the narrow form that providers can hold a reply to.


_KEPT = {"type", "enum", "const", "description", "$ref", "required"}
_DROPPED = {"title", "$schema", "$id", "$comment", "default", "examples", "additionalProperties"}
_VARIANTS = {"anyOf": "anyOf", "oneOf": "anyOf", "allOf": "allOf"}
_READ = {"properties", "$defs", "items", *_VARIANTS}


def closed(schema: Mapping[str, Json]) -> dict[str, Json] | None:
    """Return the schema with every object closed and every limit moved into the description next to it.

    None where that loses something: an object whose names are free, or an array of anything, cannot be
    said in this form. What the schema says beyond it still holds when the reply is checked.
    """
    try:
        return _closed(schema)
    except _FreeFormError:
        return None


def is_strict(schema: Mapping[str, Json]) -> bool:
    """Return whether each object of a closed schema requires all it names, as a strict endpoint wants it."""
    properties = schema.get("properties")
    required = schema.get("required")
    if isinstance(properties, dict) and set(properties) != set(required if isinstance(required, list) else []):
        return False
    return all(is_strict(inner) for inner in _inner(schema))


class _FreeFormError(Exception):
    """The schema allows what the narrow form cannot say."""


def _closed(schema: Mapping[str, Json]) -> dict[str, Json]:
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return {"anyOf": [_closed({**schema, "type": kind}) for kind in kinds]}
    if _is_free(schema):
        raise _FreeFormError
    out: dict[str, Json] = {}
    for name, value in schema.items():
        if name in _KEPT:
            out[name] = value
        elif name in {"properties", "$defs"}:
            out[name] = {key: _closed(_object(inner)) for key, inner in _object(value).items()}
        elif name == "items":
            out[name] = _closed(_object(value))
        elif name in _VARIANTS and isinstance(value, list):
            out[_VARIANTS[name]] = [_closed(_object(inner)) for inner in value]
    if kinds == "object":
        out["additionalProperties"] = False
    limits = [f"{name} {value}" for name, value in schema.items() if name not in _KEPT | _READ | _DROPPED]
    if limits:
        out["description"] = f"{schema.get('description') or ''} ({', '.join(limits)})".strip()
    return out


def _is_free(schema: Mapping[str, Json]) -> bool:
    """Return whether it admits any value, any names in an object, or anything in an array."""
    kind = schema.get("type")
    if kind == "object":
        return not schema.get("properties")
    if kind == "array":
        return "items" not in schema
    return not schema.keys() & {"type", "enum", "const", "$ref", *_VARIANTS}


def _object(value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise _FreeFormError
    return value


def _inner(schema: Mapping[str, Json]) -> list[dict[str, Json]]:
    """Return the schemas that stand directly inside this one."""
    found: list[Json] = [schema.get("items")]
    for name in ("properties", "$defs"):
        value = schema.get(name)
        found += value.values() if isinstance(value, dict) else []
    for name in _VARIANTS:
        value = schema.get(name)
        found += value if isinstance(value, list) else []
    return [value for value in found if isinstance(value, dict)]
