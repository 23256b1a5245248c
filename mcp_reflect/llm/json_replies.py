"""The JSON of replies of language models: read from any text, and the schema that asks for it.

Nothing here raises, whatever the text. The reader finds the JSON containers (objects and lists) in it, reads each one
strictly, or through the `json_repair` library where it is broken, and picks those that the text presents as its answer.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from itertools import accumulate
from typing import NamedTuple

from mcp_reflect.models.common import Json

MAX_DEPTH = 60
"""Containers inside each other; a deeper value is not read."""
REPAIR_LIMIT = 200_000
"""Characters. The library takes seconds to repair a longer text."""
_VAIN_LIMIT = 300_000
"""Characters that are read as containers in vain before the rest of a text is given up."""

_DATA_TAGS = {"json", "json5", "jsonc", "jsonl", "jsonlines", "ndjson"}
_NOTHING: Json = {"": None}
_DECODER = json.JSONDecoder(strict=False)

_BRACKET = re.compile(r"[{}\[\]]")
_THINKING = re.compile(r"(?i)<(?:think|thinking|thought|reasoning|scratchpad)>")
_THOUGHT = re.compile(r"(?i)</(?:think|thinking|thought|reasoning|scratchpad)>")
_MARK = re.compile(r"(?:`{2,}|~{3,})[ \t]*(?P<tag>[\w+-]*)|(?P<bracket>[{\[])")
_TAIL = re.compile(r"""[\s}\])]*[,"':]""")


class _Container(NamedTuple):
    """A JSON object or list in a text, its end, and the tag of the code fence around it (None outside a fence)."""

    value: Json
    end: int
    fence: str | None


def read_json(text: str) -> Json:
    """Return the value that a text presents as its answer; a list of values where several are equally likely.

    Returns None where the text is too long or too deep to repair. A text without any container gives the result of
    `json_repair`, mostly `""`.
    """
    text = text.removeprefix("\ufeff")
    whole = _read_strictly(text)
    if isinstance(whole, str) and (inner := containers(whole)):
        return inner[0]
    if whole is not _NOTHING:
        return whole
    text = without_thinking(text)
    parts = list(_find_containers(text))
    # A text that begins with a container and goes on like JSON is one broken value.
    is_broken = text.lstrip()[:1] in {"{", "["} and any(_TAIL.match(text, one.end) for one in parts)
    if not parts or is_broken:
        repaired = _repair(text)
        if repaired is not None or not parts:
            return repaired
    best = max(map(_rank, parts))
    values = [part.value for part in parts if _rank(part) == best]
    return values[0] if len(values) == 1 else values


def containers(text: str) -> list[Json]:
    """Return every outermost object and list in a text, in order."""
    return [container.value for container in _find_containers(without_thinking(text))]


def read_object(text: str, keys: Collection[str]) -> dict[str, Json] | None:
    """Return the object in a text that has most of `keys` (the last of equals), or None where no object has any.

    It also looks inside wrappers such as `{"analysis": {...}}` or a list of one.
    """
    whole = _read_strictly(text)
    in_text = text if whole is _NOTHING else whole
    candidates = _objects_in(containers(in_text) if isinstance(in_text, str) else whole)
    with_keys = [candidate for candidate in reversed(candidates) if candidate.keys() & set(keys)]
    return max(with_keys, key=lambda candidate: len(candidate.keys() & set(keys)), default=None)


def _repair(text: str) -> Json:
    """Return what `json_repair` reads in `text`, or None where the text is too long, too deep or beyond the library."""
    if len(text) > REPAIR_LIMIT or _is_too_deep(text):
        return None
    import json_repair  # noqa: PLC0415 - half the replies never need it

    try:
        return json_repair.loads(text, skip_json_loads=True)  # type: ignore[return-value]
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, AssertionError, RuntimeError):
        return None


def without_thinking(text: str) -> str:
    """Remove text in thinking tags, unless no container stands behind it.

    A text that begins with a container stays as it is: tags inside a JSON string belong to it.
    """
    answer = _THINKING.split(_THOUGHT.split(text)[-1])[0]
    return answer if text.lstrip()[:1] not in {"{", "["} and _MARK.search(answer) else text


def _find_containers(text: str) -> Iterator[_Container]:
    """Yield the outermost containers of a text, from left to right.

    A container owns every fence inside its strings; a fence owns the containers that begin in it.
    """
    fence: str | None = None
    at, budget = 0, _VAIN_LIMIT
    while budget > 0 and (mark := _MARK.search(text, at)):
        start, at = mark.span()
        if not mark["bracket"]:
            fence = None if fence is not None and not mark["tag"] else mark["tag"].lower()
            continue
        value, end = _read_at(text, start)
        if value is None:
            budget -= end - start
        else:
            yield _Container(value, end, fence)
            at = end


def _read_at(text: str, start: int) -> tuple[Json, int]:
    """Return the container at `start` or None, and its end."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        depth, end = 0, len(text)  # a broken one ends where its brackets balance, else with the text
        for bracket in _BRACKET.finditer(text, start):
            depth += 1 if bracket[0] in "{[" else -1
            if depth == 0:
                end = bracket.end()
                break
        value = _repair(text[start:end])
        return value if value and isinstance(value, dict if text[start] == "{" else list) else None, end
    return None if _is_too_deep(text[start:end]) else value, end


def _read_strictly(text: str) -> Json:
    try:
        value: Json = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return _NOTHING
    return _NOTHING if _is_too_deep(text) else value


def _rank(container: _Container) -> int:
    """Return 0 (code, or empty) to 3 (fenced JSON): how likely a container is the answer, by its place and kind."""
    value, fence = container.value, container.fence
    if not value or fence not in {None, "", *_DATA_TAGS}:
        return 0
    is_flat = isinstance(value, list) and not any(isinstance(item, dict | list) for item in value)
    return 3 if fence in _DATA_TAGS else 1 if is_flat else 2


def _is_too_deep(text: str) -> bool:
    """True if brackets stand inside each other deeper than the limit, brackets in strings included."""
    depths = accumulate(1 if bracket in "{[" else -1 for bracket in _BRACKET.findall(text))
    return max(depths, default=0) > MAX_DEPTH


def _objects_in(value: Json, depth: int = 4) -> list[dict[str, Json]]:
    """Return the objects that a value offers: those of its items and members first, then itself."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) and depth else []
    inner = [candidate for item in items if depth > 0 for candidate in _objects_in(item, depth - 1)]
    return [*inner, value] if isinstance(value, dict) else inner


# The JSON schema of a reply, from the shape in a prompt template: in the narrow form to which providers hold a reply.
# It closes each object, requires all its names, and has no limits but in descriptions.

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


def as_mapping(value: Json, key: str) -> Json:
    """Return `[{key: "safety", "score": 0.9}]`, as a closed schema allows it, as an object by the value of `key`."""
    if not isinstance(value, list):
        return value
    entries = [item for item in value if isinstance(item, dict)]
    return {str(name): item for item in entries if (name := item.get(key) or item.get("name"))}


def is_closed(schema: Json) -> bool:
    """True if no object in the schema allows names of its own, so that a provider can hold a reply to it."""
    if isinstance(schema, list):
        return all(map(is_closed, schema))
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object" and not schema.get("properties"):
        return False
    return all(map(is_closed, schema.values()))
