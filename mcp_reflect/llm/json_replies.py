"""The JSON of replies of language models: read from any text, and the schema that asks for it.

No text makes the reader raise. Objects that are JSON are read as they are, broken ones by the library `json_repair`.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress

from mcp_reflect.models.common import Json

MAX_DEPTH = 60
"""Objects and lists inside each other; a deeper text is not read."""
REPAIR_LIMIT = 50_000
"""Characters. The library takes a second to repair them, and more than twice as long for twice as many."""

_DECODER = json.JSONDecoder(strict=False)
_FAULTS_OF_THE_LIBRARY = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    RuntimeError,
)
_THINKING = r"(?:think|thinking|thought|reasoning|scratchpad)>"
_THOUGHT = re.compile(rf"(?is)\A.*</{_THINKING}|<{_THINKING}.*")


def read_object(text: str, keys: Collection[str]) -> dict[str, Json] | None:
    """Return the object in a text that has most of `keys` (the last of equals), or None where no object has any.

    It also looks inside wrappers such as `{"analysis": {...}}` or a list of one.
    """
    best: dict[str, Json] | None = None
    most = 1
    for candidate in _objects_at_any_depth(text):
        shared = len(candidate.keys() & set(keys))
        if shared >= most:
            best = candidate
            most = shared
    return best


def _objects_at_any_depth(text: str) -> Iterator[dict[str, Json]]:
    """Yield the objects of a text in order, each after those inside it."""
    for value in objects_in(text):
        yield from _inside(value)
        yield value


def objects_in(text: str) -> list[dict[str, Json]]:
    """Return the objects of a text in order: first those that had to be repaired, then those that are valid JSON.

    A text with too many nested brackets, those in strings included, has none.
    """
    if _depth(re.findall(r"[{}\[\]]", text), "{[") > MAX_DEPTH:
        return []
    with suppress(ValueError):
        whole: Json = json.loads(text, strict=False)
        if isinstance(whole, str):
            return objects_in(whole)
        if isinstance(whole, dict):
            return [whole]
    text = without_thinking(text)
    valid: list[dict[str, Json]] = []
    is_broken = "{" not in text
    start = text.find("{")
    while start >= 0:
        try:
            value, end = _DECODER.raw_decode(text, start)
        except ValueError:
            is_broken = True
            end = start + 1
        else:
            if value:
                valid.append(value)
        start = text.find("{", end)
    if is_broken:
        return [*_repaired(text), *valid]
    return valid


def without_thinking(text: str) -> str:
    """Remove text in thinking tags, unless no object stands outside them.

    A text that begins with an object stays as it is: tags inside a JSON string belong to it.
    """
    if text.lstrip()[:1] in {"{", "["}:
        return text
    answer = _THOUGHT.sub("", text)
    stands_inside_alone = "{" in text and "{" not in answer
    if stands_inside_alone:
        return text
    return answer


def _depth(brackets: Iterable[str], opening: str) -> int:
    """Return how many brackets are open at most at one place."""
    is_open = 0
    deepest = 0
    for bracket in brackets:
        if bracket in opening:
            is_open += 1
            deepest = max(deepest, is_open)
        else:
            is_open -= 1
    return deepest


def _repaired(text: str) -> Iterator[dict[str, Json]]:
    """Yield the objects that the library reads in a text that is no JSON; none where it fails or would take long."""
    # The library looks for the end of each parenthesis from its beginning.
    if len(text) > REPAIR_LIMIT or _depth(re.findall(r"[()]", text), "(") > MAX_DEPTH:
        return
    import json_repair  # noqa: PLC0415 - half the replies never need it

    with suppress(*_FAULTS_OF_THE_LIBRARY):
        value: object = json_repair.loads(text, skip_json_loads=True)
        values: list[object] = [value]
        if isinstance(value, list):
            values = value
        yield from (item for item in values if isinstance(item, dict))


def _inside(value: Json, depth: int = 4) -> Iterator[dict[str, Json]]:
    """Yield the objects inside a value, the innermost first."""
    if not depth:
        return
    for item in _items_of(value):
        yield from _inside(item, depth - 1)
        if isinstance(item, dict):
            yield item


def _items_of(value: Json) -> Iterable[Json]:
    """Return what stands in an object or a list; nothing for another value."""
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, list):
        return value
    return ()


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
    """Return `number 0..1 or null` as a schema: its type, whether it may be null, and the words as a description."""
    json_type = _type_of(text)
    schema: dict[str, Json] = {"type": json_type}
    if "or null" in text:
        schema = {"anyOf": [{"type": json_type}, {"type": "null"}]}
    description = text.removeprefix(json_type).lstrip(", ")
    if description and description != "or null":
        schema["description"] = description
    return schema


def _type_of(text: str) -> str:
    """Return the type of JSON that the words of a shape begin with; a text where they name none."""
    for name in _TYPES:
        if text.startswith(name):
            return name
    return "string"


def as_mapping(value: Json, key: str) -> Json:
    """Return a list such as `[{key: "safety", "score": 0.9}]`, which a closed schema allows, as an object by `key`.

    Anything but a list stays as it is; entries without a name are left out.
    """
    if not isinstance(value, list):
        return value
    by_name: dict[str, Json] = {}
    for entry in value:
        if not isinstance(entry, dict):
            continue
        name = entry.get(key) or entry.get("name")
        if name:
            by_name[str(name)] = entry
    return by_name


def is_closed(schema: Mapping[str, Json]) -> bool:
    """Return whether no object in the schema allows additional names, so that a provider can enforce it."""
    return '{"type": "object"}' not in json.dumps(schema)
