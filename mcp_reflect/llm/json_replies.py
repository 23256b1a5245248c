"""Read the JSON in replies of language models, out of any text.

No text makes the reader raise. Objects that are JSON are read as they are, broken ones by the library `json_repair`.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator
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

    'Here you are: {"analysis": {"mistake": "…"}}' with the key "mistake" -> {"mistake": "…"}
    """
    best: dict[str, Json] | None = None
    most_shared = 1
    wanted = set(keys)
    for candidate in _objects_at_any_depth(text):
        shared = len(candidate.keys() & wanted)
        if shared >= most_shared:
            best = candidate
            most_shared = shared
    return best


def _objects_at_any_depth(text: str) -> Iterator[dict[str, Json]]:
    """Yield the objects of a text in order, each after those inside it."""
    for value in objects_in(text):
        yield from _inside(value)
        yield value


def objects_in(text: str) -> list[dict[str, Json]]:
    """Return the objects of a text in order: first those that had to be repaired, then those that are valid JSON.

    | the text                                        | its objects                                         |
    |-------------------------------------------------|-----------------------------------------------------|
    | has too many nested brackets, also in strings   | none                                                |
    | is an object                                    | that one                                            |
    | is a JSON string, which has a text in it        | those of the text in it                             |
    | has objects among other words                   | those outside of the model's thinking               |
    | has a brace at which no object begins, or none  | also those that the library makes of the text       |
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
    """Return a reply without what its model thought: "<think>A or B?</think>{…}" -> "{…}".

    It stays as it is where it begins with an object, since tags inside of a JSON string belong to the string, and where
    all objects stand in the thinking.
    """
    if text.lstrip()[:1] in {"{", "["}:
        return text
    answer = _THOUGHT.sub("", text)
    has_objects_in_thinking_alone = "{" in text and "{" not in answer
    if has_objects_in_thinking_alone:
        return text
    return answer


def _depth(brackets: Iterable[str], opening: str) -> int:
    """Return how many brackets are open at once at most: 2 for `[ ] [ [ ] ]`."""
    open_now = 0
    deepest = 0
    for bracket in brackets:
        if bracket in opening:
            open_now += 1
            deepest = max(deepest, open_now)
        else:
            open_now -= 1
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
    """Yield the objects inside a value, each after those inside of it, down to `depth` levels."""
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


def as_mapping(value: Json, key: str) -> Json:
    """Return a list of named entries as an object, anything else as it is.

    [{"criterion": "safety", "score": 0.9}] -> {"safety": {"criterion": "safety", "score": 0.9}} for the key "criterion".
    A closed schema (`reply_schemas`) asks for such a list, since it allows no names that are not in it. Entries without
    the key or a `name` are left out.
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
